/* reset.c: PHP after a bailout. */
#ifndef WEFT_RESET_H
#define WEFT_RESET_H

#include "weft.h"

/* Restores a state of the running coroutine from which PHP can continue. */
void weft_reset(void);

#endif
