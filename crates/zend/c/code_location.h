/* Where PHP code stands, for a worker that does not come back from there. */
#ifndef WEFT_CODE_LOCATION_H
#define WEFT_CODE_LOCATION_H

#include <stddef.h>

/* Writes "function() at file:line" of the code that runs, without a final NUL; the number of bytes, 0 where no PHP code runs.
 * For a signal handler on the thread that runs PHP: it reads frames, takes no memory and no lock. */
size_t weft_code_location(char *text, size_t size);

#endif
