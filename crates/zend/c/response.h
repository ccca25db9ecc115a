/* response.c: a handler's return value, as a response. */
#ifndef WEFT_RESPONSE_H
#define WEFT_RESPONSE_H

#include "coroutine.h"

/* The progress of the request's response. */
typedef struct {
	smart_str output; /* output that was not passed to the server yet */
	bool streaming;   /* headers are sent; output goes to the stream */
	bool answered;    /* it only remains to free what the request owned */
} weft_response;

WEFT_SLOT(response, weft_response)

typedef struct {
	weft_header list[WEFT_HEADERS_MAX];
	size_t count;
	bool content_type;
	bool full;
} weft_headers;

void weft_response_start(void);
void weft_response_flush(weft_coroutine *coroutine);
weft_headers *weft_new_headers(void);
uint32_t weft_php_status(void);
void weft_respond(weft_coroutine *coroutine, uint32_t status, weft_headers *with, weft_slice body);
void weft_respond_text(weft_coroutine *coroutine, uint32_t status, const char *text);
void weft_respond_value(weft_coroutine *coroutine, zval *value);

#endif
