/* The image: every writable page of the libraries that belong to an instance, and the arena. One set of addresses,
 * which holds the contents of the active instance.
 *
 *     after start-up    all pages are write-protected: their contents are the pristine state, the same for every instance
 *     first write       the page faults: it is copied (its pristine copy), listed, and writable from then on
 *     exchange          each listed page is compared with its pristine copy, line by line (64 bytes): lines that differ are
 *                       saved for the instance that leaves; those of the next one are loaded; all others become pristine
 *
 * When the kernel is to write to such a page, it does not fault but reports EFAULT: so the pages to which it writes
 * are listed from the start.
 *
 * Invariants: a page that is not listed is pristine; lines are exchanged only while no code of these libraries runs. */
#include "instance.h"

#include <stdio.h>
#include <sys/mman.h>

#define LINE_BYTES 64
#define LINES_PER_PAGE 64
#define PAGES_MAX 16384 /* 64 MiB that change: far more than any set of extensions has */
#define RANGES_MAX 512

typedef struct {
	char *low, *high;
	uint8_t *listed; /* one per page */
} range;

static range ranges[RANGES_MAX];
static size_t range_count;
static bool too_many_ranges;
static char **pages;     /* address of each listed page */
static char *pristine;   /* their copies, in the same order */
static uint32_t page_count;
static uint8_t leaves[PAGES_MAX]; /* which of them are taken from the list */
#ifdef __x86_64__
static bool avx2;
#endif

static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		return NULL;
	}
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	return memory;
}

uint32_t weft_image_pages(void)
{
	return page_count;
}

char *weft_image_page(uint32_t index)
{
	return pages[index];
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
	one->listed = reserve((size_t) (high - low) / WEFT_PAGE_BYTES);
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
	if (*listed || page_count == PAGES_MAX) {
		return false;
	}
	*listed = 1;
	memcpy(pristine + page_count * WEFT_PAGE_BYTES, page, WEFT_PAGE_BYTES);
	pages[page_count] = page;
	__atomic_store_n(&page_count, page_count + 1, __ATOMIC_RELEASE);
	return true;
}

bool weft_image_fault(void *address)
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

const char *weft_image_start(void)
{
	char *low, *high;
	pages = reserve(PAGES_MAX * sizeof(*pages));
	pristine = reserve(PAGES_MAX * WEFT_PAGE_BYTES);
	if (!pages || !pristine) {
		return "no memory for the copies of PHP's pages";
	}
	weft_arena_close(&low, &high);
	add_range(low, high);
	weft_libraries_each(add_range);
	if (too_many_ranges) {
		return "more libraries are loaded than instances can hold apart";
	}
#ifdef __x86_64__
	avx2 = __builtin_cpu_supports("avx2");
#endif
	list_kernel_targets();
	uint32_t listed = page_count;
	for (size_t i = 0; i < range_count; i++) {
		if (mprotect(ranges[i].low, (size_t) (ranges[i].high - ranges[i].low), PROT_READ) != 0) {
			return "the system does not let PHP's pages be write-protected (mprotect)";
		}
	}
	for (uint32_t i = 0; i < listed; i++) {
		mprotect(pages[i], WEFT_PAGE_BYTES, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

/* ---- the exchange ---- */

/* The lines of a page that differ from the pristine ones. */
static uint64_t changed_lines_plain(const char *page, const char *copy)
{
	const uint64_t *a = (const uint64_t *) page, *b = (const uint64_t *) copy;
	uint64_t mask = 0;
	for (unsigned line = 0; line < LINES_PER_PAGE; line++, a += 8, b += 8) {
		uint64_t difference = (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])
			| (a[4] ^ b[4]) | (a[5] ^ b[5]) | (a[6] ^ b[6]) | (a[7] ^ b[7]);
		mask |= (uint64_t) (difference != 0) << line;
	}
	return mask;
}

#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("avx2"))) static uint64_t changed_lines_avx2(const char *page, const char *copy)
{
	const __m256i *a = (const __m256i *) page, *b = (const __m256i *) copy;
	uint64_t mask = 0;
	/* Fully unrolled, so that each bit is a constant instead of a shift: a quarter less time for the largest part of a
	 * switch. */
#pragma GCC unroll 64
	for (unsigned line = 0; line < LINES_PER_PAGE; line++, a += 2, b += 2) {
		__m256i low = _mm256_xor_si256(_mm256_load_si256(a), _mm256_load_si256(b));
		__m256i high = _mm256_xor_si256(_mm256_load_si256(a + 1), _mm256_load_si256(b + 1));
		__m256i either = _mm256_or_si256(low, high);
		mask |= (uint64_t) !_mm256_testz_si256(either, either) << line;
	}
	return mask;
}

static inline uint64_t changed_lines(const char *page, const char *copy)
{
	return EXPECTED(avx2) ? changed_lines_avx2(page, copy) : changed_lines_plain(page, copy);
}
#else
static inline uint64_t changed_lines(const char *page, const char *copy)
{
	return changed_lines_plain(page, copy);
}
#endif

/* Room for every line of every listed page. Address space only: unwritten parts occupy no memory. */
static void make_room(weft_image *image)
{
	if (image->room_pages >= page_count) {
		return;
	}
	size_t room = page_count + 64;
	char *lines = reserve(room * WEFT_PAGE_BYTES);
	uint64_t *masks = reserve(room * sizeof(*masks));
	if (!lines || !masks) {
		/* The state of the running instance cannot be saved: this process cannot continue. */
		fprintf(stderr, "weft: no address space to put an instance aside\n");
		abort();
	}
	if (image->lines) {
		memcpy(lines, image->lines, (size_t) image->line_count * LINE_BYTES);
		memcpy(masks, image->masks, image->pages * sizeof(*masks));
		weft_image temporary = *image;
		weft_image_free(&temporary);
	}
	image->lines = lines;
	image->masks = masks;
	image->room_pages = room;
}

static void take_out(weft_image *out)
{
	make_room(out);
	char *to = out->lines;
	for (uint32_t i = 0; i < page_count; i++) {
		const char *page = pages[i];
		uint64_t mask = out->masks[i] = changed_lines(page, pristine + i * WEFT_PAGE_BYTES);
		for (; mask; mask &= mask - 1, to += LINE_BYTES) {
			memcpy(to, page + __builtin_ctzll(mask) * LINE_BYTES, LINE_BYTES);
		}
	}
	out->pages = page_count;
	out->line_count = (uint32_t) ((to - out->lines) / LINE_BYTES);
}

static void put_in(const weft_image *out, const weft_image *in)
{
	const char *from = in ? in->lines : NULL;
	uint32_t known = in ? in->pages : 0;
	for (uint32_t i = 0; i < page_count; i++) {
		char *page = pages[i];
		const char *copy = pristine + i * WEFT_PAGE_BYTES;
		uint64_t mask = i < known ? in->masks[i] : 0;
		uint64_t back = (out ? out->masks[i] : changed_lines(page, copy)) & ~mask;
		for (; mask; mask &= mask - 1, from += LINE_BYTES) {
			memcpy(page + __builtin_ctzll(mask) * LINE_BYTES, from, LINE_BYTES);
		}
		for (; back; back &= back - 1) {
			size_t offset = __builtin_ctzll(back) * LINE_BYTES;
			memcpy(page + offset, copy + offset, LINE_BYTES);
		}
	}
}

void weft_image_exchange(weft_image *out, weft_image *in)
{
	if (out) {
		take_out(out);
	}
	put_in(out, in);
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

void weft_image_unlist(bool (*is_wanted)(const char *page), weft_image_of image_of, uint32_t count)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < page_count; i++) {
		leaves[i] = is_wanted(pages[i]) && is_pristine(i, image_of, count) && protect_again(pages[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		weft_image *image = image_of(i);
		if (image) {
			close_masks(image);
		}
	}
	for (uint32_t i = 0; i < page_count; i++) {
		if (!leaves[i]) {
			pages[kept] = pages[i];
			memmove(pristine + kept * WEFT_PAGE_BYTES, pristine + i * WEFT_PAGE_BYTES, kept < i ? WEFT_PAGE_BYTES : 0);
			kept++;
		}
	}
	page_count = kept;
}

/* Arena memory that the active instance no longer uses becomes pristine again: otherwise its contents would be carried
 * forever, and point to memory that has another owner by then. */
void weft_image_restore(char *low, size_t bytes)
{
	for (uint32_t i = 0; i < page_count; i++) {
		char *from = low > pages[i] ? low : pages[i];
		char *to = low + bytes < pages[i] + WEFT_PAGE_BYTES ? low + bytes : pages[i] + WEFT_PAGE_BYTES;
		if (from < to) {
			memcpy(from, pristine + i * WEFT_PAGE_BYTES + (from - pages[i]), (size_t) (to - from));
		}
	}
}

void weft_image_free(weft_image *image)
{
	if (image->lines) {
		munmap(image->lines, image->room_pages * WEFT_PAGE_BYTES);
		munmap(image->masks, image->room_pages * sizeof(*image->masks));
	}
	memset(image, 0, sizeof(*image));
}

/* Returns memory that an earlier, larger state has occupied. */
void weft_image_trim(weft_image *image)
{
	size_t used = ((size_t) image->line_count * LINE_BYTES + WEFT_PAGE_BYTES - 1) & ~(WEFT_PAGE_BYTES - 1);
	if (image->lines && used < image->room_pages * WEFT_PAGE_BYTES) {
		madvise(image->lines + used, image->room_pages * WEFT_PAGE_BYTES - used, MADV_DONTNEED);
	}
}
