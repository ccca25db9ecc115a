/* How much of a mapping is in memory. Stacks and heaps have more address space than they use, so that their sizes tell
 * nothing.
 *
 * It must not know what lies in the mapping. Invariant: nothing of it is read or changed; a page that was never touched
 * stays so. */
#include "footprint.h"
#include "stack_zones.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGES_AT_ONCE 2048 /* a multiple of eight */

/* The sum of the lowest bits of so many bytes, eight at a time: the product's highest byte is the sum of the eight. The rest of the
 * last eight MUST be 0. */
static size_t count_lowest_bits(const unsigned char *bytes, size_t count)
{
	const uint64_t ones = 0x0101010101010101;
	size_t sum = 0;
	for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
		uint64_t eight;
		memcpy(&eight, bytes + i, sizeof(eight));
		sum += ((eight & ones) * ones) >> 56;
	}
	return sum;
}

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
		size_t looked_at = (part + page - 1) / page;
		memset(there + looked_at, 0, -looked_at % sizeof(uint64_t));
		pages += count_lowest_bits(there, looked_at);
		low += part;
		bytes -= part;
	}
	return pages * page;
}
