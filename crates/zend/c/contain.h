/* contain.c: steps of a job that end at a failure in them. */
#ifndef WEFT_CONTAIN_H
#define WEFT_CONTAIN_H

#include "weft.h"

typedef void (*weft_step)(weft_coroutine *coroutine);

/* Runs one step; a bailout ends there, at the coroutine's own base. false: it bailed out. */
bool weft_contained(weft_step run, weft_coroutine *coroutine);
/* A step of the end, for which no caller waits: destructors. An exception from it is logged; after a bailout
 * (false) the worker is replaced. */
bool weft_contained_last(weft_step run, weft_coroutine *coroutine);
/* Runs after a step of the end that has bailed out, or has left an exception. */
void weft_settle_late(bool finished, weft_coroutine *coroutine);

#endif
