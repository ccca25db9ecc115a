/* classic_variables.c: what PHP is told about a request in classic mode. */
#ifndef WEFT_CLASSIC_VARIABLES_H
#define WEFT_CLASSIC_VARIABLES_H

#include "classic_state.h"

void weft_classic_import(void);
bool weft_classic_tell(weft_coroutine *coroutine);
char *weft_classic_keep(weft_classic *classic, weft_slice value);
char *weft_classic_cookies(void);
void weft_classic_variables(zval *array);
char *weft_classic_getenv(const char *name, size_t length);
zend_result weft_classic_time(double *time);

#endif
