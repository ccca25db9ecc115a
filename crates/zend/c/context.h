/* context.c: Weft\\Context and defer(). */
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H

#include "coroutine.h"

typedef struct {
	zval values;   /* Weft\\Context: an array after its first use */
	zval deferred; /* the callables given to defer(): an array after its first use */
} weft_context;

WEFT_SLOT(context, weft_context)

void weft_context_register(void);
void weft_context_begin(weft_coroutine *coroutine);
/* In resident mode: each of the script's requests begins with the values that the script has set so far. */
void weft_context_booted(weft_coroutine *coroutine);
void weft_context_end(weft_coroutine *coroutine);
/* defer() for the running coroutine, with what is known to be callable. */
void weft_defer(zval *work);
/* weft_defer() with an object of a class that extends this one calls `quick`, without PHP code, or `any` if that returns false, with
 * nothing done. One class has that. */
void weft_defer_natively(zend_class_entry *class_entry, bool (*quick)(zend_object *object), void (*any)(zend_object *object));
/* If something is deferred: runs of it, from the last on, what needs no PHP code. */
void weft_run_deferred_natively(weft_coroutine *coroutine);
void weft_run_deferred(weft_coroutine *coroutine);

#endif
