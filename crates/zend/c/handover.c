/* A response that something else gives: X-Sendfile a file of a directory that the operator has named, X-Accel-Redirect another URL
 * of the document root, as if the client had asked for it (nginx's internal redirection). Neither is on unless the operator
 * says so, as a script may pass on what others have written; a header that is off is like any other.
 *
 * A redirection to a script runs it when the first one has ended, in the same PHP: GET or HEAD, without a body, REQUEST_URI
 * as the client sent it, as under nginx. Invariants: a header that is obeyed reaches no client; a request runs REDIRECTS_MAX
 * scripts at most after its first; lines that are carried on live until the request ends. */
#include "classic.h"

#include <stdio.h>

/* As nginx: ten internal redirections, then 500. */
#define REDIRECTS_MAX 10
_Static_assert(sizeof(((weft_handover *) 0)->old_lines) / sizeof(char *) >= REDIRECTS_MAX, "each keeps its lines");

static bool named(weft_slice name, const char *wanted)
{
	size_t length = strlen(wanted);
	return name.length == length && zend_binary_strcasecmp(name.bytes, length, wanted, length) == 0;
}

/* What Response::file() hands over is the application's own word: no header that passes through it says it. */
#define OWN_FILE "a file of a Response"

ZEND_FUNCTION(Weft_Internal_response_file)
{
	zend_string *path;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_PATH_STR(path)
	ZEND_PARSE_PARAMETERS_END();
	weft_classic *classic = weft_current ? weft_current->classic : NULL;
	char *line = NULL;
	if (!classic || asprintf(&line, OWN_FILE ":%s", ZSTR_VAL(path)) < 0) {
		zend_throw_error(NULL, "No request is running");
		RETURN_THROWS();
	}
	free(classic->own_file);
	classic->own_file = classic->sendfile = line;
}

/* Once in a worker for each of the two: a script that relies on it sends empty pages. */
static void tell_off(weft_slice name, uint32_t which)
{
	static uint32_t told;
	if (!(told & which)) {
		told |= which;
		char line[256];
		snprintf(line, sizeof(line), "a script has answered with %.*s, which is off: it goes to the client like any header; %s has it obeyed",
			(int) name.length, name.bytes, which == WEFT_SENDFILE ? "--sendfile DIRECTORY" : "--accel-redirect");
		weft_host_log(WEFT_LOG_WARNING, weft_current->request, weft_slice_text(line));
	}
}

/* Whether this header is for the server alone. */
bool weft_handover_takes(weft_classic *classic, weft_header header)
{
	bool accel = header.name.length > 8 && !strncasecmp(header.name.bytes, "X-Accel-", 8);
	if (EXPECTED(!accel && !named(header.name, "X-Sendfile"))) {
		return false;
	}
	uint32_t which = accel ? WEFT_ACCEL_REDIRECT : WEFT_SENDFILE;
	bool hands_over = !accel || named(header.name, "X-Accel-Redirect");
	bool on = weft_host_handovers() & which;
	if (on && hands_over) {
		classic->sendfile = (char *) header.name.bytes;
	} else if (hands_over) {
		tell_off(header.name, which);
	}
	return on;
}

/* What of the script's headers stays: all for X-Sendfile, nginx's list for X-Accel-Redirect (ngx_http_upstream_headers_in). The
 * type that PHP adds by default is not the file's. */
static bool stays(weft_slice name, weft_slice value, bool redirect)
{
	static const char *const kept[] = {"Content-Type", "Set-Cookie", "Content-Disposition", "Cache-Control", "Expires", "Accept-Ranges"};
	if (named(name, "Content-Type") && !strncmp(value.bytes, "text/html", 9)) {
		return false;
	}
	for (size_t i = 0; redirect && i < sizeof(kept) / sizeof(*kept); i++) {
		if (named(name, kept[i])) {
			return true;
		}
	}
	return !redirect;
}

static void refuse(weft_coroutine *coroutine, weft_slice name, const char *value, uint32_t status)
{
	char line[PATH_MAX + 256];
	const char *why = status == 500 ? "it was redirected too often, or the file cannot be read"
		: named(name, OWN_FILE) ? "it names a file that cannot be sent"
		: named(name, "X-Sendfile") ? "there is no such file in the directories that sendfile names"
		: "no file or script answers this path";
	snprintf(line, sizeof(line), "%.*s: %s: %s", (int) name.length, name.bytes, value, why);
	weft_host_log(WEFT_LOG_ERROR, coroutine->request, weft_slice_text(line));
	weft_classic_refuse(coroutine, status);
}

/* The response is what the header names. A script runs later: weft_handover_next(). */
void weft_handover_answer(weft_coroutine *coroutine)
{
	weft_classic *classic = coroutine->classic;
	weft_handover *handover = &classic->handover;
	char *value = strchr(classic->sendfile, ':');
	weft_slice name = {classic->sendfile, (size_t) (value - classic->sendfile)};
	value += 1 + strspn(value + 1, " \t");
	bool redirect = named(name, "X-Accel-Redirect"), own = classic->sendfile == classic->own_file;
	size_t kept = 0;
	for (size_t i = 0; i < classic->headers_count; i++) {
		if (stays(classic->headers[i].name, classic->headers[i].value, redirect)) {
			classic->headers[kept++] = classic->headers[i];
		}
	}
	classic->headers_count = kept;
	uint32_t status = handover->count >= REDIRECTS_MAX ? 500
		: own ? weft_host_respond_file(coroutine->request, classic->status, classic->headers, kept, weft_slice_text(value))
		: redirect ? weft_host_redirect(coroutine->request, classic->headers, kept, weft_slice_text(value))
		: weft_host_send_file(coroutine->request, classic->status, classic->headers, kept, weft_slice_text(value));
	if (status == WEFT_RUN_SCRIPT) {
		char *query = strchr(value, '?');
		free(handover->query);
		handover->query = strdup(query ? query + 1 : "");
		handover->pending = true;
	} else if (status) {
		refuse(coroutine, name, value, status);
	}
}

/* Makes the request ready for the script that was named. false: none was. */
bool weft_handover_next(weft_coroutine *coroutine)
{
	weft_classic *classic = coroutine->classic;
	if (EXPECTED(!classic->handover.pending)) {
		return false;
	}
	weft_handover handover = classic->handover;
	free(handover.carried);
	handover.carried = classic->headers;
	handover.carried_count = classic->headers_count;
	handover.old_lines[handover.count++] = classic->lines;
	handover.pending = false;
	classic->headers = NULL;
	classic->lines = NULL;
	memset(&classic->handover, 0, sizeof(classic->handover));
	weft_classic_free(classic);
	memset(classic, 0, sizeof(*classic));
	classic->handover = handover;
	ZVAL_UNDEF(&coroutine->request_object); /* gone with PHP's heap */
	return true;
}

/* SG(request_info) of a script that was named by another. */
void weft_handover_tell(weft_classic *classic)
{
	const char *method = SG(request_info).request_method;
	SG(request_info).request_method = method && !strcmp(method, "HEAD") ? "HEAD" : "GET";
	SG(request_info).query_string = classic->handover.query;
	SG(request_info).content_type = NULL;
	SG(request_info).content_length = 0;
}

/* What the scripts before have said goes on, unless this one says it itself; cookies always. */
void weft_handover_carry(weft_classic *classic, size_t headers_max)
{
	size_t own = classic->headers_count;
	for (size_t i = 0; i < classic->handover.carried_count && classic->headers_count < headers_max; i++) {
		weft_header carried = classic->handover.carried[i];
		bool said = false;
		for (size_t k = 0; k < own && !said; k++) {
			weft_slice name = classic->headers[k].name;
			said = name.length == carried.name.length && !zend_binary_strcasecmp(name.bytes, name.length, carried.name.bytes, name.length);
		}
		if (!said || named(carried.name, "Set-Cookie")) {
			classic->headers[classic->headers_count++] = carried;
		}
	}
}

void weft_handover_free(weft_handover *handover)
{
	for (size_t i = 0; i < handover->count; i++) {
		free(handover->old_lines[i]);
	}
	free(handover->carried);
	free(handover->query);
}
