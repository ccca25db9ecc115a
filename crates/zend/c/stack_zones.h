/* The zones of a C stack; stack.c has a drawing of them. */
#ifndef WEFT_STACK_ZONES_H
#define WEFT_STACK_ZONES_H

#include "weft.h"

#define YELLOW_BYTES (128 * 1024) /* the end of a C stack that is reserved for unwinding */

#define NATIVE_GUARD_BYTES (64 * 1024) /* below the yellow zone of a native stack: larger than frames of C code */

#endif
