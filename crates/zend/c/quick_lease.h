/* quick_lease.c: a connection comes to a coroutine that waits, and comes back. */
#ifndef WEFT_QUICK_LEASE_H
#define WEFT_QUICK_LEASE_H

#include "weft.h"

#include <time.h>

/* Leases::lease(), for a session that has no connection, but for the attributes that the connection may lack. An exception may say
 * why there is none. */
void weft_quick_lease(zend_object *leases, zend_object *session);
/* Leases::settle(): after a statement of this session, on the connection in this slot. */
void weft_quick_settle(zend_object *leases, zend_object *session, zend_object *slot, zend_object *connection);
/* Slots::give() of a slot whose reference is ours. */
void weft_quick_give(zend_object *slots, zend_object *waiters, zend_object *slot);
/* PDO::inTransaction() of a SharedConnection. */
bool weft_quick_in_transaction(const zend_object *connection);

/* Slots::hrtime(), to within some milliseconds. */
static inline zend_long weft_quick_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

#endif
