/* Signals in a worker: which of them are weft's own. What signals leave PHP to do is declared in weft.h. */
#ifndef WEFT_SIGNALS_H
#define WEFT_SIGNALS_H

#include "weft.h"

/* Wraps pcntl's functions; when the modules have started. */
void weft_signals_prepare(void);
/* This process is a worker from here on; children that its application forks are none. */
void weft_signals_start(void);

#endif
