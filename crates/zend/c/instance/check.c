/* For debugging (verify_instances): whole pages are saved when an instance is put aside and compared when it is back,
 * and every page is searched for pointers into heaps and stacks of other instances.
 *
 * If a page differs, the exchange has a fault, or other code wrote to it meanwhile: the worker is replaced. A pointer
 * into another instance is reported, unless it is a stale one, to memory that has got a new owner since: no code
 * follows what a word holds between two requests, when the heap is empty. Such words are recorded at the end of each
 * request. */
#include "instance.h"
#include "../host.h"

#include <stdio.h>

typedef struct {
	void **word;
	void *value;
} stale;

typedef struct {
	char *copy;
	uint32_t pages;
	stale *stale; /* words that pointed into heaps when the last request had ended */
	size_t stale_count, stale_room;
} kept;

static kept *all; /* by number; NULL: no checks */
static uint32_t numbers;

void weft_check_start(uint32_t max)
{
	all = max ? calloc(max + 1, sizeof(*all)) : NULL;
	numbers = all ? max : 0;
}

static void report(const char *what, const char *address, uint32_t instance, uint32_t other)
{
	char text[256];
	snprintf(text, sizeof(text), "instances: %s in %s at %p, of instance %u (other: %u)", what, weft_library_name(address),
		(const void *) address, instance, other);
	weft_host_log(WEFT_LOG_ERROR, 0, weft_slice_text(text));
}

static bool is_stale(const kept *mine, void **word)
{
	for (size_t i = 0; i < mine->stale_count; i++) {
		if (mine->stale[i].word == word) {
			return mine->stale[i].value == *word;
		}
	}
	return false;
}

/* A block may end where the next chunk of the heap begins, and PHP has pointers to ends (EG(vm_stack_end)): the first byte of a
 * chunk is nobody's. It is Zend's own, or a huge block's, to which a pointer is not found here. */
static uint32_t owner_in_heap(const void *address)
{
	return (uintptr_t) address % ZEND_MM_CHUNK_SIZE ? weft_heap_owner(address) : 0;
}

static void search(char *page, uint32_t instance)
{
	void **word = (void **) page;
	for (size_t i = 0; i < WEFT_PAGE_BYTES / sizeof(*word); i++) {
		uint32_t owner = owner_in_heap(word[i]);
		owner = owner ? owner : weft_instance_of_stack(word[i]);
		if (owner && owner != instance && !is_stale(&all[instance], &word[i])) {
			report("a pointer to another instance", (char *) &word[i], instance, owner);
		}
	}
}

static void note_stale(kept *mine, void **word)
{
	if (mine->stale_count == mine->stale_room) {
		size_t room = mine->stale_room * 2 + 64;
		stale *grown = realloc(mine->stale, room * sizeof(*grown));
		if (!grown) {
			return;
		}
		mine->stale = grown;
		mine->stale_room = room;
	}
	mine->stale[mine->stale_count++] = (stale){word, *word};
}

void weft_check_idle(uint32_t instance)
{
	if (instance > numbers) {
		return;
	}
	kept *mine = &all[instance];
	uint32_t pages = weft_pages_count;
	mine->stale_count = 0;
	for (uint32_t i = 0; i < pages; i++) {
		void **word = (void **) weft_pages[i];
		for (size_t j = 0; j < WEFT_PAGE_BYTES / sizeof(*word); j++) {
			if (weft_heap_holds(word[j]) || weft_instance_of_stack(word[j])) {
				note_stale(mine, &word[j]);
			}
		}
	}
}

void weft_check_out(uint32_t instance)
{
	if (instance > numbers) {
		return;
	}
	kept *mine = &all[instance];
	uint32_t pages = weft_pages_count;
	if (mine->pages != pages) {
		free(mine->copy);
		mine->copy = malloc(pages * WEFT_PAGE_BYTES);
		mine->pages = mine->copy ? pages : 0;
	}
	for (uint32_t i = 0; i < mine->pages; i++) {
		memcpy(mine->copy + i * WEFT_PAGE_BYTES, weft_pages[i], WEFT_PAGE_BYTES);
		search(weft_pages[i], instance);
	}
}

/* Where a page differs from its copy; NULL: nowhere. Other threads set the flag for an interrupt at any moment, so
 * it is ignored. */
static const char *difference(const char *page, const char *copy)
{
	if (memcmp(page, copy, WEFT_PAGE_BYTES) == 0) {
		return NULL;
	}
	for (size_t at = 0; at < WEFT_PAGE_BYTES; at++) {
		if (page[at] != copy[at] && page + at != (const char *) &EG(vm_interrupt)) {
			return page + at;
		}
	}
	return NULL;
}

void weft_check_in(uint32_t instance)
{
	if (instance > numbers) {
		return;
	}
	const kept *mine = &all[instance];
	for (uint32_t i = 0; i < mine->pages; i++) {
		const char *differs = difference(weft_pages[i], mine->copy + i * WEFT_PAGE_BYTES);
		if (differs) {
			report("a page is not as it was left", differs, instance, 0);
			weft_host_replace(weft_slice_text("an instance was corrupted (verify_instances)"));
			return;
		}
	}
}

void weft_check_begin_again(void)
{
	for (uint32_t i = 0; i < numbers; i++) {
		all[i + 1].pages = 0;
	}
}

void weft_check_forget(uint32_t instance)
{
	if (instance <= numbers && all) {
		free(all[instance].copy);
		free(all[instance].stale);
		memset(&all[instance], 0, sizeof(*all));
	}
}
