/* pgsql.c: connections of ext/pgsql. */
#ifndef WEFT_PGSQL_H
#define WEFT_PGSQL_H

#include "weft.h"

void weft_pgsql_start(void);
void weft_pgsql_booted(void);
void weft_pgsql_begin(void);
void weft_pgsql_exchange(weft_coroutine *coroutine);
void weft_pgsql_end(void);
void weft_pgsql_reset(const zval *persistent);
/* The default connection of functions without one; NULL: none. */
void *weft_pgsql_default(void);

#endif
