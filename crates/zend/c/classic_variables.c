/* What PHP is told about a request in classic mode: SG(request_info) and $_SERVER, as php-fpm behind nginx would set
 * them (nginx's fastcgi_params, RFC 3875).
 *
 * Invariant: everything to which PHP may keep a pointer is copied first, because the host's slices are invalid once
 * the coroutine parks. */
#include "classic_variables.h"
#include "classic_response.h"
#include "classic_state.h"
#include "coroutine.h"
#include "delegation.h"
#include "host.h"
#include "lines.h"
#include "superglobals.h"

/* A copy that lives as long as the request; NULL for an empty slice, or if there is no memory. */
char *weft_classic_keep(weft_classic *classic, weft_slice value)
{
	if (!value.bytes || classic->kept_count == KEPT_MAX) {
		return NULL;
	}
	char *copy = strndup(value.bytes, value.length);
	if (copy) {
		classic->kept[classic->kept_count++] = copy;
	}
	return copy;
}

static char *field(weft_coroutine *coroutine, uint32_t which)
{
	return weft_classic_keep(weft_classic_of(coroutine), weft_host_field(coroutine->request, which));
}

/* Fills SG(request_info) for php_request_startup(). false: the body has failed, and its client has been told. */
bool weft_classic_tell(weft_coroutine *coroutine)
{
	weft_classic *classic = weft_classic_of(coroutine);
	uint64_t request = coroutine->request;
	int64_t length = weft_host_body_wait(request);
	if (length < 0) {
		weft_classic_refuse(coroutine, length == -WEFT_CLIENT_GONE ? 400 : (uint32_t) -length);
		return false;
	}
	classic->root = field(coroutine, WEFT_FIELD_ROOT);
	classic->script_name = field(coroutine, WEFT_FIELD_SCRIPT_NAME);
	classic->path_info = field(coroutine, WEFT_FIELD_PATH_INFO);
	memset(&SG(request_info), 0, sizeof(SG(request_info)));
	SG(request_info).request_method = field(coroutine, WEFT_FIELD_METHOD);
	char *query = field(coroutine, WEFT_FIELD_QUERY);
	SG(request_info).query_string = query ? query : weft_classic_keep(classic, weft_slice_text(""));
	SG(request_info).request_uri = classic->script_name;
	SG(request_info).path_translated = field(coroutine, WEFT_FIELD_SCRIPT);
	SG(request_info).content_type = weft_classic_keep(classic, weft_first_header(request, "content-type"));
	SG(request_info).content_length = (zend_long) length;
	if (UNEXPECTED(classic->delegation.count)) {
		weft_delegation_tell(classic);
	}
	SG(sapi_headers).http_response_code = 200;
	SG(server_context) = coroutine;
	char *authorization = weft_classic_keep(classic, weft_first_header(request, "authorization"));
	php_handle_auth_data(authorization);
	bool complete = classic->root && classic->script_name && SG(request_info).path_translated && SG(request_info).request_method;
	if (!complete) {
		weft_classic_refuse(coroutine, 500);
	}
	return complete;
}

/* sapi_module.read_cookies: all Cookie lines, joined into one. */
char *weft_classic_cookies(void)
{
	smart_str cookies = {0};
	weft_join_cookies(weft_current->request, &cookies);
	char *kept = cookies.s ? weft_classic_keep(weft_classic_of(weft_current), weft_slice_of(cookies.s)) : NULL;
	smart_str_free(&cookies);
	return kept;
}

/* sapi_module.get_request_time: when the request arrived, not when PHP started on it. */
zend_result weft_classic_time(double *time)
{
	*time = weft_current ? weft_host_time(weft_current->request) : 0;
	return *time > 0 ? SUCCESS : FAILURE;
}

/* ---- $_SERVER ---- */

static void (*import_environment)(zval *array);

/* Through the input filter, which saves the values that filter_input(INPUT_SERVER) reads. */
static void add(zval *array, const char *name, weft_slice value)
{
	char *copy = estrndup(value.bytes ? value.bytes : "", value.length);
	size_t length = value.length;
	int into = array == &PG(http_globals)[TRACK_VARS_SERVER] ? PARSE_SERVER
		: array == &PG(http_globals)[TRACK_VARS_ENV] ? PARSE_ENV : PARSE_STRING;
	if (sapi_module.input_filter(into, name, &copy, value.length, &length)) {
		php_register_variable_safe(name, copy, length, array);
	}
	efree(copy);
}

/* The script and the part of the URL after it, of any length. */
static zend_string *self_of(const weft_classic *classic)
{
	const char *path_info = classic->path_info ? classic->path_info : "";
	return zend_string_concat2(classic->script_name, strlen(classic->script_name), path_info, strlen(path_info));
}

/* A CGI script has these as its environment, so $_ENV and getenv() return them as well, as under php-fpm. The
 * process's own variables come first, so that none of them hides what the server sets. */
static void import(zval *array)
{
	weft_coroutine *coroutine = weft_current;
	import_environment(array);
	if (!coroutine || !weft_classic_of(coroutine)) {
		return;
	}
	weft_classic *classic = weft_classic_of(coroutine);
	uint64_t request = coroutine->request;
	char protocol[16];
	const char *path_info = classic->path_info ? classic->path_info : "";
	weft_slice version = weft_host_field(request, WEFT_FIELD_VERSION);
	snprintf(protocol, sizeof(protocol), "HTTP/%.*s", (int) version.length, version.bytes);
	add(array, "SCRIPT_FILENAME", weft_slice_text(SG(request_info).path_translated));
	add(array, "PATH_INFO", weft_slice_text(path_info));
	add(array, "QUERY_STRING", weft_slice_text(SG(request_info).query_string));
	add(array, "REQUEST_METHOD", weft_slice_text(SG(request_info).request_method));
	add(array, "CONTENT_TYPE", weft_slice_text("")); /* those that were sent come with the headers */
	add(array, "CONTENT_LENGTH", weft_slice_text(""));
	add(array, "SCRIPT_NAME", weft_slice_text(classic->script_name));
	add(array, "REQUEST_URI", weft_host_field(request, WEFT_FIELD_TARGET));
	add(array, "DOCUMENT_URI", weft_slice_text(classic->script_name)); /* try_files has made it the script's */
	add(array, "DOCUMENT_ROOT", weft_slice_text(classic->root));
	add(array, "SERVER_PROTOCOL", weft_slice_text(protocol));
	add(array, "GATEWAY_INTERFACE", weft_slice_text("CGI/1.1"));
	add(array, "SERVER_SOFTWARE", weft_slice_text("weft/" WEFT_VERSION));
	weft_connection_variables(request, array, add);
	weft_slice user = weft_host_field(request, WEFT_FIELD_USER);
	add(array, "REMOTE_USER", user.bytes ? user : weft_slice_text("")); /* RFC 3875 section 4.1.11 */
	add(array, "REDIRECT_STATUS", weft_slice_text("200"));
	weft_header_variables(request, array, add);
	if (UNEXPECTED(weft_first_header(request, "transfer-encoding").bytes)) { /* the whole body is here */
		char length[24];
		snprintf(length, sizeof(length), ZEND_LONG_FMT, (zend_long) SG(request_info).content_length);
		add(array, "CONTENT_LENGTH", weft_slice_text(length));
	}
	if (UNEXPECTED(classic->delegation.count)) { /* the body belonged to the first script */
		add(array, "CONTENT_TYPE", weft_slice_text(""));
		add(array, "CONTENT_LENGTH", weft_slice_text(""));
	}
}

/* Called after PHP's start, which sets the hook. */
void weft_classic_import(void)
{
	import_environment = php_import_environment_variables;
	php_import_environment_variables = import;
}

/* sapi_module.register_server_variables */
void weft_classic_variables(zval *array)
{
	php_import_environment_variables(array);
	weft_classic *classic = weft_current ? weft_classic_of(weft_current) : NULL;
	char *script = SG(request_info).path_translated;
	if (!classic && script) { /* a worker script boots */
		add(array, "SCRIPT_FILENAME", weft_slice_text(script));
		add(array, "SCRIPT_NAME", weft_slice_text(script));
		add(array, "PHP_SELF", weft_slice_text(script));
	}
	if (classic) {
		zend_string *self = self_of(classic);
		add(array, "PHP_SELF", weft_slice_of(self));
		zend_string_release(self);
	}
}

/* sapi_module.getenv: getenv('REMOTE_ADDR') and similar. PHP itself finds the current variables of the process. */
char *weft_classic_getenv(const char *name, size_t length)
{
	if (!weft_current || !weft_classic_of(weft_current) || getenv(name)) {
		return NULL;
	}
	zend_is_auto_global(ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_SERVER));
	zval *server = &PG(http_globals)[TRACK_VARS_SERVER];
	zval *value = Z_TYPE_P(server) == IS_ARRAY ? zend_hash_str_find(Z_ARRVAL_P(server), name, length) : NULL;
	return value && Z_TYPE_P(value) == IS_STRING ? Z_STRVAL_P(value) : NULL;
}
