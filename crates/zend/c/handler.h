/* handler.c: one request of coroutine mode. */
#ifndef WEFT_HANDLER_H
#define WEFT_HANDLER_H

#include "weft.h"

weft_load_result weft_handler_load(const char *path);
void weft_handler_run(weft_coroutine *coroutine);
/* The function behind the handler. */
zend_function *weft_handler_function(void);

#endif
