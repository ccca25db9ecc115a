/* told.c: settings that functions of PHP keep to themselves. */
#ifndef WEFT_TOLD_H
#define WEFT_TOLD_H

#include "weft.h"

/* When the modules have started; after the application has booted. */
void weft_told_prepare(void);
void weft_told_start(void);
void weft_told_out(weft_coroutine *coroutine);
void weft_told_in(weft_coroutine *coroutine);
void weft_told_end(weft_coroutine *coroutine);
/* What it has changed is gone with its heap. */
void weft_told_forget(weft_coroutine *coroutine);

#endif
