/* runtime_cache.c: what a request need not begin with. */
#ifndef WEFT_RUNTIME_CACHE_H
#define WEFT_RUNTIME_CACHE_H

#include "weft.h"

/* Before the engine starts, in whatever mode. */
void weft_runtime_cache_start(void);

#endif
