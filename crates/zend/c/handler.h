/* What handler.c has for those who end a request or a task: request.c, isolate.c. */
#ifndef WEFT_HANDLER_H
#define WEFT_HANDLER_H

#include "weft.h"

/* A step at the end, which nobody waits for: destructors. What it throws is logged; after a bailout (false)
 * the worker is replaced. */
bool weft_contained_last(void (*run)(weft_coroutine *coroutine), weft_coroutine *coroutine);

#endif
