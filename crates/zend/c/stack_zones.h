/* The zones of a C stack; stack.c has a drawing of them. */
#ifndef WEFT_STACK_ZONES_H
#define WEFT_STACK_ZONES_H

#include "weft.h"

#include <unistd.h>

/* The kernel's: 4 KiB on amd64; 4, 16 or 64 KiB on arm64. The zones below are whole pages of each. */
static inline size_t weft_page_bytes(void)
{
	static size_t bytes;
	return EXPECTED(bytes) ? bytes : (bytes = (size_t) sysconf(_SC_PAGESIZE));
}

#define YELLOW_BYTES (128 * 1024) /* the end of a C stack that is reserved for unwinding */

#define NATIVE_GUARD_BYTES (64 * 1024) /* below the yellow zone of a native stack: larger than frames of C code */

#endif
