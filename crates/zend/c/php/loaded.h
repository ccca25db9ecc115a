/* loaded.c: which libphp the loader has found. */
#ifndef WEFT_LOADED_H
#define WEFT_LOADED_H

#include "../weft.h"

/* Texts; empty if the library does not say. */
typedef struct {
	char file[4096];
	char version[64], build[64];
	char wanted_version[64], wanted_build[64];
} weft_loaded_php;

/* May be called before anything of PHP. */
void weft_find_loaded_php(weft_loaded_php *loaded);

#endif
