/* The pages of the image that are listed: those that somebody has written to.
 *
 *     after start-up    all pages are write-protected: their contents are the pristine state, the same for every instance
 *     first write       the page faults: it is copied (its pristine copy), listed, and writable from then on
 *     nobody differs    a page to which nobody will write again leaves the list, and is write-protected again
 *
 * When the kernel is to write to such a page, it does not fault but reports EFAULT: so the pages to which it writes
 * are listed from the start. It must not know how contents are exchanged; of what an instance has changed it reads in which pages.
 *
 * Invariant: a page that is not listed is pristine. */
#include "instance.h"

#include <sys/mman.h>

#define PAGES_MAX 16384 /* 64 MiB that change: far more than any set of extensions has */
#define RANGES_MAX 512

typedef struct {
	char *low, *high;
	uint8_t *listed; /* one per page */
} range;

char **weft_pages;
char *weft_pages_pristine;
uint32_t weft_pages_count;

static range ranges[RANGES_MAX];
static size_t range_count;
static bool too_many_ranges;
static uint8_t leaves[PAGES_MAX]; /* which pages are taken from the list */

void *weft_pages_reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		return NULL;
	}
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	return memory;
}

/* ---- which pages ---- */

static void add_range(char *low, char *high)
{
	if (range_count == RANGES_MAX) {
		too_many_ranges = true;
		return;
	}
	range *one = &ranges[range_count];
	one->low = low;
	one->high = high;
	one->listed = weft_pages_reserve((size_t) (high - low) / WEFT_PAGE_BYTES);
	range_count += one->listed != NULL;
	too_many_ranges |= one->listed == NULL;
}

static range *range_of(const char *address)
{
	for (size_t i = 0; i < range_count; i++) {
		if (address >= ranges[i].low && address < ranges[i].high) {
			return &ranges[i];
		}
	}
	return NULL;
}

/* Also called by the SIGSEGV handler, so it only uses memory. false: not a page of the image, or already
 * listed. */
static bool list_page(char *address)
{
	char *page = (char *) ((uintptr_t) address & ~(WEFT_PAGE_BYTES - 1));
	range *of = range_of(page);
	if (!of) {
		return false;
	}
	uint8_t *listed = &of->listed[(page - of->low) / WEFT_PAGE_BYTES];
	if (*listed || weft_pages_count == PAGES_MAX) {
		return false;
	}
	*listed = 1;
	memcpy(weft_pages_pristine + weft_pages_count * WEFT_PAGE_BYTES, page, WEFT_PAGE_BYTES);
	weft_pages[weft_pages_count] = page;
	__atomic_store_n(&weft_pages_count, weft_pages_count + 1, __ATOMIC_RELEASE);
	return true;
}

bool weft_pages_fault(void *address)
{
	if (!range_count || !list_page(address)) {
		return false;
	}
	char *page = (char *) ((uintptr_t) address & ~(WEFT_PAGE_BYTES - 1));
	return mprotect(page, WEFT_PAGE_BYTES, PROT_READ | PROT_WRITE) == 0;
}

static void list_all(char *low, size_t bytes)
{
	for (char *page = (char *) ((uintptr_t) low & ~(WEFT_PAGE_BYTES - 1)); page < low + bytes; page += WEFT_PAGE_BYTES) {
		list_page(page);
	}
}

/* The kernel writes here: the results of stat(2). Each listed page is compared at every switch, so the list has no
 * others. */
static void list_kernel_targets(void)
{
	list_all((char *) &basic_globals, sizeof(basic_globals));
	list_all((char *) &sapi_globals, sizeof(sapi_globals));
}

const char *weft_pages_start(void)
{
	char *low, *high;
	weft_pages = weft_pages_reserve(PAGES_MAX * sizeof(*weft_pages));
	weft_pages_pristine = weft_pages_reserve(PAGES_MAX * WEFT_PAGE_BYTES);
	if (!weft_pages || !weft_pages_pristine) {
		return "no memory for the copies of PHP's pages";
	}
	weft_arena_close(&low, &high);
	add_range(low, high);
	weft_libraries_each(add_range);
	if (too_many_ranges) {
		return "more libraries are loaded than instances can hold apart";
	}
	list_kernel_targets();
	uint32_t listed = weft_pages_count;
	for (size_t i = 0; i < range_count; i++) {
		if (mprotect(ranges[i].low, (size_t) (ranges[i].high - ranges[i].low), PROT_READ) != 0) {
			return "the system does not let PHP's pages be write-protected (mprotect)";
		}
	}
	for (uint32_t i = 0; i < listed; i++) {
		mprotect(weft_pages[i], WEFT_PAGE_BYTES, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

/* ---- pages that nobody changes any more ---- */

static bool is_pristine(uint32_t page, weft_image_of image_of, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const weft_image *image = image_of(i);
		if (image && page < image->pages && image->masks[page]) {
			return false;
		}
	}
	return true;
}

/* Lines are packed in the order of the pages, and there are none of a page that leaves: only masks move up. */
static void close_masks(weft_image *image)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < image->pages; i++) {
		image->masks[kept] = image->masks[i];
		kept += !leaves[i];
	}
	image->pages = kept;
}

static bool protect_again(char *page)
{
	range *of = range_of(page);
	if (mprotect(page, WEFT_PAGE_BYTES, PROT_READ) != 0) {
		return false;
	}
	of->listed[(page - of->low) / WEFT_PAGE_BYTES] = 0;
	return true;
}

void weft_pages_unlist(bool (*may_leave)(const char *page), weft_image_of image_of, uint32_t count)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < weft_pages_count; i++) {
		leaves[i] = may_leave(weft_pages[i]) && is_pristine(i, image_of, count) && protect_again(weft_pages[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		weft_image *image = image_of(i);
		if (image) {
			close_masks(image);
		}
	}
	for (uint32_t i = 0; i < weft_pages_count; i++) {
		if (!leaves[i]) {
			weft_pages[kept] = weft_pages[i];
			memmove(weft_pages_pristine + kept * WEFT_PAGE_BYTES, weft_pages_pristine + i * WEFT_PAGE_BYTES, WEFT_PAGE_BYTES);
			kept++;
		}
	}
	weft_pages_count = kept;
}
