/* compile.c: no other coroutine runs while PHP compiles. */
#ifndef WEFT_COMPILE_H
#define WEFT_COMPILE_H

#include "weft.h"

void weft_compile_start(void);

#endif
