/* $_GET and the other superglobals in coroutine mode: each request has its own, at no cost unless the application
 * mentions them.
 *
 * The engine calls an auto global's callback when it compiles code that names it. Ours records that in memory shared
 * by all workers (opcache compiles once for all of them); from then on every request fills that superglobal. */
#include "superglobals.h"
#include "coroutine.h"
#include "form.h"
#include "host.h"
#include "lines.h"
#include "zend_compile.h"

static const char *const names[WEFT_SUPERGLOBALS] = {"_GET", "_POST", "_COOKIE", "_FILES", "_SERVER", "_REQUEST"};
static const int tracks[WEFT_SUPERGLOBALS] = {
	TRACK_VARS_GET, TRACK_VARS_POST, TRACK_VARS_COOKIE, TRACK_VARS_FILES, TRACK_VARS_SERVER, -1};
static zend_string *name_of[WEFT_SUPERGLOBALS];
static zend_auto_global_callback original[WEFT_SUPERGLOBALS];
static bool original_called[WEFT_SUPERGLOBALS];
static uint32_t *used;

/* The compiler has met the superglobal. */
static bool mentioned(zend_string *name)
{
	for (int i = 0; i < WEFT_SUPERGLOBALS; i++) {
		if (!zend_string_equals(name, name_of[i])) {
			continue;
		}
		__atomic_fetch_or(used, 1u << i, __ATOMIC_RELAXED);
		if (weft_current && weft_current->request) {
			weft_superglobals_fill(weft_current);
		} else if (!original_called[i] && original[i]) {
			original_called[i] = true;
			original[i](name);
		}
	}
	return true; /* stay armed: the next compilation asks again */
}

/* PHP itself is about to read these: they count as mentioned by the application. */
void weft_superglobals_need(uint32_t which)
{
	__atomic_fetch_or(used, which, __ATOMIC_RELAXED);
	if (weft_current && weft_current->request) {
		weft_superglobals_fill(weft_current);
	}
}

/* After php_request_startup, before any user code is compiled. */
void weft_superglobals_start(uint32_t *shared)
{
	used = shared;
	for (int i = 0; i < WEFT_SUPERGLOBALS; i++) {
		name_of[i] = zend_string_init_interned(names[i], strlen(names[i]), 1);
		zend_auto_global *global = zend_hash_find_ptr(CG(auto_globals), name_of[i]);
		original[i] = global->auto_global_callback;
		original_called[i] = !global->armed;
		global->auto_global_callback = mentioned;
		global->armed = true;
	}
	const char *preload = zend_ini_string(ZEND_STRL("opcache.preload"), 0), *files = zend_ini_string(ZEND_STRL("opcache.file_cache"), 0);
	if ((preload && *preload) || (files && *files)) {
		*used = (1u << WEFT_SUPERGLOBALS) - 1; /* compiled before we could check */
	}
}

static void query_variables(weft_slice query, zval *array)
{
	array_init(array);
	if (query.length) {
		sapi_module.treat_data(PARSE_STRING, estrndup(query.bytes, query.length), array);
	}
}

/* The cookies of a request, decoded as PHP does. */
void weft_cookie_variables(uint64_t request, zval *array)
{
	smart_str cookies = {0};
	weft_join_cookies(request, &cookies);
	/* PARSE_COOKIE fills PG(http_globals), which is ours during the call. */
	zval *slot = &PG(http_globals)[TRACK_VARS_COOKIE], kept;
	ZVAL_COPY_VALUE(&kept, slot);
	ZVAL_UNDEF(slot);
	SG(request_info).cookie_data = cookies.s ? ZSTR_VAL(cookies.s) : NULL;
	sapi_module.treat_data(PARSE_COOKIE, NULL, NULL);
	SG(request_info).cookie_data = NULL;
	ZVAL_COPY_VALUE(array, slot);
	ZVAL_COPY_VALUE(slot, &kept);
	smart_str_free(&cookies);
}

static void add(zval *array, const char *name, weft_slice value)
{
	if (value.bytes) {
		php_register_variable_safe(name, value.bytes, value.length, array);
	}
}

/* Several lines with one name are one variable (RFC 3875 section 4.1.18). */
static void add_to_line(zval *array, weft_slice name, weft_slice value, weft_add_variable add_variable)
{
	zval *earlier = zend_hash_str_find(Z_ARRVAL_P(array), name.bytes, name.length);
	smart_str joined = {0};
	if (earlier && Z_TYPE_P(earlier) == IS_STRING) {
		smart_str_append(&joined, Z_STR_P(earlier));
	}
	weft_join_line(&joined, value, weft_slice_is(name, "HTTP_COOKIE"));
	if (joined.s) {
		add_variable(array, name.bytes, weft_slice_of(joined.s));
	}
	smart_str_free(&joined);
}

/* HTTP_* as in CGI; Content-Type and Content-Length also without the prefix. Values that the array already holds,
 * those of the environment, are overwritten. */
void weft_header_variables(uint64_t request, zval *array, weft_add_variable add_variable)
{
	weft_slice name, value;
	HashTable seen;
	zend_hash_init(&seen, 16, NULL, NULL, 0);
	for (uint32_t at = 0; weft_host_next_variable(request, &at, &name, &value);) {
		if (UNEXPECTED(!zend_hash_str_add_empty_element(&seen, name.bytes, name.length))) {
			add_to_line(array, name, value, add_variable);
			continue;
		}
		add_variable(array, name.bytes, value);
		if (!strcmp(name.bytes, "HTTP_CONTENT_TYPE") || !strcmp(name.bytes, "HTTP_CONTENT_LENGTH")) {
			add_variable(array, name.bytes + strlen("HTTP_"), value);
		}
	}
	zend_hash_destroy(&seen);
}

void weft_connection_variables(uint64_t request, zval *array, weft_add_variable add_variable)
{
	add_variable(array, "REMOTE_ADDR", weft_host_field(request, WEFT_FIELD_CLIENT));
	add_variable(array, "REMOTE_PORT", weft_host_field(request, WEFT_FIELD_CLIENT_PORT));
	add_variable(array, "SERVER_ADDR", weft_host_field(request, WEFT_FIELD_SERVER));
	add_variable(array, "SERVER_PORT", weft_host_field(request, WEFT_FIELD_SERVER_PORT));
	add_variable(array, "SERVER_NAME", weft_host_field(request, WEFT_FIELD_HOST_NAME));
	weft_slice scheme = weft_host_field(request, WEFT_FIELD_SCHEME);
	add_variable(array, "REQUEST_SCHEME", scheme);
	if (scheme.length == 5) {
		add_variable(array, "HTTPS", weft_slice_text("on"));
	}
}

static void server_variables(uint64_t request, zval *array)
{
	char protocol[16];
	zval time;
	zval *booted = zend_hash_find_known_hash(&EG(symbol_table), name_of[WEFT_SERVER]);
	ZVAL_ARR(array, booted && Z_TYPE_P(booted) == IS_ARRAY ? zend_array_dup(Z_ARRVAL_P(booted)) : zend_new_array(32));
	add(array, "REQUEST_METHOD", weft_host_field(request, WEFT_FIELD_METHOD));
	add(array, "REQUEST_URI", weft_host_field(request, WEFT_FIELD_TARGET));
	add(array, "PATH_INFO", weft_host_field(request, WEFT_FIELD_PATH));
	weft_slice query = weft_host_field(request, WEFT_FIELD_QUERY);
	add(array, "QUERY_STRING", query.bytes ? query : weft_slice_text(""));
	weft_slice version = weft_host_field(request, WEFT_FIELD_VERSION);
	snprintf(protocol, sizeof(protocol), "HTTP/%.*s", (int) version.length, version.bytes);
	add(array, "SERVER_PROTOCOL", weft_slice_text(protocol));
	add(array, "SERVER_SOFTWARE", weft_slice_text("weft"));
	add(array, "GATEWAY_INTERFACE", weft_slice_text("CGI/1.1"));
	weft_connection_variables(request, array, add);
	weft_header_variables(request, array, add);
	double now = weft_host_time(request);
	ZVAL_DOUBLE(&time, now);
	zend_hash_str_update(Z_ARRVAL_P(array), ZEND_STRL("REQUEST_TIME_FLOAT"), &time);
	ZVAL_LONG(&time, (zend_long) now);
	zend_hash_str_update(Z_ARRVAL_P(array), ZEND_STRL("REQUEST_TIME"), &time);
}

/* $_REQUEST by request_order, as php_auto_globals_create_request (main/php_variables.c). */
static void request_variables(zval *array)
{
	const char *order = PG(request_order) ? PG(request_order) : PG(variables_order);
	array_init(array);
	for (; *order; order++) {
		int track = *order == 'g' || *order == 'G' ? TRACK_VARS_GET
			: *order == 'p' || *order == 'P' ? TRACK_VARS_POST
			: *order == 'c' || *order == 'C' ? TRACK_VARS_COOKIE : -1;
		if (track >= 0 && Z_TYPE(PG(http_globals)[track]) == IS_ARRAY) {
			zend_hash_merge(Z_ARRVAL_P(array), Z_ARRVAL(PG(http_globals)[track]), zval_add_ref, 1);
		}
	}
}

static void fill(weft_coroutine *coroutine, int which)
{
	uint64_t request = coroutine->request;
	zval *globals = PG(http_globals), *value = &weft_superglobals_slot(coroutine)->values[which];
	switch (which) {
		case WEFT_GET:
			query_variables(weft_host_field(request, WEFT_FIELD_QUERY), &globals[TRACK_VARS_GET]);
			break;
		case WEFT_COOKIE: {
			zval cookies; /* not the global itself: the parser uses it */
			weft_cookie_variables(request, &cookies);
			ZVAL_COPY_VALUE(&globals[TRACK_VARS_COOKIE], &cookies);
			break;
		}
		case WEFT_SERVER:
			server_variables(request, &globals[TRACK_VARS_SERVER]);
			break;
		case WEFT_POST:
		case WEFT_FILES:
			if (Z_TYPE(globals[TRACK_VARS_POST]) != IS_ARRAY) {
				zval fields, files; /* not the globals themselves: the parser uses those */
				weft_request_form(request, &fields, &files);
				ZVAL_COPY_VALUE(&globals[TRACK_VARS_POST], &fields);
				ZVAL_COPY_VALUE(&globals[TRACK_VARS_FILES], &files);
			}
			break;
		default:
			request_variables(value);
			return;
	}
	ZVAL_COPY(value, &globals[tracks[which]]);
}

static void exchange(weft_coroutine *coroutine, uint32_t which)
{
	for (int i = 0; i < WEFT_SUPERGLOBALS; i++) {
		if (!(which & (1u << i))) {
			continue;
		}
		zval other, *slot = zend_hash_find_known_hash(&EG(symbol_table), name_of[i]);
		if (!slot) {
			ZVAL_EMPTY_ARRAY(&other);
			slot = zend_hash_add_new(&EG(symbol_table), name_of[i], &other);
		}
		ZVAL_COPY_VALUE(&other, slot);
		ZVAL_COPY_VALUE(slot, &weft_superglobals_slot(coroutine)->values[i]);
		ZVAL_COPY_VALUE(&weft_superglobals_slot(coroutine)->values[i], &other);
	}
}

/* Fills the superglobals that the application mentions and this request does not have yet. May park (for the body
 * of a form). */
void weft_superglobals_fill(weft_coroutine *coroutine)
{
	uint32_t missing = __atomic_load_n(used, __ATOMIC_RELAXED) & ~weft_superglobals_slot(coroutine)->filled;
	if (EXPECTED(!missing)) {
		return;
	}
	if (missing & (1u << WEFT_REQUEST)) { /* made from the others */
		missing |= ((1u << WEFT_GET) | (1u << WEFT_POST) | (1u << WEFT_COOKIE)) & ~weft_superglobals_slot(coroutine)->filled;
	}
	weft_superglobals_slot(coroutine)->filled |= missing;
	for (int i = 0; i < WEFT_SUPERGLOBALS; i++) {
		if (missing & (1u << i)) {
			fill(coroutine, i);
			exchange(coroutine, 1u << i);
		}
	}
}

void weft_superglobals_exchange(weft_coroutine *coroutine)
{
	exchange(coroutine, weft_superglobals_slot(coroutine)->filled);
}

/* Copies the superglobals of the running coroutine for one of its tasks; returns which ones. */
uint32_t weft_superglobals_copy(const weft_coroutine *coroutine, zval *values)
{
	for (int i = 0; i < WEFT_SUPERGLOBALS; i++) {
		if (weft_superglobals_slot(coroutine)->filled & (1u << i)) {
			ZVAL_COPY(&values[i], zend_hash_find_known_hash(&EG(symbol_table), name_of[i]));
		}
	}
	return weft_superglobals_slot(coroutine)->filled;
}

/* A task begins with them. Takes ownership of the values. */
void weft_superglobals_inherit(weft_coroutine *coroutine, uint32_t which, zval *values)
{
	for (int i = 0; i < WEFT_SUPERGLOBALS; i++) {
		if (!(which & (1u << i))) {
			continue;
		}
		if (tracks[i] >= 0) {
			ZVAL_COPY(&PG(http_globals)[tracks[i]], &values[i]);
		}
		ZVAL_COPY_VALUE(&weft_superglobals_slot(coroutine)->values[i], &values[i]);
		ZVAL_UNDEF(&values[i]);
	}
	weft_superglobals_slot(coroutine)->filled = which;
	exchange(coroutine, which);
}

void weft_superglobals_end(weft_coroutine *coroutine)
{
	if (EXPECTED(!weft_superglobals_slot(coroutine)->filled)) {
		return;
	}
	uint32_t filled = weft_superglobals_slot(coroutine)->filled;
	exchange(coroutine, filled);
	weft_superglobals_slot(coroutine)->filled = 0; /* removed first, because their contents may have destructors */
	for (int i = 0; i < WEFT_SUPERGLOBALS; i++) {
		if (filled & (1u << i)) {
			zval_ptr_dtor(&weft_superglobals_slot(coroutine)->values[i]);
		}
	}
	for (int track = 0; track < NUM_TRACK_VARS; track++) {
		if (track != TRACK_VARS_ENV) {
			zval_ptr_dtor(&PG(http_globals)[track]);
			ZVAL_UNDEF(&PG(http_globals)[track]);
		}
	}
}
