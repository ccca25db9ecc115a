/* State in extensions' globals that belongs to a coroutine: the rows (extension_rows.c) and their exchange
 * (extensions.c). */
#ifndef WEFT_EXTENSION_ROWS_H
#define WEFT_EXTENSION_ROWS_H

#include "weft.h"

/* As many as there are bits to record which are saved. */
#define WEFT_ROWS_MAX 64

/* One piece of state. It belongs to the coroutine that has changed it: all others always see the booted value. */
typedef struct weft_row {
	void *at;
	size_t size;
	size_t key;                      /* offset of the word that shows whether it has changed */
	void (*release)(void *at);       /* frees what it holds when its coroutine ends; NULL: nothing */
	void (*changed)(void);           /* called after another value has been loaded; NULL: not needed */
	char *base;                      /* its value after the boot */
} weft_row;

/* Fills rows for the loaded extensions and returns their number. Called once, when the modules have started. */
size_t weft_extension_rows(weft_row *rows);
/* After the boot: drops values that a request could free, so that no request starts with them. */
void weft_extension_rows_booted(void);
/* State that a coroutine has from its start, if the application has asked for it during the boot. */
void weft_extension_rows_begin(void);

#endif
