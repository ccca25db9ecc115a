/* classic.c: a request with PHP to itself. */
#ifndef WEFT_CLASSIC_H
#define WEFT_CLASSIC_H

#include "weft.h"

void weft_classic_prepare(sapi_module_struct *module);
void weft_classic_register(void);
void weft_classic_run(weft_coroutine *coroutine);
ZEND_FUNCTION(fastcgi_finish_request);
ZEND_FUNCTION(getallheaders);

#endif
