/* signals.c: signals in a worker. */
#ifndef WEFT_SIGNALS_H
#define WEFT_SIGNALS_H

#include "weft.h"

/* Wraps pcntl's functions. Called when the modules have started. */
void weft_signals_prepare(void);
/* From here on this process is a worker; children that its application forks are not. */
void weft_signals_start(void);
/* The work that signals leave to PHP while every coroutine is parked: whether there is any, and a coroutine that does
 * it. */
bool weft_signals_pending(void);
void weft_signals_run(weft_coroutine *coroutine);

#endif
