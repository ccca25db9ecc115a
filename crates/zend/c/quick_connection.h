/* quick_connection.c: the usual course of prepare(), and of a coroutine that comes to a SharedPdo and leaves it. */
#ifndef WEFT_QUICK_CONNECTION_H
#define WEFT_QUICK_CONNECTION_H

#include "weft.h"

/* The session of a coroutine that has none yet, where Leases keeps it. NULL: an exception says why not. */
zval *weft_quick_session(zend_object *leases, zend_long coroutine);
void weft_quick_connection_start(void);

#endif
