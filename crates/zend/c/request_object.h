/* Shared by the two files of Weft\Http\Request: request.c has its head, body.c its body. No other file may
 * include this. */
#ifndef WEFT_REQUEST_OBJECT_H
#define WEFT_REQUEST_OBJECT_H

#include "weft.h"
#include "weft_arginfo.h"

typedef struct {
	uint64_t request;
	bool detached; /* the request has ended; the host keeps a copy of its head for this object */
	bool form_read;
	zval query;    /* parsed once, UNDEF until then */
	zval cookies;
	zval fields;
	zval files;
	zend_object std;
} weft_request_object;

static inline weft_request_object *weft_request_of(zend_object *object)
{
	return (weft_request_object *) ((char *) object - offsetof(weft_request_object, std));
}

#define THIS weft_request_of(Z_OBJ_P(ZEND_THIS))

/* One field of a parsed array, or the array. */
void weft_request_pick(zval *return_value, zval *array, zend_string *name, zval *fallback);
void weft_request_forget(weft_request_object *object);

#define NAME_AND_DEFAULT(name, fallback) \
	zend_string *name = NULL; \
	zval *fallback = NULL; \
	ZEND_PARSE_PARAMETERS_START(0, 2) \
		Z_PARAM_OPTIONAL \
		Z_PARAM_STR_OR_NULL(name) \
		Z_PARAM_ZVAL(fallback) \
	ZEND_PARSE_PARAMETERS_END()

#endif
