/* quick_connection.c: the usual course of prepare(), of a coroutine that comes to a SharedPdo and leaves it, and of a connection that
 * it gives back. */
#ifndef WEFT_QUICK_CONNECTION_H
#define WEFT_QUICK_CONNECTION_H

#include "weft.h"

/* The session of a coroutine that has none yet, where Leases keeps it. NULL: an exception says why not. */
zval *weft_quick_session(zend_object *leases, zend_long coroutine);
/* Leases::settle(): after a statement of this session, on the connection in this slot. */
void weft_quick_settle(zend_object *leases, zend_object *session, zend_object *slot, zend_object *connection);
/* Slots::hrtime(), to within some milliseconds. */
zend_long weft_quick_now(void);
void weft_quick_connection_start(void);

#endif
