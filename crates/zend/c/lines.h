/* The header lines and trailers of a request that PHP is given: src/lines.rs lends them, lines.c reads them. */
#ifndef WEFT_LINES_H
#define WEFT_LINES_H

#include "weft.h"

/* Starts with *at = 0 and returns one line after another; false: there are no more. */
bool weft_host_next_header(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);
bool weft_host_next_trailer(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);
/* The same for header lines, with the name as in $_SERVER, which ends with a NUL. */
bool weft_host_next_variable(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);

/* lines.c */
/* The value of the first header line of that name; its bytes are NULL where there is none. */
weft_slice weft_first_header(uint64_t request, const char *wanted);
/* Adds the value of one more line to those of earlier lines of the same name. */
void weft_join_line(smart_str *joined, weft_slice value, bool is_cookie);
/* All cookies of a request as one line; empty if there are none. */
void weft_join_cookies(uint64_t request, smart_str *cookies);

#endif
