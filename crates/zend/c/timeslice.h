/* timeslice.c: the end of a time slice, between two instructions of PHP code. */
#ifndef WEFT_TIMESLICE_H
#define WEFT_TIMESLICE_H

#include "weft.h"

/* In a worker, when the engine has started. */
void weft_timeslice_start(void);
/* Ticks at this interval, in nanoseconds; 0: no more. */
void weft_timeslice_ticks(uint64_t every);
/* The running coroutine, which has been cancelled, stops at the VM's next check. */
void weft_timeslice_stop(void);

#endif
