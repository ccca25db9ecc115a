/* crash.c: what happens before a worker dies of a signal. */
#ifndef WEFT_CRASH_H
#define WEFT_CRASH_H

#include "weft.h"

/* Called once, by the handler of the signal, on the loop's thread. */
typedef void (*weft_crash_report)(int signal_number);
/* In a worker, on the loop's thread, when it serves. */
void weft_crash_start(weft_crash_report report);
/* For a handler: the process is about to die. Returns if nothing can be done, or everything was. */
void weft_crash(int signal_number);
/* weft_code_trace() in a process whose memory may be damaged: 0 if it cannot be read. */
size_t weft_crash_location(char *text, size_t size);
/* Calls what may fail or wait for ever, for half a second at most: then, or at a fault in it, the process ends by this signal,
 * or with status 1 if that is 0. */
void weft_crash_attempt(void (*work)(void), int signal_number);

#endif
