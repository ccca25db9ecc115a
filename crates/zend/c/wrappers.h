/* wrappers.c: stream wrappers and filters that PHP code registers. */
#ifndef WEFT_WRAPPERS_H
#define WEFT_WRAPPERS_H

#include "weft.h"

void weft_own_wrappers(void);
void weft_free_wrappers(void *at);
void weft_own_filters(void);
void weft_free_filters(void *at);
void weft_free_filter_map(void *at);
void weft_wrappers_booted(void);

#endif
