/* random.c: the generator of mt_rand() and rand(). */
#ifndef WEFT_RANDOM_H
#define WEFT_RANDOM_H

#include "../weft.h"

/* Tells `row` which row the generator has (weft_row in extension_rows.h). Called once, when the modules have started, before the
 * others. */
void weft_random_row(void (*row)(void *at, size_t size, size_t key, void (*release)(void *at), void (*changed)(void)));
/* The word that differs from its booted value once a coroutine has a generator of its own. */
void *weft_random_key(void);
/* Gives the running coroutine one. */
void weft_own_random(void);

#endif
