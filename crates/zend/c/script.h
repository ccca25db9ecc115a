/* script.c: `weft php`. */
#ifndef WEFT_SCRIPT_H
#define WEFT_SCRIPT_H

#include "weft.h"

void weft_script_run(weft_coroutine *coroutine);

void weft_script_prepare(weft_script_kind kind, const char *source);
int weft_script_status(void);

#endif
