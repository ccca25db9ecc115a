/* footprint.c: how much memory stacks and heaps have, for the operator. */
#ifndef WEFT_FOOTPRINT_H
#define WEFT_FOOTPRINT_H

#include <stddef.h>

typedef struct weft_footprint {
	size_t stack; /* bytes */
	size_t heap;
} weft_footprint;

/* How many bytes of a mapping are in memory. It begins with a page. */
size_t weft_resident_bytes(const char *low, size_t bytes);

#endif
