/* The PHP stack of a coroutine in one line, for the profiler, and the place where running code is. */
#ifndef WEFT_CODE_STACK_H
#define WEFT_CODE_STACK_H

#include "slots.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes the functions of a coroutine that is parked, the outermost first, with `;` between them, without a final NUL. Returns
 * the number of bytes; 0: it runs no PHP code. For the loop. */
size_t weft_code_stack(const weft_coroutine *coroutine, char *text, size_t size);
/* The same for the code that runs at this moment. For any thread; 0 as well if it changed too fast to be read. */
size_t weft_code_stack_running(char *text, size_t size);
/* "function() at file:line" of the code that runs at this moment, likewise, and of which request it is; 0: of none. Code that the
 * JIT has compiled may be some lines further. */
size_t weft_code_place_running(char *text, size_t size, uint64_t *request);
/* Whether the kernel lets this process read its own memory in that way. */
bool weft_code_stack_can_run(void);

#endif
