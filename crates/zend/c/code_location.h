/* The place in PHP code where a worker is stuck. */
#ifndef WEFT_CODE_LOCATION_H
#define WEFT_CODE_LOCATION_H

#include "slots.h"

#include <stddef.h>

/* Writes "function() at file:line" of the running code, without a final NUL. Returns the number of bytes, or 0 if no
 * PHP code runs. For a signal handler on the thread that runs PHP: it reads frames and takes no memory and no lock. */
size_t weft_code_location(char *text, size_t size);
/* The internal function that runs now and, if that is a string, the beginning of its first argument, with a space between them:
 * "PDO::__construct mysql:host=1". 0 if PHP code runs, or nothing. */
size_t weft_code_function(char *text, size_t size);
/* weft_code_location(), and from where that was called: ", called at file:line, file:line". */
size_t weft_code_trace(char *text, size_t size);
/* The same for a coroutine that is parked. For the loop. */
size_t weft_code_waiting(const weft_coroutine *coroutine, char *text, size_t size);

#endif
