/* Between the files that answer a request: response.c makes responses, outcome.c ends what went wrong, handler.c runs the
 * application's handler. Not for anybody else. */
#ifndef WEFT_RESPONSE_H
#define WEFT_RESPONSE_H

#include "weft.h"

typedef struct {
	weft_header list[WEFT_HEADERS_MAX];
	size_t count;
	bool content_type;
	bool full;
} weft_headers;

/* response.c */
void weft_response_start(void);
weft_headers *weft_new_headers(void);
uint32_t weft_php_status(void);
void weft_respond(weft_coroutine *coroutine, uint32_t status, weft_headers *with, weft_slice body);
void weft_respond_text(weft_coroutine *coroutine, uint32_t status, const char *text);
void weft_respond_value(weft_coroutine *coroutine, zval *value);

/* outcome.c */
void weft_finish_script(weft_coroutine *coroutine);
void weft_settle(weft_coroutine *coroutine);
void weft_settle_bailout(weft_coroutine *coroutine);
void weft_run_shutdown_functions(void);
void weft_settle_late_bailout(weft_coroutine *coroutine);
void weft_respond_plain(weft_coroutine *coroutine);

#endif
