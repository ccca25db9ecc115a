/* one_step.c: what runs while no other coroutine does. */
#ifndef WEFT_ONE_STEP_H
#define WEFT_ONE_STEP_H

#include "weft.h"

void weft_one_step(void (*run)(void *call), void *call);
void weft_one_step_prepare(bool instances);

#endif
