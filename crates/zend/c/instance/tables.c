/* The tables to which an application's functions, classes and constants are added: in the arena, or in memory of the
 * instance.
 *
 * In the arena they cost a switch the comparison of each page to which an application has added something, and hashes are
 * all over; in separate memory they cost a switch nothing, but some 400 KiB. So when applications have written to many of
 * these pages, all instances move their tables, and the pages are compared no more. The tables return when an instance
 * has been idle for a while.
 *
 * Invariant: between two requests they hold only entries from start-up, which are still in the arena. It must not know
 * when that is. */
#include "instance.h"

#define TABLES 3
#define FEW_PAGES 8 /* compared in 1 us */

static struct {
	HashTable *table;
	uint32_t used_at_start;
	const char *low, *high; /* its buckets and hashes in the arena */
} tables[TABLES];
static bool are_large; /* once they are, they stay so */

/* Called before the pristine state is recorded. */
void weft_tables_note(void)
{
	HashTable *found[TABLES] = {CG(function_table), CG(class_table), EG(zend_constants)};
	for (size_t i = 0; i < TABLES; i++) {
		tables[i].table = found[i];
		tables[i].used_at_start = found[i]->nNumUsed;
		tables[i].low = HT_GET_DATA_ADDR(found[i]);
		tables[i].high = tables[i].low + HT_SIZE(found[i]);
	}
}

/* Whether a page lies in a table of the arena. */
bool weft_tables_hold(const char *page)
{
	for (size_t i = 0; i < TABLES; i++) {
		if (page >= tables[i].low && page + WEFT_PAGE_BYTES <= tables[i].high) {
			return true;
		}
	}
	return false;
}

/* The listed pages of the tables. */
uint32_t weft_tables_pages(void)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < weft_pages_count; i++) {
		count += weft_tables_hold(weft_pages[i]);
	}
	return count;
}

/* Whether applications add so much to the tables that these should be moved. */
bool weft_tables_are_large(void)
{
	static uint32_t seen;
	if (UNEXPECTED(!are_large && weft_pages_count != seen)) {
		seen = weft_pages_count;
		are_large = weft_tables_pages() > FEW_PAGES;
	}
	return are_large;
}

/* Moves a table out of the arena without growing it if a small application's entries fit. Otherwise the table is
 * told to grow, as it soon would. */
static void move(HashTable *table)
{
	bool has_room = table->nNumUsed < table->nTableSize / 4 * 3;
	void *own = has_room ? malloc(HT_SIZE(table)) : NULL;
	if (!own) {
		zend_hash_extend(table, table->nTableSize * 2, false);
		return;
	}
	void *before = HT_GET_DATA_ADDR(table);
	memcpy(own, before, HT_USED_SIZE(table));
	HT_SET_DATA_ADDR(table, own);
	free(before);
}

/* Moves the tables of the active instance. A table that has grown by itself is already outside the arena. */
void weft_tables_move(void)
{
	for (size_t i = 0; i < TABLES; i++) {
		HashTable *table = tables[i].table;
		if (weft_arena_holds(table->arData)) {
			move(table);
		}
	}
}

/* Returns the tables of the loaded instance, which has no request: nothing is left of what was added. A table that still
 * holds entries stays as it is. */
void weft_tables_return(void)
{
	for (size_t i = 0; i < TABLES; i++) {
		HashTable *table = tables[i].table;
		if (table->nNumUsed == tables[i].used_at_start) {
			void *data = HT_GET_DATA_ADDR(table);
			weft_image_restore((char *) table, sizeof(*table));
			free(data); /* in the arena: pristine again */
		}
	}
}
