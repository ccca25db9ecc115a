/* The Zend heaps of the instances. Zend's memory manager requests chunks of 2 MiB. They are cut from one region of
 * address space, so that an instance costs no mapping, chunks move from one instance to the next while they are hot,
 * and an address shows its owner.
 *
 * Zend's own map of a chunk tells which pages are free; it is read at the place that a new heap reveals (see
 * find_map). If that fails, free pages are left as they are.
 *
 * Invariants: a run of chunks has one owner until it is freed; chunks on the spare list have none. A chunk that is
 * handed out is zero where Zend will describe its pages. The region limits the total of all instances: beyond it a
 * request ends with PHP's "Out of memory". */
#include "instance.h"
#include "../footprint.h"

#include <sys/mman.h>

#define CHUNK_BYTES ((size_t) 2 << 20)
#define SPARES_MAX 32 /* free chunks that keep their memory: 64 MiB at most */

#define SPARE UINT32_MAX /* the owner of a spare */

#define PAGES ((uint32_t) (CHUNK_BYTES / WEFT_PAGE_BYTES)) /* in a chunk */
#define RUN_PAGES_LEAST 8 /* free pages in a row that are returned: fewer are not worth the call */

static char *region;
static uint32_t chunk_count;
static uint32_t *owners;     /* per chunk; 0: free */
static uint32_t first_free;  /* no free chunk is below this one */
static uint32_t spares[SPARES_MAX];
static uint32_t spare_count;
static uint32_t used;
static struct { uint32_t now, most; } *held; /* chunks by owner - 1; the maximum since weft_heap_mark() */
static uint32_t held_room;
static size_t map_offset;    /* offset in a chunk of the map, which has a bit for each page that is taken; 0: unknown */

/* The beginning of a chunk (struct _zend_mm_chunk in Zend/zend_alloc.c). */
typedef struct chunk {
	zend_mm_heap *heap;
	struct chunk *next, *previous; /* the heap's chunks in use, in a ring */
	uint32_t free_pages;
} chunk;

static char *reserve(size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

bool weft_heap_is_possible(size_t region_bytes)
{
	char *memory = reserve(region_bytes);
	return memory && munmap(memory, region_bytes) == 0;
}

bool weft_heap_start(size_t region_bytes)
{
	size_t bytes = region_bytes / CHUNK_BYTES * CHUNK_BYTES;
	char *memory = reserve(bytes + CHUNK_BYTES);
	if (!memory) {
		return false;
	}
	madvise(memory, bytes + CHUNK_BYTES, MADV_NOHUGEPAGE);
	region = (char *) (((uintptr_t) memory + CHUNK_BYTES - 1) & ~(CHUNK_BYTES - 1));
	chunk_count = (uint32_t) (bytes / CHUNK_BYTES);
	owners = calloc(chunk_count, sizeof(*owners));
	return owners != NULL;
}

uint32_t weft_heap_owner(const void *address)
{
	size_t offset = (size_t) ((const char *) address - region);
	uint32_t owner = region && offset < chunk_count * CHUNK_BYTES ? owners[offset / CHUNK_BYTES] : 0;
	return owner == SPARE ? 0 : owner;
}

bool weft_heap_holds(const void *address)
{
	return region && (size_t) ((const char *) address - region) < chunk_count * CHUNK_BYTES;
}

size_t weft_heap_bytes(void)
{
	return (size_t) used * CHUNK_BYTES;
}

static uint32_t chunks_of(size_t bytes)
{
	return (uint32_t) ((bytes + CHUNK_BYTES - 1) / CHUNK_BYTES);
}

static bool make_room(uint32_t owner)
{
	while (owner > held_room) {
		uint32_t room = held_room * 2 + 64;
		void *more = realloc(held, room * sizeof(*held));
		if (!more) {
			return false;
		}
		held = more;
		memset(held + held_room, 0, (room - held_room) * sizeof(*held));
		held_room = room;
	}
	return true;
}

static void hold(uint32_t owner, uint32_t count)
{
	held[owner - 1].now += count;
	if (held[owner - 1].now > held[owner - 1].most) {
		held[owner - 1].most = held[owner - 1].now;
	}
}

void weft_heap_mark(uint32_t owner)
{
	held[owner - 1].most = held[owner - 1].now;
}

size_t weft_heap_held(uint32_t owner)
{
	return held[owner - 1].now * CHUNK_BYTES;
}

size_t weft_heap_most(uint32_t owner)
{
	return held[owner - 1].most * CHUNK_BYTES;
}

size_t weft_heap_resident(uint32_t owner)
{
	uint32_t left = held[owner - 1].now;
	size_t bytes = 0;
	for (uint32_t i = 0; left && i < chunk_count; i++) {
		if (owners[i] == owner) {
			bytes += weft_resident_bytes(region + i * CHUNK_BYTES, CHUNK_BYTES);
			left--;
		}
	}
	return bytes;
}

static void *take(uint32_t first, uint32_t count, uint32_t owner)
{
	hold(owner, count);
	for (uint32_t i = 0; i < count; i++) {
		owners[first + i] = owner;
	}
	used += count;
	return region + first * CHUNK_BYTES;
}

/* A run of `count` free chunks that are not spares, at the lowest address. */
static void *take_run(uint32_t count, uint32_t owner)
{
	uint32_t run = 0;
	for (uint32_t i = first_free; i < chunk_count; i++) {
		run = owners[i] ? 0 : run + 1;
		if (run == count) {
			uint32_t first = i + 1 - count;
			if (first == first_free) {
				first_free = i + 1;
			}
			return take(first, count, owner);
		}
	}
	return NULL;
}

static void release(uint32_t chunk, uint32_t count)
{
	madvise(region + chunk * CHUNK_BYTES, count * CHUNK_BYTES, MADV_DONTNEED);
	memset(owners + chunk, 0, count * sizeof(*owners));
	if (chunk < first_free) {
		first_free = chunk;
	}
}

static void release_spares(void)
{
	while (spare_count) {
		release(spares[--spare_count], 1);
	}
}

/* Zend describes a chunk's pages in its first one, and takes them for free if it finds zeroes there, as in memory
 * fresh from the kernel (zend_mm_chunk_init in Zend/zend_alloc.c): with an earlier owner's data it would hand out
 * pages twice. */
static void *take_spare(uint32_t owner)
{
	void *chunk = take(spares[--spare_count], 1, owner);
	return memset(chunk, 0, WEFT_PAGE_BYTES);
}

static void *chunk_alloc(zend_mm_storage *storage, size_t size, size_t alignment)
{
	uint32_t owner = (uint32_t) (uintptr_t) storage->data;
	if (UNEXPECTED(alignment > CHUNK_BYTES)) {
		return NULL;
	}
	if (size == CHUNK_BYTES && spare_count) {
		return take_spare(owner);
	}
	void *chunks = take_run(chunks_of(size), owner);
	if (UNEXPECTED(!chunks) && spare_count) {
		release_spares();
		chunks = take_run(chunks_of(size), owner);
	}
	return chunks;
}

static void chunk_free(zend_mm_storage *storage, void *chunk, size_t size)
{
	uint32_t first = (uint32_t) (((char *) chunk - region) / CHUNK_BYTES), count = chunks_of(size);
	held[(uint32_t) (uintptr_t) storage->data - 1].now -= count;
	used -= count;
	if (count == 1 && spare_count < SPARES_MAX) {
		owners[first] = SPARE;
		spares[spare_count++] = first;
		return;
	}
	release(first, count);
}

/* A huge block shrinks or grows within its chunks. */
static bool chunk_truncate(zend_mm_storage *storage, void *chunk, size_t old_size, size_t new_size)
{
	uint32_t first = (uint32_t) (((char *) chunk - region) / CHUNK_BYTES);
	uint32_t before = chunks_of(old_size), after = chunks_of(new_size);
	if (after < before) {
		held[(uint32_t) (uintptr_t) storage->data - 1].now -= before - after;
		used -= before - after;
		release(first + after, before - after);
	}
	return true;
}

static bool chunk_extend(zend_mm_storage *storage, void *chunk, size_t old_size, size_t new_size)
{
	(void) storage, (void) chunk;
	return chunks_of(new_size) == chunks_of(old_size);
}

static const zend_mm_handlers handlers = {chunk_alloc, chunk_free, chunk_truncate, chunk_extend};

/* zend_mm_startup_ex puts the storage into the heap itself, where the end of a request wipes it (zend_mm_shutdown
 * expects none): so the heap is given one that lies outside. The place of the pointer is found by its value. */
static bool move_storage(zend_mm_heap *heap, zend_mm_storage *outside)
{
	const zend_mm_storage *inside = zend_mm_get_storage(heap);
	void **word = (void **) heap;
	for (size_t i = 0; i < 16; i++) {
		if (word[i] == inside) {
			word[i] = outside;
			return zend_mm_get_storage(heap) == outside;
		}
	}
	return false;
}

static chunk *first_chunk(const zend_mm_heap *heap)
{
	return (chunk *) ((uintptr_t) heap & ~(CHUNK_BYTES - 1));
}

/* In a new heap few pages are taken, the first by the description itself. So the map is that many bits, then zeroes;
 * after it comes the description of each page, and the first is a run of one (ZEND_MM_LRUN in Zend/zend_alloc.c). */
static void find_map(const zend_mm_heap *heap)
{
	const uint32_t run_of_one = 0x40000001;
	const chunk *first = first_chunk(heap);
	uint32_t taken = PAGES - first->free_pages;
	if (first->heap != heap || first->next != first || first->previous != first || taken - 1 >= 8) {
		return;
	}
	const uint64_t map[PAGES / 64] = {((uint64_t) 1 << taken) - 1};
	size_t found = 0, last = WEFT_PAGE_BYTES - sizeof(map) - PAGES * sizeof(uint32_t);
	for (size_t at = sizeof(chunk); at <= last; at += sizeof(*map)) {
		const char *here = (const char *) first + at;
		if (memcmp(here, map, sizeof(map)) == 0 && memcmp(here + sizeof(map), &run_of_one, sizeof(run_of_one)) == 0) {
			map_offset = at;
			found++;
		}
	}
	if (found != 1) {
		map_offset = 0;
	}
}

/* `storage` must not move as long as the heap exists. */
zend_mm_heap *weft_heap_create(uint32_t owner, zend_mm_storage **storage)
{
	const zend_mm_storage filled = {.handlers = handlers, .data = (void *) (uintptr_t) owner};
	zend_mm_storage *outside = make_room(owner) ? malloc(sizeof(*outside)) : NULL;
	zend_mm_heap *heap = outside ? zend_mm_startup_ex(&handlers, filled.data, 0) : NULL;
	if (outside) {
		memcpy(outside, &filled, sizeof(filled));
	}
	if (!heap || !move_storage(heap, outside)) {
		weft_heap_destroy(owner);
		free(outside);
		return NULL;
	}
	if (!map_offset) {
		find_map(heap);
	}
	*storage = outside;
	return heap;
}

static void give_back_pages(char *of, uint32_t first, uint32_t end)
{
	if (end - first >= RUN_PAGES_LEAST) {
		madvise(of + first * WEFT_PAGE_BYTES, (end - first) * WEFT_PAGE_BYTES, MADV_DONTNEED);
	}
}

static void give_back_free(char *of)
{
	const uint64_t *map = (const uint64_t *) (of + map_offset);
	uint32_t first = PAGES; /* of the current run of free pages */
	for (uint32_t page = 0; page < PAGES; page++) {
		bool taken = map[page / 64] >> (page % 64) & 1;
		if (!taken && first == PAGES) {
			first = page;
		} else if (taken && first != PAGES) {
			give_back_pages(of, first, page);
			first = PAGES;
		}
	}
	if (first != PAGES) {
		give_back_pages(of, first, PAGES);
	}
}

/* Zend does not need the contents of free pages. Huge blocks are in no chunk, and chunks that Zend keeps for later are
 * not in the ring. */
void weft_heap_give_back(const zend_mm_heap *heap)
{
	chunk *first = first_chunk(heap), *one = first;
	if (!map_offset) {
		return;
	}
	do {
		give_back_free((char *) one);
		one = one->next;
	} while (one != first);
}

/* Between requests a heap is empty: each of its chunks keeps the page that describes it, the rest is returned. */
void weft_heap_trim(uint32_t owner)
{
	for (uint32_t i = 0; i < chunk_count; i++) {
		if (owners[i] == owner) {
			madvise(region + i * CHUNK_BYTES + WEFT_PAGE_BYTES, CHUNK_BYTES - WEFT_PAGE_BYTES, MADV_DONTNEED);
		}
	}
	release_spares();
}

void weft_heap_destroy(uint32_t owner)
{
	for (uint32_t i = 0; i < chunk_count; i++) {
		if (owners[i] == owner) {
			used--;
			held[owner - 1].now--;
			release(i, 1);
		}
	}
}
