/* waiters.c: Weft\Pool\QuickWaiters, the coroutines that wait for a resource of a pool. */
#ifndef WEFT_WAITERS_H
#define WEFT_WAITERS_H

#include "weft.h"

/* Waits in the line for at most so many seconds. `given`: what it was given, NULL of PHP's if nothing. False: an exception says why
 * the wait was cut short; something may have been given all the same. */
bool weft_waiters_wait(zend_object *waiters, double seconds, zval *given);
/* Gives a copy of the value to the one that has waited longest. False: none waits. */
bool weft_waiters_hand(zend_object *waiters, zval *value);
void weft_waiters_register(void);

#endif
