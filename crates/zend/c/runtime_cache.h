/* runtime_cache.c: work that a request can skip at its start. */
#ifndef WEFT_RUNTIME_CACHE_H
#define WEFT_RUNTIME_CACHE_H

#include "weft.h"

/* Called before the engine starts, in every mode. */
void weft_runtime_cache_start(void);

#endif
