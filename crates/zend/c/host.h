/* src/host.rs: the questions of the C side to the server. */
#ifndef WEFT_HOST_H
#define WEFT_HOST_H

#include "weft.h"

weft_slice weft_host_field(uint64_t request, uint32_t field);
weft_slice weft_host_fpm_status(void); /* as JSON; valid until the next question */
double weft_host_time(uint64_t request);
bool weft_host_aborted(uint64_t request);
/* Reads the body at an offset; parks until there is data. 0 is the end; a negative value is a failure: minus the
 * status to answer with (400 malformed, 408 too slow, 413 too large, 499 the client has disconnected). */
int64_t weft_host_body_read(uint64_t request, uint64_t offset, char *buffer, size_t size);
/* Parks until the whole body has arrived: returns its length, or a failure as above. */
int64_t weft_host_body_wait(uint64_t request);
/* Keeps the head of a request for an object that outlives it, and releases it. */
void weft_host_detach(uint64_t request);
void weft_host_release(uint64_t request);

bool weft_host_respond(uint64_t request, uint32_t status, const weft_header *headers, size_t count, weft_slice body); /* parks as below */
/* 0, or the status (403, 404) that says why the file cannot be sent. */
uint32_t weft_host_respond_file(uint64_t request, uint32_t status, const weft_header *headers, size_t count, weft_slice path);
bool weft_host_stream_start(uint64_t request, uint32_t status, const weft_header *headers, size_t count);
/* Parks while the client is too slow. false: the client has disconnected. */
bool weft_host_stream_write(uint64_t request, weft_slice chunk);
void weft_host_stream_end(uint64_t request, const weft_header *trailers, size_t count, bool failed);
bool weft_host_early_hints(uint64_t request, const weft_header *headers, size_t count);

void weft_host_log(uint32_t level, uint64_t request, weft_slice message);
void weft_host_output(weft_slice bytes);
/* PHP is damaged after a fatal error: finish the requests in flight, then replace this worker. */
void weft_host_replace(weft_slice reason);
/* The status of a cancelled request: 504 if it ran too long, 503 if its worker ends. */
uint32_t weft_host_cancel_status(void);

#endif
