/* src/lines.rs: header lines and trailers of a request, as PHP is told of them. */
#ifndef WEFT_LINES_H
#define WEFT_LINES_H

#include "weft.h"

/* Beginning with *at = 0, one line after the other; false: there is no more. */
bool weft_host_next_header(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);
bool weft_host_next_trailer(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);
/* Header lines, with the name as $_SERVER has it, which ends with a NUL. */
bool weft_host_next_variable(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);

#endif
