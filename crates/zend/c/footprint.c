/* How much of a mapping is in memory. Stacks and heaps have more address space than they use, so that their sizes tell
 * nothing.
 *
 * It must not know what lies in the mapping. Invariant: nothing of it is read or changed; a page that was never touched
 * stays so. */
#include "footprint.h"
#include "stack_zones.h"

#include <sys/mman.h>

#define PAGES_AT_ONCE 2048

size_t weft_resident_bytes(const char *low, size_t bytes)
{
	unsigned char there[PAGES_AT_ONCE];
	const size_t page = weft_page_bytes(), part_max = PAGES_AT_ONCE * page;
	size_t pages = 0;
	while (bytes) {
		size_t part = bytes < part_max ? bytes : part_max;
		if (mincore((void *) low, part, there)) {
			break; /* a filter of system calls forbids it */
		}
		for (size_t i = 0; i < (part + page - 1) / page; i++) {
			pages += there[i] & 1;
		}
		low += part;
		bytes -= part;
	}
	return pages * page;
}
