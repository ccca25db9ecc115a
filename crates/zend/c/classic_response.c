/* PHP's answer in classic mode, on its way to the client.
 *
 * Output is kept until the script ends, so that it is sent in one piece with its length. If it exceeds
 * OUTPUT_BYTES_MAX or the script calls flush(), it is streamed from then on. Invariants: the head is copied when PHP
 * sends it, because PHP frees its own before the response has ended; memory comes from malloc, because PHP's heap ends
 * with the request; the request is answered once. */
#include "classic_response.h"
#include "classic_state.h"
#include "coroutine.h"
#include "delegation.h"
#include "host.h"
#include "php/version.h"

/* The maximum of output that waits for the end of the script. */
#define OUTPUT_BYTES_MAX (64 * 1024)

/* "Name: value" as two slices of `line`. false: it is not a header. */
static bool split(char *line, weft_header *header)
{
	char *colon = strchr(line, ':');
	if (!colon) {
		return false;
	}
	header->name = (weft_slice){line, (size_t) (colon - line)};
	for (colon++; *colon == ' ' || *colon == '\t'; colon++) {
	}
	header->value = weft_slice_text(colon);
	return true;
}

/* Takes the headers that are for the server, not for the client. */
static bool take(weft_classic *classic, weft_header header)
{
	if (weft_slice_is(header.name, "Status")) { /* the status in CGI's form (RFC 3875 section 6.3.3) */
		int status = atoi(header.value.bytes);
		if (status >= 200 && status <= 599) {
			classic->status = (uint32_t) status;
		}
		return true;
	}
	if (weft_slice_is(header.name, "X-Accel-Buffering")) {
		classic->at_pace = weft_slice_is(header.value, "no");
	}
	return weft_delegation_takes(classic, header);
}

/* sapi_module.send_headers: saves status and header lines; the client gets them with the first bytes of the body. */
int weft_classic_send_headers(sapi_headers_struct *headers)
{
	weft_classic *classic = weft_current ? weft_classic_of(weft_current) : NULL;
	if (!classic || classic->sent) {
		return SAPI_HEADER_SENT_SUCCESSFULLY;
	}
	size_t bytes = 1;
	zend_llist_position position;
	sapi_header_struct *line = zend_llist_get_first_ex(&headers->headers, &position);
	for (; line; line = zend_llist_get_next_ex(&headers->headers, &position)) {
		bytes += line->header_len + 1;
	}
	classic->lines = malloc(bytes);
	classic->headers = malloc(sizeof(weft_header) * WEFT_HEADERS_MAX);
	if (!classic->lines || !classic->headers) {
		return SAPI_HEADER_SEND_FAILED;
	}
	int status = headers->http_response_code;
	classic->status = status >= 200 && status <= 599 ? (uint32_t) status : 200;
	char *to = classic->lines;
	line = zend_llist_get_first_ex(&headers->headers, &position);
	for (; line; line = zend_llist_get_next_ex(&headers->headers, &position)) {
		weft_header header;
		memcpy(to, line->header, line->header_len);
		to[line->header_len] = 0;
		bool content = status != 304 || !weft_slice_is((weft_slice){to, strcspn(to, ":")}, "Content-Type"); /* RFC 9110 section 15.4.5 */
		if (content && split(to, &header) && !take(classic, header)) {
			if (classic->headers_count < WEFT_HEADERS_MAX) {
				classic->headers[classic->headers_count++] = header;
			} else {
				weft_host_log(WEFT_LOG_ERROR, weft_current->request,
					weft_slice_text("a response has more than 256 header lines; its client gets a 500"));
				classic->status = 500;
				classic->headers_count = 0;
			}
		}
		to += line->header_len + 1;
	}
	if (UNEXPECTED(classic->delegation.carried_count)) {
		weft_delegation_carry(classic, WEFT_HEADERS_MAX);
	}
	classic->sent = true;
	return SAPI_HEADER_SENT_SUCCESSFULLY;
}

/* The server's own status, if it cancelled the request and PHP could only make it a 500. */
static uint32_t status_of(weft_coroutine *coroutine)
{
	uint32_t status = weft_classic_of(coroutine)->status;
	return UNEXPECTED(coroutine->cancelled && status == 500) ? weft_host_cancel_status() : status;
}

static bool begin(weft_coroutine *coroutine)
{
	weft_classic *classic = weft_classic_of(coroutine);
	classic->begun = true;
	bool started = weft_host_stream_start(coroutine->request, status_of(coroutine), classic->headers, classic->headers_count);
	if (classic->at_pace) {
		weft_host_stream_at_pace(coroutine->request);
	}
	return started;
}

static bool stream(weft_coroutine *coroutine, const char *bytes, size_t length)
{
	return length == 0 || weft_host_stream_write(coroutine->request, (weft_slice){bytes, length});
}

/* Sends what is kept. false: the client has disconnected. */
static bool let_out(weft_coroutine *coroutine)
{
	weft_classic *classic = weft_classic_of(coroutine);
	size_t length = classic->output_bytes;
	classic->output_bytes = 0;
	return (classic->begun || begin(coroutine)) && stream(coroutine, classic->output, length);
}

/* Keeps output for the end. false: there is too much of it. */
static bool keep(weft_classic *classic, const char *bytes, size_t length)
{
	size_t needed = classic->output_bytes + length;
	if (needed > OUTPUT_BYTES_MAX) {
		return false;
	}
	if (needed > classic->output_room) {
		size_t room = needed < 4096 ? 4096 : needed * 2;
		char *grown = realloc(classic->output, room);
		if (!grown) {
			return false;
		}
		classic->output = grown;
		classic->output_room = room;
	}
	memcpy(classic->output + classic->output_bytes, bytes, length);
	classic->output_bytes = needed;
	return true;
}

/* sapi_module.ub_write */
size_t weft_classic_write(const char *bytes, size_t length)
{
	weft_coroutine *coroutine = weft_current;
	weft_classic *classic = coroutine ? weft_classic_of(coroutine) : NULL;
	if (!classic) {
		weft_host_output((weft_slice){bytes, length});
		return length;
	}
	if (classic->finished || classic->sendfile) {
		return length;
	}
	if (!classic->begun && keep(classic, bytes, length)) {
		return length;
	}
	if (!let_out(coroutine) || !stream(coroutine, bytes, length)) {
		php_handle_aborted_connection(); /* it does not return unless ignore_user_abort is on */
	}
	return length;
}

/* sapi_module.flush: flush() in the script. It sends what PHP has handed over. Before PHP 8.4 that is nothing while PHP's own
 * buffers hold all output, and header() still works; since then it is the head. Both are as under php-fpm. */
void weft_classic_flush(void *context)
{
	(void) context;
	weft_classic *classic = weft_current ? weft_classic_of(weft_current) : NULL;
	if (!classic || classic->finished || PG(connection_status) == PHP_CONNECTION_ABORTED) {
		return;
	}
	weft_flush_head();
	if (!classic->sent) {
		return;
	}
	if (!classic->sendfile && !let_out(weft_current)) {
		php_handle_aborted_connection();
	}
}

/* Sends the head, and what PHP has handed over. */
void weft_classic_send_head(void)
{
	sapi_send_headers();
	weft_classic_flush(NULL);
}

/* 103 Early Hints with the fields that header() has set so far (RFC 8297). false: no longer possible. */
bool weft_classic_hint(weft_coroutine *coroutine)
{
	weft_header lines[16];
	char text[16][512];
	size_t count = 0;
	zend_llist_position position;
	sapi_header_struct *line = zend_llist_get_first_ex(&SG(sapi_headers).headers, &position);
	for (; line && count < 16; line = zend_llist_get_next_ex(&SG(sapi_headers).headers, &position)) {
		if (line->header_len < sizeof(*text)) {
			memcpy(text[count], line->header, line->header_len);
			text[count][line->header_len] = 0;
			count += split(text[count], &lines[count]);
		}
	}
	return weft_host_early_hints(coroutine->request, lines, count);
}

/* Answers a request that PHP does not answer. */
void weft_classic_refuse(weft_coroutine *coroutine, uint32_t status)
{
	static const weft_header plain[] = {{{"Content-Type", 12}, {"text/plain; charset=utf-8", 25}}};
	char page[64];
	snprintf(page, sizeof(page), "%u %s\n", status, status == 404 ? "Not Found" : status == 403 ? "Forbidden"
		: status == 413 ? "Content Too Large" : status == 408 ? "Request Timeout" : status == 400 ? "Bad Request"
		: status == 503 ? "Service Unavailable" : status == 504 ? "Gateway Timeout" : "Internal Server Error");
	weft_host_respond(coroutine->request, status, plain, 1, weft_slice_text(page));
	weft_classic_of(coroutine)->finished = true;
}

/* The response is complete: PHP has ended, or fastcgi_finish_request() was called. */
void weft_classic_finish(weft_coroutine *coroutine)
{
	weft_classic *classic = weft_classic_of(coroutine);
	if (classic->finished) {
		return;
	}
	if (!classic->sent) { /* not even its head: PHP could not begin or end this request */
		weft_classic_refuse(coroutine, coroutine->cancelled ? weft_host_cancel_status() : 500);
	} else if (classic->begun) {
		bool whole = let_out(coroutine);
		weft_host_stream_end(coroutine->request, NULL, 0, !whole || coroutine->cancelled);
	} else if (classic->sendfile) {
		uint32_t refused = weft_delegation_answer(coroutine);
		if (refused) {
			weft_classic_refuse(coroutine, refused);
		}
	} else if (SG(request_info).headers_only && begin(coroutine)) { /* HEAD: the length of the body is unknown */
		weft_host_stream_end(coroutine->request, NULL, 0, false);
	} else {
		weft_host_respond(coroutine->request, status_of(coroutine), classic->headers, classic->headers_count,
			(weft_slice){classic->output, classic->output_bytes});
	}
	classic->finished = true;
}

/* PHP is lost in the middle of a request: the part that its client has not received is a failure. Frees the request's
 * memory outside of PHP. */
void weft_classic_abandon(weft_coroutine *coroutine)
{
	weft_classic *classic = weft_classic_of(coroutine);
	if (classic && !classic->finished && classic->begun) {
		weft_host_stream_end(coroutine->request, NULL, 0, true);
	} else if (classic && !classic->finished) {
		weft_classic_refuse(coroutine, 500);
	}
	if (classic) {
		weft_classic_free(classic);
	}
	if (coroutine->request) {
		weft_host_release(coroutine->request);
	}
}

void weft_classic_free(weft_classic *classic)
{
	for (size_t i = 0; i < classic->kept_count; i++) {
		free(classic->kept[i]);
	}
	weft_delegation_free(&classic->delegation);
	free(classic->own_file);
	free(classic->lines);
	free(classic->headers);
	free(classic->output);
}
