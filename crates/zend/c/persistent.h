/* persistent.c: who has which persistent connection. */
#ifndef WEFT_PERSISTENT_H
#define WEFT_PERSISTENT_H

#include "weft.h"

/* Coroutine mode: each coroutine has its own. */
void weft_persistent_start(void);
void weft_persistent_out(weft_coroutine *coroutine);
void weft_persistent_in(weft_coroutine *coroutine);
void weft_persistent_reset(weft_coroutine *coroutine);
void weft_persistent_end(weft_coroutine *coroutine);
/* A connection, by what its resource holds, is good for nothing any more, and its client would not say so. */
void weft_persistent_spoil(const void *connection);
/* Classic and resident mode: a request has ended, and what it leaves open is the next one's. */
void weft_persistent_settle(void);

#endif
