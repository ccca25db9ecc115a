/* library.c: weft's PHP library. */
#ifndef WEFT_LIBRARY_H
#define WEFT_LIBRARY_H

#include "weft.h"

void weft_library_start(const char *directory);

#endif
