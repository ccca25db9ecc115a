/* src/lines.rs: the header lines and trailers of a request that PHP is given. */
#ifndef WEFT_LINES_H
#define WEFT_LINES_H

#include "weft.h"

/* Starts with *at = 0 and returns one line after another; false: there are no more. */
bool weft_host_next_header(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);
bool weft_host_next_trailer(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);
/* The same for header lines, with the name as in $_SERVER, which ends with a NUL. */
bool weft_host_next_variable(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);

#endif
