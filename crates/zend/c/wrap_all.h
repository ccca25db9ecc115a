/* wrap_all.c: which modules wrap PHP's functions. */
#ifndef WEFT_WRAP_ALL_H
#define WEFT_WRAP_ALL_H

#include "weft.h"

void weft_wrap_all_prepare(bool classic, bool resident, bool script);

#endif
