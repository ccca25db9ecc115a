/* What a coroutine has told functions of PHP that keep it to themselves (told.c), and which directory it has opened last
 * (directories.c). */
#ifndef WEFT_TOLD_H
#define WEFT_TOLD_H

#include "weft.h"

/* When the modules have started; after the application has booted. */
void weft_told_prepare(void);
void weft_told_start(void);
void weft_told_out(weft_coroutine *coroutine);
void weft_told_in(weft_coroutine *coroutine);
void weft_told_end(weft_coroutine *coroutine);

void weft_directories_prepare(void);
void weft_directories_end(weft_coroutine *coroutine);

#endif
