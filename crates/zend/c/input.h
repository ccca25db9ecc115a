/* input.c: the end of a request's php://input. For isolate.c and resident_edges.c. */
#ifndef WEFT_INPUT_H
#define WEFT_INPUT_H

#include "weft.h"

/* Closes the request's body, and the handles of php://input that are still open. */
void weft_input_end(void);

#endif
