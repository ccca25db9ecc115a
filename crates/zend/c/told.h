/* told.c: settings that only PHP functions can read and change. */
#ifndef WEFT_TOLD_H
#define WEFT_TOLD_H

#include "weft.h"

/* Called when the modules have started; and after the application has booted. */
void weft_told_prepare(void);
void weft_told_start(void);
void weft_told_out(weft_coroutine *coroutine);
void weft_told_in(weft_coroutine *coroutine);
void weft_told_end(weft_coroutine *coroutine);
/* Its changes were freed with its heap. */
void weft_told_forget(weft_coroutine *coroutine);

#endif
