/* divert.c: what the end of a time slice needs to know of the processor. */
#ifndef WEFT_DIVERT_H
#define WEFT_DIVERT_H

#include "weft.h"

#include <ucontext.h>

/* Whether code can be diverted on this processor. */
bool weft_divert_can(void);
/* For the handler of a fault: whether the access to the address was to fetch an instruction, which may begin on the page
 * before. Where code cannot be diverted, always. */
bool weft_divert_was_fetch(const ucontext_t *context, const void *address);
/* For a handler of signals on a stack of its own: the interrupted code gives way when the handler returns, and then goes
 * on as if nothing had happened. */
void weft_divert(ucontext_t *context);

/* For tests. Whether each instruction can be made to end with SIGTRAP. */
bool weft_divert_steps(void);
/* From the next instruction on it does so, or no longer. */
void weft_divert_step(ucontext_t *context, bool on);
/* The next instruction. NULL where it cannot be made to. */
const void *weft_divert_next(const ucontext_t *context);

#endif
