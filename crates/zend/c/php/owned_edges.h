/* owned_edges.c: what the rows of owned.h are at a coroutine's begin, and what of them is freed at its end. */
#ifndef WEFT_PHP_OWNED_EDGES_H
#define WEFT_PHP_OWNED_EDGES_H

#include "../owned.h"

/* Of the booted state, what belongs to one run is taken out. */
void weft_owned_by_version_begin(weft_owned *base);
/* Frees what the running coroutine has in these rows: may run destructors. */
void weft_owned_by_version_end(void);

#endif
