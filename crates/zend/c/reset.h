/* reset.c: PHP after a bailout. */
#ifndef WEFT_RESET_H
#define WEFT_RESET_H

#include "weft.h"

/* Brings the running coroutine back to a state one can go on with. */
void weft_reset(void);

#endif
