/* The image: every writable page of the libraries that belong to an instance, and the arena. One set of addresses,
 * which holds the contents of the active instance.
 *
 * An exchange compares each listed page (pages.c) with its pristine copy, line by line (64 bytes): lines that differ are saved
 * for the instance that leaves; those of the next one are loaded; all others become pristine.
 *
 * Invariant: lines are exchanged only while no code of these libraries runs. */
#include "instance.h"

#include <stdio.h>
#include <sys/mman.h>

#define LINE_BYTES 64
#define LINES_PER_PAGE 64

#ifdef __x86_64__
static bool avx2;
#endif

const char *weft_image_start(void)
{
#ifdef __x86_64__
	avx2 = __builtin_cpu_supports("avx2");
#endif
	return weft_pages_start();
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
	if (image->room_pages >= weft_pages_count) {
		return;
	}
	size_t room = weft_pages_count + 64;
	char *lines = weft_pages_reserve(room * WEFT_PAGE_BYTES);
	uint64_t *masks = weft_pages_reserve(room * sizeof(*masks));
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
	for (uint32_t i = 0; i < weft_pages_count; i++) {
		const char *page = weft_pages[i];
		uint64_t mask = out->masks[i] = changed_lines(page, weft_pages_pristine + i * WEFT_PAGE_BYTES);
		for (; mask; mask &= mask - 1, to += LINE_BYTES) {
			memcpy(to, page + __builtin_ctzll(mask) * LINE_BYTES, LINE_BYTES);
		}
	}
	out->pages = weft_pages_count;
	out->line_count = (uint32_t) ((to - out->lines) / LINE_BYTES);
}

static void put_in(const weft_image *out, const weft_image *in)
{
	const char *from = in ? in->lines : NULL;
	uint32_t known = in ? in->pages : 0;
	for (uint32_t i = 0; i < weft_pages_count; i++) {
		char *page = weft_pages[i];
		const char *copy = weft_pages_pristine + i * WEFT_PAGE_BYTES;
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

/* Arena memory that the active instance no longer uses becomes pristine again: otherwise its contents would be carried
 * forever, and point to memory that has another owner by then. */
void weft_image_restore(char *low, size_t bytes)
{
	for (uint32_t i = 0; i < weft_pages_count; i++) {
		char *from = low > weft_pages[i] ? low : weft_pages[i];
		char *to = low + bytes < weft_pages[i] + WEFT_PAGE_BYTES ? low + bytes : weft_pages[i] + WEFT_PAGE_BYTES;
		if (from < to) {
			memcpy(from, weft_pages_pristine + i * WEFT_PAGE_BYTES + (from - weft_pages[i]), (size_t) (to - from));
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
