/* The zones of a C stack; stack.c has a drawing of them. */
#ifndef WEFT_STACK_ZONES_H
#define WEFT_STACK_ZONES_H

#include "weft.h"

#include <sys/mman.h>
#include <unistd.h>

/* The kernel's: 4 KiB on amd64; 4, 16 or 64 KiB on arm64. The zones below are whole pages of each. */
static inline size_t weft_page_bytes(void)
{
	static size_t bytes;
	return EXPECTED(bytes) ? bytes : (bytes = (size_t) sysconf(_SC_PAGESIZE));
}

/* Returns the whole pages between two addresses to the system: what was in them is lost. */
static inline void weft_give_back(char *low, char *high)
{
	const uintptr_t page = weft_page_bytes(), first = ((uintptr_t) low + page - 1) & ~(page - 1), end = (uintptr_t) high & ~(page - 1);
	if (end > first) {
		madvise((void *) first, end - first, MADV_DONTNEED);
	}
}

#define YELLOW_BYTES (128 * 1024) /* the end of a C stack that is reserved for unwinding */

#define NATIVE_GUARD_BYTES (64 * 1024) /* below the yellow zone of a native stack: larger than frames of C code */

#endif
