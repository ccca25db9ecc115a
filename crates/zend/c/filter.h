/* filter.c: filter_input(). */
#ifndef WEFT_FILTER_H
#define WEFT_FILTER_H

#include "weft.h"

void weft_filter_start(void);
void weft_filter_end(void);

#endif
