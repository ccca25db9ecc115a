/* guard.c: two coroutines on one connection at the same moment. */
#ifndef WEFT_GUARD_H
#define WEFT_GUARD_H

#include "weft.h"

void weft_guard_register(void);
void weft_guard_start(void);
void weft_guard_reset(weft_coroutine *coroutine);

#endif
