/* directories.c: the directory that readdir() reads without an argument. */
#ifndef WEFT_DIRECTORIES_H
#define WEFT_DIRECTORIES_H

#include "weft.h"

void weft_directories_prepare(void);
void weft_directories_end(weft_coroutine *coroutine);
/* Its handle was freed with its heap. */
void weft_directories_forget(weft_coroutine *coroutine);

#endif
