/* A delegated response: a script answers with a header, and weft sends something else instead. X-Sendfile names a file
 * in a directory that the operator has configured. X-Accel-Redirect names another URL of the document root, which
 * answers as if the client had requested it (nginx's internal redirection). Both are off unless the operator enables
 * them, because a script may pass on headers from other sources. A header that is off is an ordinary header.
 *
 * A redirection to a script runs it in the same PHP after the first one has ended: as GET or HEAD, without a body,
 * with REQUEST_URI as the client sent it, as under nginx. Invariants: a header that is obeyed never reaches a client;
 * a request runs at most REDIRECTS_MAX scripts after its first; header lines that are carried over live until the
 * request ends. */
#include "delegation.h"
#include "classic_state.h"
#include "coroutine.h"
#include "host.h"

#include <stdio.h>

/* As nginx: ten internal redirections, then 500. */
#define REDIRECTS_MAX 10
_Static_assert(sizeof(((weft_delegation *) 0)->old_lines) / sizeof(char *) >= REDIRECTS_MAX, "each keeps its lines");

/* What Response::file() delegates is the application's own word: no header that passes through it says it. */
#define OWN_FILE "a file of a Response"

ZEND_FUNCTION(Weft_Internal_response_file)
{
	zend_string *path;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_PATH_STR(path)
	ZEND_PARSE_PARAMETERS_END();
	weft_classic *classic = weft_current ? weft_classic_of(weft_current) : NULL;
	char *line = NULL;
	if (!classic || asprintf(&line, OWN_FILE ":%s", ZSTR_VAL(path)) < 0) {
		zend_throw_error(NULL, "No request is running");
		RETURN_THROWS();
	}
	free(classic->own_file);
	classic->own_file = classic->sendfile = line;
}

/* Reported once per worker for each of the two, because a script that relies on it sends empty pages. */
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

/* Whether this header is only for the server. */
bool weft_delegation_takes(weft_classic *classic, weft_header header)
{
	bool accel = header.name.length > 8 && !strncasecmp(header.name.bytes, "X-Accel-", 8);
	if (EXPECTED(!accel && !weft_slice_is(header.name, "X-Sendfile"))) {
		return false;
	}
	uint32_t which = accel ? WEFT_ACCEL_REDIRECT : WEFT_SENDFILE;
	bool delegates = !accel || weft_slice_is(header.name, "X-Accel-Redirect");
	bool on = weft_host_delegations(weft_current->request) & which;
	if (on && delegates) {
		classic->sendfile = (char *) header.name.bytes;
	} else if (delegates) {
		tell_off(header.name, which);
	}
	return on;
}

/* Which of the script's headers stay: all for X-Sendfile, nginx's list for X-Accel-Redirect
 * (ngx_http_upstream_headers_in). The type that PHP adds by default is not that of the file. */
static bool stays(weft_slice name, weft_slice value, bool redirect)
{
	static const char *const kept[] = {"Content-Type", "Set-Cookie", "Content-Disposition", "Cache-Control", "Expires", "Accept-Ranges"};
	if (weft_slice_is(name, "Content-Type") && !strncmp(value.bytes, "text/html", 9)) {
		return false;
	}
	for (size_t i = 0; redirect && i < sizeof(kept) / sizeof(*kept); i++) {
		if (weft_slice_is(name, kept[i])) {
			return true;
		}
	}
	return !redirect;
}

static void report(weft_coroutine *coroutine, weft_slice name, const char *value, uint32_t status)
{
	char line[PATH_MAX + 256];
	const char *why = status == 500 ? "it was redirected too often, or the file cannot be read"
		: weft_slice_is(name, OWN_FILE) ? "it names a file that cannot be sent"
		: weft_slice_is(name, "X-Sendfile") ? "there is no such file in the directories that sendfile names"
		: "no file or script answers this path";
	snprintf(line, sizeof(line), "%.*s: %s: %s", (int) name.length, name.bytes, value, why);
	weft_host_log(WEFT_LOG_ERROR, coroutine->request, weft_slice_text(line));
}

/* Sends what the header names as the response. A script runs later: weft_delegation_next(). */
uint32_t weft_delegation_answer(weft_coroutine *coroutine)
{
	weft_classic *classic = weft_classic_of(coroutine);
	weft_delegation *delegation = &classic->delegation;
	char *value = strchr(classic->sendfile, ':');
	weft_slice name = {classic->sendfile, (size_t) (value - classic->sendfile)};
	value += 1 + strspn(value + 1, " \t");
	bool redirect = weft_slice_is(name, "X-Accel-Redirect"), own = classic->sendfile == classic->own_file;
	size_t kept = 0;
	for (size_t i = 0; i < classic->headers_count; i++) {
		if (stays(classic->headers[i].name, classic->headers[i].value, redirect)) {
			classic->headers[kept++] = classic->headers[i];
		}
	}
	classic->headers_count = kept;
	uint32_t status = delegation->count >= REDIRECTS_MAX ? 500
		: own ? weft_host_respond_file(coroutine->request, classic->status, classic->headers, kept, weft_slice_text(value))
		: redirect ? weft_host_redirect(coroutine->request, classic->headers, kept, weft_slice_text(value))
		: weft_host_send_file(coroutine->request, classic->status, classic->headers, kept, weft_slice_text(value));
	if (status == WEFT_RUN_SCRIPT) {
		char *query = strchr(value, '?');
		free(delegation->query);
		delegation->query = strdup(query ? query + 1 : "");
		delegation->pending = true;
		return 0;
	}
	if (status) {
		report(coroutine, name, value, status);
	}
	return status;
}

bool weft_delegation_next(weft_classic *classic, weft_delegation *next)
{
	if (EXPECTED(!classic->delegation.pending)) {
		return false;
	}
	*next = classic->delegation;
	free(next->carried);
	next->carried = classic->headers;
	next->carried_count = classic->headers_count;
	next->old_lines[next->count++] = classic->lines;
	next->pending = false;
	classic->headers = NULL;
	classic->lines = NULL;
	memset(&classic->delegation, 0, sizeof(classic->delegation));
	return true;
}

/* SG(request_info) of a script to which another one redirected. */
void weft_delegation_tell(weft_classic *classic)
{
	const char *method = SG(request_info).request_method;
	SG(request_info).request_method = method && !strcmp(method, "HEAD") ? "HEAD" : "GET";
	SG(request_info).query_string = classic->delegation.query;
	SG(request_info).content_type = NULL;
	SG(request_info).content_length = 0;
}

/* The headers of earlier scripts remain unless this one sets them itself; cookies always remain. */
void weft_delegation_carry(weft_classic *classic, size_t headers_max)
{
	size_t own = classic->headers_count;
	for (size_t i = 0; i < classic->delegation.carried_count && classic->headers_count < headers_max; i++) {
		weft_header carried = classic->delegation.carried[i];
		bool said = false;
		for (size_t k = 0; k < own && !said; k++) {
			weft_slice name = classic->headers[k].name;
			said = name.length == carried.name.length && !zend_binary_strcasecmp(name.bytes, name.length, carried.name.bytes, name.length);
		}
		if (!said || weft_slice_is(carried.name, "Set-Cookie")) {
			classic->headers[classic->headers_count++] = carried;
		}
	}
}

void weft_delegation_free(weft_delegation *delegation)
{
	for (size_t i = 0; i < delegation->count; i++) {
		free(delegation->old_lines[i]);
	}
	free(delegation->carried);
	free(delegation->query);
}
