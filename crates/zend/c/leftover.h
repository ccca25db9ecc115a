/* Development mode's report of what a request has left behind: leftover.c reports, growth.c finds what has grown. */
#ifndef WEFT_LEFTOVER_H
#define WEFT_LEFTOVER_H

#include "coroutine.h"

/* What has been recorded of its request; NULL: nothing, as in production. */
typedef struct weft_leftover weft_leftover;
WEFT_SLOT(leftover, weft_leftover *)

void weft_leftover_begin(weft_coroutine *coroutine);
void weft_leftover_buffers(weft_coroutine *coroutine);
void weft_leftover_end(weft_coroutine *coroutine);

/* Reports a finding, once per route. */
typedef void (*weft_finding)(const char *name, zend_string *text);

/* Checks all statics and globals; with `report`, reports those that have grown since the last check and had grown
 * before. */
void weft_growth_look(weft_finding report);

#endif
