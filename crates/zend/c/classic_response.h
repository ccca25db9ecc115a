/* classic_response.c: PHP's answer in classic mode. */
#ifndef WEFT_CLASSIC_RESPONSE_H
#define WEFT_CLASSIC_RESPONSE_H

#include "classic_state.h"

void weft_host_stream_at_pace(uint64_t request);

int weft_classic_send_headers(sapi_headers_struct *headers);
size_t weft_classic_write(const char *bytes, size_t length);
void weft_classic_flush(void *context);
void weft_classic_send_head(void);
bool weft_classic_hint(weft_coroutine *coroutine);
void weft_classic_finish(weft_coroutine *coroutine);
void weft_classic_refuse(weft_coroutine *coroutine, uint32_t status);
void weft_classic_abandon(weft_coroutine *coroutine);
void weft_classic_free(weft_classic *classic);

#endif
