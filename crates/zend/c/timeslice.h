/* timeslice.c: the end of a time slice, between two instructions of PHP code. */
#ifndef WEFT_TIMESLICE_H
#define WEFT_TIMESLICE_H

#include "weft.h"

/* In a worker, when the engine has started. */
void weft_timeslice_start(void);
/* Whether PHP code can be interrupted. */
bool weft_timeslice_can(void);
/* The running coroutine is asked whether its slice has ended, as soon as it is in PHP code. On any thread. */
void weft_timeslice_end(void);
/* For tests: from here on a slice ends after at most so many instructions of PHP code, a random number each time; on
 * x86-64. 0 is off. After weft_timeslice_start. */
void weft_timeslice_step(uint32_t most);
/* The running coroutine, which has been cancelled, stops at the VM's next check. */
void weft_timeslice_stop(void);

#endif
