/* The tables to which an application's functions, classes and constants are added: in the arena, or in memory of the
 * instance.
 *
 * In the arena, each switch carries the application's additions; in separate memory they cost a switch nothing, but
 * some 400 KiB. So the tables are moved if an instance has much to carry, and return when it has been idle for a
 * while.
 *
 * Invariant: between two requests they hold only entries from start-up, which are still in the arena. It must not know
 * when that is. */
#include "instance.h"

#define TABLES 3

static struct {
	HashTable *table;
	uint32_t used_at_start;
} tables[TABLES];

/* Called before the pristine state is recorded. */
void weft_tables_note(void)
{
	HashTable *found[TABLES] = {CG(function_table), CG(class_table), EG(zend_constants)};
	for (size_t i = 0; i < TABLES; i++) {
		tables[i].table = found[i];
		tables[i].used_at_start = found[i]->nNumUsed;
	}
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

/* Returns the tables of the loaded instance, which has no request. A table that still holds entries stays as it is. */
void weft_tables_return(void)
{
	for (size_t i = 0; i < TABLES; i++) {
		HashTable *table = tables[i].table;
		if (!weft_arena_holds(table->arData) && table->nNumUsed == tables[i].used_at_start) {
			void *own = HT_GET_DATA_ADDR(table);
			weft_image_restore((char *) table, sizeof(*table));
			free(own);
		}
	}
}
