/* mongodb.c: clients of ext-mongodb. */
#ifndef WEFT_MONGODB_H
#define WEFT_MONGODB_H

#include "weft.h"

void weft_mongodb_start(void);
void weft_mongodb_end(weft_coroutine *coroutine);

#endif
