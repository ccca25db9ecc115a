/* persistent.c: which coroutine has which persistent connection. */
#ifndef WEFT_PERSISTENT_H
#define WEFT_PERSISTENT_H

#include "weft.h"

/* Coroutine mode: each coroutine has its own. */
void weft_persistent_start(void);
void weft_persistent_out(weft_coroutine *coroutine);
void weft_persistent_in(weft_coroutine *coroutine);
void weft_persistent_reset(weft_coroutine *coroutine);
void weft_persistent_end(weft_coroutine *coroutine);
/* A connection, identified by the value that its resource holds, is unusable, and its client would not report
 * that. */
void weft_persistent_spoil(const void *connection);
/* Classic and resident mode: a request has ended, and the connections that it leaves open pass to the next
 * one. */
void weft_persistent_settle(void);

#endif
