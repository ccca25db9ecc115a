/* request.c and body.c: Weft\Http\Request, the object that represents a request in PHP code. */
#ifndef WEFT_REQUEST_H
#define WEFT_REQUEST_H

#include "coroutine.h"

/* The object of its request; undefined, or an idle object that the next request reuses. */
WEFT_SLOT(request, zval)

extern zend_class_entry *weft_request_class;

void weft_request_register(void);
void weft_request_open(weft_coroutine *coroutine);
void weft_request_keep(weft_coroutine *coroutine);
bool weft_request_close(weft_coroutine *coroutine);

#endif
