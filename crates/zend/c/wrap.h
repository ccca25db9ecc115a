/* wrap.c: PHP's functions, wrapped with weft's code. */
#ifndef WEFT_WRAP_H
#define WEFT_WRAP_H

#include "weft.h"

/* Once, before anything is wrapped. */
void weft_wrap_start(void);
/* Once, when everything is: aliases of what was wrapped, too. */
void weft_wrap_aliases(void);
bool weft_wrap(const char *class_name, const char *name, zif_handler with, void *row, zif_handler *stock);
void weft_wrap_function(zend_internal_function *function, zif_handler with, void *row, zif_handler *stock);
zend_internal_function *weft_find_function(const char *class_name, const char *name);
void *weft_wrapped_row(const zend_execute_data *execute_data);

#endif
