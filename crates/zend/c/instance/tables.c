/* The tables that an application's functions, classes and constants are added to: in the arena, or in memory of the instance.
 *
 * In the arena each switch carries what the application has added to them; in memory of their own they cost a switch nothing,
 * but some 400 KiB. So they are moved when an instance has much to carry, and go back when it has been idle for a while.
 *
 * Invariant: between two requests nothing is in them but what start-up has put there, which is in the arena still. It must not
 * know when that is. */
#include "instance.h"

#define TABLES 3

static struct {
	HashTable *table;
	uint32_t used_at_start;
} tables[TABLES];

/* Before the pristine state is taken. */
void weft_tables_note(void)
{
	HashTable *found[TABLES] = {CG(function_table), CG(class_table), EG(zend_constants)};
	for (size_t i = 0; i < TABLES; i++) {
		tables[i].table = found[i];
		tables[i].used_at_start = found[i]->nNumUsed;
	}
}

/* Out of the arena, and no larger: a small application's fits. Else the table is told to grow, as it would soon. */
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

/* Those of the active instance. What has grown by itself is out of the arena already. */
void weft_tables_move(void)
{
	for (size_t i = 0; i < TABLES; i++) {
		HashTable *table = tables[i].table;
		if (weft_arena_holds(table->arData)) {
			move(table);
		}
	}
}

/* Those of the instance whose image is in place, and which has no request. One that has kept something stays as it is. */
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
