/* writer.c: Weft\Http\Writer, which sends a response piece by piece. */
#ifndef WEFT_WRITER_H
#define WEFT_WRITER_H

#include "weft.h"

void weft_writer_register(void);
void weft_writer_open(zval *writer, uint64_t request);
void weft_writer_close(zval *writer);

#endif
