/* stack.c: C stacks of coroutines and Fibers. */
#ifndef WEFT_STACK_H
#define WEFT_STACK_H

#include "weft.h"

#define YELLOW_BYTES (128 * 1024) /* the end of a C stack that is kept for unwinding */

#define NATIVE_GUARD_BYTES (64 * 1024) /* below that of a native stack: more than frames of C code have */

/* Catches what runs over. Once in a process, when the engine has started. */
void weft_stack_start(void);
/* Closes what a context's stack does not need for now: of every new one (user Fibers too), and after it has been opened. */
void weft_stack_arm(zend_fiber_context *context);
/* After a job that has opened more of its stack: closed again, and the memory below the running frame goes back. */
void weft_stack_restore(zend_fiber_context *context);

#endif
