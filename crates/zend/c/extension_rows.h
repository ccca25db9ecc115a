/* What extensions keep in their globals that belongs to a coroutine: the rows (extension_rows.c) and how they are exchanged
 * (extensions.c). */
#ifndef WEFT_EXTENSION_ROWS_H
#define WEFT_EXTENSION_ROWS_H

#include "weft.h"

/* As many as there are bits to say which are put aside. */
#define WEFT_ROWS_MAX 64

/* One piece of state. It belongs to whoever has changed it: nobody else ever sees another value than the booted one. */
typedef struct weft_row {
	void *at;
	size_t size;
	size_t key;                      /* offset of the word that says whether it is changed */
	void (*release)(void *at);       /* frees what it holds when its coroutine ends; NULL: nothing */
	void (*changed)(void);           /* after another value has been put there; NULL: nobody need know */
	char *base;                      /* its value after boot */
} weft_row;

/* Fills rows for the loaded extensions and returns how many. Once, when the modules have started. */
size_t weft_extension_rows(weft_row *rows);
/* After boot: values that a request could free are given up, so that no request starts with them. */
void weft_extension_rows_booted(void);
/* What a coroutine has from its start, if the application has asked for it while booting. */
void weft_extension_rows_begin(void);

#endif
