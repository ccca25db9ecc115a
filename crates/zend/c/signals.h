/* signals.c: signals in a worker. */
#ifndef WEFT_SIGNALS_H
#define WEFT_SIGNALS_H

#include "weft.h"

/* Wraps pcntl's functions; when the modules have started. */
void weft_signals_prepare(void);
/* This process is a worker from here on; children that its application forks are none. */
void weft_signals_start(void);
/* What signals leave PHP to do while every coroutine is parked: whether there is any, and a coroutine that does it. */
bool weft_signals_pending(void);
void weft_signals_run(weft_coroutine *coroutine);

#endif
