/* environment.c: environment variables that a coroutine has set with putenv(). */
#ifndef WEFT_ENVIRONMENT_H
#define WEFT_ENVIRONMENT_H

#include "weft.h"

void weft_environment_start(void);
void weft_environment_out(weft_coroutine *coroutine);
void weft_environment_in(weft_coroutine *coroutine);
void weft_environment_end(weft_coroutine *coroutine);
/* The variables it has set were freed with its heap. */
void weft_environment_forget(weft_coroutine *coroutine);

#endif
