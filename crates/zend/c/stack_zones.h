/* The zones of a C stack (stack.c draws them). */
#ifndef WEFT_STACK_ZONES_H
#define WEFT_STACK_ZONES_H

#include "weft.h"

#define YELLOW_BYTES (128 * 1024) /* the end of a C stack that is kept for unwinding */

#define NATIVE_GUARD_BYTES (64 * 1024) /* below that of a native stack: more than frames of C code have */

#endif
