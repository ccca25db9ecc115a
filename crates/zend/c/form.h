/* form.c: the body of a request as a form. */
#ifndef WEFT_FORM_H
#define WEFT_FORM_H

#include "weft.h"

/* false: the body has failed, and an exception reports it. */
bool weft_request_form(uint64_t request, zval *fields, zval *files);
void weft_throw_body(int64_t failure);
size_t weft_read_post(char *buffer, size_t size);

#endif
