/* extensions.c: what a coroutine has changed in extensions' globals. */
#ifndef WEFT_EXTENSIONS_H
#define WEFT_EXTENSIONS_H

#include "weft.h"

void weft_extensions_prepare(void);
void weft_extensions_start(void);
/* Called when the application has ended. */
void weft_extensions_stop(void);
void weft_extensions_begin(void);
void weft_extensions_out(weft_coroutine *coroutine);
void weft_extensions_in(weft_coroutine *coroutine);
void weft_extensions_end(void);

#endif
