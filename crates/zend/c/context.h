/* context.c: Weft\\Context and defer(). */
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H

#include "coroutine.h"

typedef struct {
	zval values;   /* Weft\\Context: an array once it is used */
	zval deferred; /* what defer() was given: an array once it is used */
} weft_context;

WEFT_SLOT(context, weft_context)

void weft_context_register(void);
void weft_context_begin(weft_coroutine *coroutine);
/* In resident mode: what the script has set so far is what each of its requests begins with. */
void weft_context_booted(weft_coroutine *coroutine);
void weft_context_end(weft_coroutine *coroutine);
void weft_run_deferred(weft_coroutine *coroutine);

#endif
