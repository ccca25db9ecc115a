/* superglobals.c: $_GET, $_POST and the others, one set for each request in coroutine mode. */
#ifndef WEFT_SUPERGLOBALS_H
#define WEFT_SUPERGLOBALS_H

#include "coroutine.h"

/* The superglobals that belong to a request, in the order of their bits. */
enum { WEFT_GET, WEFT_POST, WEFT_COOKIE, WEFT_FILES, WEFT_SERVER, WEFT_REQUEST, WEFT_SUPERGLOBALS };

typedef struct {
	uint32_t filled;               /* bit set of those that are filled for its request */
	zval values[WEFT_SUPERGLOBALS]; /* its own while it is parked, otherwise those of the others */
} weft_superglobals;

WEFT_SLOT(superglobals, weft_superglobals)

void weft_superglobals_start(uint32_t *used);
void weft_superglobals_fill(weft_coroutine *coroutine);
void weft_superglobals_need(uint32_t which);
void weft_superglobals_exchange(weft_coroutine *coroutine);
void weft_superglobals_end(weft_coroutine *coroutine);
uint32_t weft_superglobals_copy(const weft_coroutine *coroutine, zval *values);
void weft_superglobals_inherit(weft_coroutine *coroutine, uint32_t which, zval *values);
void weft_cookie_variables(uint64_t request, zval *array);
/* Adds a header line to the array as a variable of that name. */
typedef void (*weft_add_variable)(zval *array, const char *name, weft_slice value);
/* Who speaks to whom, and how. */
void weft_connection_variables(uint64_t request, zval *array, weft_add_variable add);
void weft_header_variables(uint64_t request, zval *array, weft_add_variable add);

#endif
