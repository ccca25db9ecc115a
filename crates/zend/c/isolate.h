/* isolate.c: what a coroutine owns of PHP's globals. */
#ifndef WEFT_ISOLATE_H
#define WEFT_ISOLATE_H

#include "weft.h"

void weft_isolate_start(void);
void weft_isolate_start_script(void);
void weft_isolate_start_resident(void);
void weft_isolate_stop_resident(weft_coroutine *coroutine);
void weft_isolate_stop(void);
void weft_isolate_begin(weft_coroutine *coroutine);
void weft_isolate_out(weft_coroutine *coroutine);
void weft_isolate_in(weft_coroutine *coroutine);
void weft_isolate_end(weft_coroutine *coroutine);
void weft_isolate_free(weft_coroutine *coroutine); /* the step that weft_isolate_end() contains */
/* The exit status of a coroutine that is parked. */
int *weft_isolate_exit_status(weft_coroutine *coroutine);

#endif
