/* State of extensions: kept for the coroutine that changed it while it is parked, with the booted value in its place.
 *
 * A coroutine that changes none pays one comparison for each row when it parks and when it ends, and nothing when it
 * begins or resumes. Must not know what the rows are (extension_rows.c). */
#include "extensions.h"
#include "boot.h"
#include "coroutine.h"
#include "extension_rows.h"

static WEFT_BOOT weft_row rows[WEFT_ROWS_MAX];
/* The part of a row that a check needs, stored separately: a word, and the bits of it that belong to the row. */
static WEFT_BOOT struct {
	const uint64_t *word;
	uint64_t base, mask;
} keys[WEFT_ROWS_MAX];
static size_t count, bytes_of_all;
static const weft_row *releasing; /* the row whose value is being freed */
static WEFT_BOOT bool started;
static WEFT_BOOT char *bases; /* the bytes of all rows after the boot */

/* What is saved: which rows, and their bytes one after another. */
typedef struct {
	uint64_t which;
	char bytes[];
} kept;

WEFT_SLOT(extensions, kept *)

static uint64_t difference(size_t i)
{
	return (*keys[i].word ^ keys[i].base) & keys[i].mask;
}

static bool changed(size_t i)
{
	return difference(i) != 0;
}

/* Nearly always none: one pass without a branch for each row. */
static bool any_changed(void)
{
	uint64_t differences = 0;
#pragma GCC unroll 8
	for (size_t i = 0; i < count; i++) {
		differences |= difference(i);
	}
	return differences != 0;
}

/* A key of four bytes is read as half of a word within one page, so that the bytes beside it can be read, too. */
static void prepare_key(size_t i)
{
	const char *at = (const char *) rows[i].at + rows[i].key;
	bool wide = rows[i].size - rows[i].key >= sizeof(uint64_t), second_half = !wide && ((uintptr_t) at & 4);
	keys[i].word = (const uint64_t *) (second_half ? at - 4 : at);
	keys[i].mask = wide ? UINT64_MAX : second_half ? UINT64_C(0xffffffff) << 32 : UINT64_C(0xffffffff);
}

static void put(const weft_row *row, const void *bytes)
{
	memcpy(row->at, bytes, row->size);
	if (row->changed) {
		row->changed();
	}
}

/* Called when the modules have started. */
void weft_extensions_prepare(void)
{
	count = weft_extension_rows(rows);
	for (size_t i = 0; i < count; i++) {
		prepare_key(i);
		bytes_of_all += rows[i].size;
	}
}

/* Called after the application has booted. */
void weft_extensions_start(void)
{
	weft_extension_rows_booted();
	char *next = bases = malloc(bytes_of_all);
	for (size_t i = 0; i < count; i++) {
		rows[i].base = next;
		next += rows[i].size;
		memcpy(rows[i].base, rows[i].at, rows[i].size);
		keys[i].base = *keys[i].word;
	}
	started = true;
}

/* Called when the application has ended. */
void weft_extensions_stop(void)
{
	started = false;
	free(bases);
	bases = NULL;
}

void weft_extensions_begin(void)
{
	weft_extension_rows_begin();
}

void weft_extensions_out(weft_coroutine *coroutine)
{
	kept *aside = NULL;
	char *next = NULL;
	*weft_extensions_slot(coroutine) = NULL;
	if (!started || EXPECTED(!any_changed())) {
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (changed(i)) {
			if (!aside) {
				aside = malloc(sizeof(*aside) + bytes_of_all);
				aside->which = 0;
				next = aside->bytes;
			}
			memcpy(next, rows[i].at, rows[i].size);
			next += rows[i].size;
			aside->which |= UINT64_C(1) << i;
			put(&rows[i], rows[i].base);
		}
	}
	*weft_extensions_slot(coroutine) = aside;
}

void weft_extensions_in(weft_coroutine *coroutine)
{
	kept *aside = *weft_extensions_slot(coroutine);
	if (EXPECTED(!aside)) {
		return;
	}
	const char *next = aside->bytes;
	for (uint64_t left = aside->which; left; left &= left - 1) {
		size_t i = (size_t) __builtin_ctzll(left);
		put(&rows[i], next);
		next += rows[i].size;
	}
	*weft_extensions_slot(coroutine) = NULL;
	free(aside);
}

/* The coroutine's job has ended: restores the booted values. */
void weft_extensions_end(void)
{
	if (!started || EXPECTED(!any_changed())) {
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (changed(i)) {
			bool is_gone = releasing == &rows[i]; /* a destructor bailed out of it */
			releasing = &rows[i];
			if (rows[i].release && !is_gone) {
				rows[i].release(rows[i].at);
			}
			put(&rows[i], rows[i].base);
		}
	}
	releasing = NULL;
}
