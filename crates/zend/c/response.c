/* Responses: what is sent for a handler's return value, with the headers that PHP code has set.
 *
 * Invariant: a list of headers is filled and passed to the host without parking in between. */
#include "response.h"
#include "coroutine.h"
#include "host.h"
#include "writer.h"
#include "zend_generators.h"
#include "zend_interfaces.h"

/* Slots of Weft\Http\Response's properties, in the order of their declaration (php/src/Http/Response.php). */
enum { RESPONSE_STATUS, RESPONSE_HEADERS, RESPONSE_BODY, RESPONSE_FILE };

static zend_class_entry *response_class;

/* After the application has booted. */
void weft_response_start(void)
{
	zend_string *name = zend_string_init(ZEND_STRL("Weft\\Http\\Response"), 0);
	response_class = zend_lookup_class(name);
	zend_string_release(name);
}

/* ---- headers ---- */

/* One list serves all: it is filled and passed to the host without parking in between, and it would take 8 KiB of
 * every coroutine's stack. */
weft_headers *weft_new_headers(void)
{
	static weft_headers scratch;
	scratch.count = 0;
	scratch.content_type = scratch.full = false;
	return &scratch;
}

static void add_header(weft_headers *to, weft_slice name, weft_slice value)
{
	if (to->count == WEFT_HEADERS_MAX) {
		if (!to->full) {
			to->full = true;
			weft_host_log(WEFT_LOG_ERROR, weft_current->request,
				weft_slice_text("a response has more than 256 header lines; its client gets a 500 in place of a part of them"));
		}
		return;
	}
	if (weft_slice_is(name, "content-type")) {
		to->content_type = true;
	}
	to->list[to->count++] = (weft_header){name, value};
}

/* The lines "Name: value" that header() and setcookie() have set. A header that the Response sets itself takes
 * precedence, except for Set-Cookie. */
static void add_php_headers(weft_headers *to)
{
	zend_llist_position position;
	size_t own = to->count;
	sapi_header_struct *line = zend_llist_get_first_ex(&SG(sapi_headers).headers, &position);
	for (; line; line = zend_llist_get_next_ex(&SG(sapi_headers).headers, &position)) {
		const char *colon = memchr(line->header, ':', line->header_len), *end = line->header + line->header_len;
		if (!colon) {
			continue;
		}
		weft_slice name = {line->header, colon - line->header};
		for (colon++; colon < end && *colon == ' '; colon++) {
		}
		bool replaced = false;
		for (size_t i = 0; i < own; i++) {
			weft_slice other = to->list[i].name;
			replaced |= zend_binary_strcasecmp(other.bytes, other.length, name.bytes, name.length) == 0
				&& !weft_slice_is(name, "set-cookie");
		}
		if (!replaced) {
			add_header(to, name, (weft_slice){colon, end - colon});
		}
	}
}

static void complete_headers(weft_headers *to)
{
	if (UNEXPECTED(zend_llist_count(&SG(sapi_headers).headers))) {
		add_php_headers(to);
	}
	if (!to->content_type && SG(sapi_headers).send_default_content_type) {
		static const weft_header html = {{"Content-Type", 12}, {"text/html; charset=UTF-8", 24}};
		if (UNEXPECTED(to->count == WEFT_HEADERS_MAX)) {
			to->full = true;
		} else {
			to->list[to->count++] = html;
		}
	}
}

uint32_t weft_php_status(void)
{
	int status = SG(sapi_headers).http_response_code;
	return status >= 100 && status <= 999 ? status : 200;
}

/* ---- output ---- */

/* Output that nothing buffers any more: while streaming it goes to the client, otherwise it is kept until the
 * response is made. */
static bool start_stream(weft_coroutine *coroutine, uint32_t status, weft_headers *with)
{
	complete_headers(with);
	if (UNEXPECTED(with->full)) {
		status = 500;
	}
	weft_response_slot(coroutine)->streaming = true;
	SG(headers_sent) = 1;
	SG(request_info).no_headers = 0; /* from here on header() warns, as it should */
	return weft_host_stream_start(coroutine->request, status, with->list, with->count);
}

static bool stream(weft_coroutine *coroutine, weft_slice chunk)
{
	if (chunk.length == 0) {
		return true;
	}
	if (weft_host_stream_write(coroutine->request, chunk)) {
		return true;
	}
	PG(connection_status) |= PHP_CONNECTION_ABORTED;
	return false;
}

/* flush(): sends the headers and the output so far. */
void weft_response_flush(weft_coroutine *coroutine)
{
	if (!weft_response_slot(coroutine)->streaming) {
		weft_headers *with = weft_new_headers();
		start_stream(coroutine, weft_php_status(), with);
	}
	if (weft_response_slot(coroutine)->output.s) {
		smart_str chunk = weft_response_slot(coroutine)->output;
		weft_response_slot(coroutine)->output = (smart_str){0};
		stream(coroutine, weft_slice_of(chunk.s));
		smart_str_free(&chunk);
	}
}

/* ---- responses ---- */

static weft_slice echoed(weft_coroutine *coroutine)
{
	return weft_response_slot(coroutine)->output.s ? weft_slice_of(weft_response_slot(coroutine)->output.s) : weft_slice_text("");
}

/* A response that cannot be sent completely is not sent in part. */
static void refuse(weft_coroutine *coroutine)
{
	weft_headers *plain = weft_new_headers();
	add_header(plain, weft_slice_text("Content-Type"), weft_slice_text("text/plain; charset=UTF-8"));
	weft_host_respond(coroutine->request, 500, plain->list, plain->count, weft_slice_text("Internal Server Error\n"));
}

/* A fixed body: first the output, then the returned string. */
void weft_respond(weft_coroutine *coroutine, uint32_t status, weft_headers *with, weft_slice body)
{
	if (UNEXPECTED(weft_response_slot(coroutine)->streaming)) {
		weft_response_flush(coroutine);
		stream(coroutine, body);
		weft_host_stream_end(coroutine->request, NULL, 0, false);
		return;
	}
	complete_headers(with);
	if (UNEXPECTED(with->full)) {
		refuse(coroutine);
		return;
	}
	if (UNEXPECTED(weft_response_slot(coroutine)->output.s)) {
		smart_str_appendl(&weft_response_slot(coroutine)->output, body.bytes, body.length);
		body = echoed(coroutine);
	}
	weft_host_respond(coroutine->request, status, with->list, with->count, body);
}

void weft_respond_text(weft_coroutine *coroutine, uint32_t status, const char *text)
{
	weft_headers *with = weft_new_headers();
	add_header(with, weft_slice_text("Content-Type"), weft_slice_text("text/plain; charset=UTF-8"));
	weft_respond(coroutine, status, with, weft_slice_text(text));
}

/* Sends the values of a Generator or Iterator as they come; the coroutine follows the client's pace. */
static void stream_iterator(weft_coroutine *coroutine, zval *iterable)
{
	zend_class_entry *class = Z_OBJCE_P(iterable);
	zend_object_iterator *iterator = class->get_iterator(class, iterable, 0);
	if (!iterator) {
		return;
	}
	if (iterator->funcs->rewind) {
		iterator->funcs->rewind(iterator);
	}
	bool open = true;
	while (open && !EG(exception) && iterator->funcs->valid(iterator) == SUCCESS) {
		zval *item = iterator->funcs->get_current_data(iterator);
		if (EG(exception) || !item) {
			break;
		}
		zend_string *chunk = zval_get_string(item);
		weft_response_flush(coroutine);
		open = stream(coroutine, weft_slice_of(chunk));
		zend_string_release(chunk);
		iterator->funcs->move_forward(iterator);
	}
	zend_iterator_dtor(iterator);
}

/* Calls a body that writes for itself: function (Weft\Http\Writer $writer): void. */
static void stream_callable(weft_coroutine *coroutine, zval *callable)
{
	zval writer, result;
	weft_writer_open(&writer, coroutine->request);
	ZVAL_UNDEF(&result);
	call_user_function(NULL, NULL, callable, &result, 1, &writer);
	zval_ptr_dtor(&result);
	weft_writer_close(&writer);
}

static void respond_stream(weft_coroutine *coroutine, uint32_t status, weft_headers *with, zval *body)
{
	if (!weft_response_slot(coroutine)->streaming) {
		start_stream(coroutine, status, with);
	}
	weft_response_flush(coroutine);
	if (instanceof_function(Z_OBJCE_P(body), zend_ce_traversable)) {
		stream_iterator(coroutine, body);
	} else {
		stream_callable(coroutine, body);
	}
	if (!EG(exception)) {
		weft_response_flush(coroutine);
		weft_host_stream_end(coroutine->request, NULL, 0, false);
	}
}

static void respond_file(weft_coroutine *coroutine, uint32_t status, weft_headers *with, zend_string *path)
{
	if (UNEXPECTED(weft_response_slot(coroutine)->streaming || weft_response_slot(coroutine)->output.s)) {
		weft_host_log(WEFT_LOG_WARNING, coroutine->request,
			weft_slice_text("the handler echoed before it returned a file; the output was dropped"));
		smart_str_free(&weft_response_slot(coroutine)->output);
	}
	if (zend_llist_count(&SG(sapi_headers).headers)) {
		add_php_headers(with);
	}
	if (UNEXPECTED(with->full)) {
		refuse(coroutine);
		return;
	}
	uint32_t refused = weft_host_respond_file(coroutine->request, status, with->list, with->count, weft_slice_of(path));
	if (refused) {
		weft_respond_text(coroutine, refused, refused == 404 ? "Not Found\n" : "Forbidden\n");
	}
}

/* A Weft\Http\Response: its headers are a flat list, name, value, name, value… */
static void respond_object(weft_coroutine *coroutine, zend_object *response)
{
	weft_headers *with = weft_new_headers();
	zval *body = OBJ_PROP_NUM(response, RESPONSE_BODY), *file = OBJ_PROP_NUM(response, RESPONSE_FILE);
	zval *list = OBJ_PROP_NUM(response, RESPONSE_HEADERS), *item;
	uint32_t status = Z_LVAL_P(OBJ_PROP_NUM(response, RESPONSE_STATUS));
	zend_string *name = NULL;
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(list), item) {
		if (!name) {
			name = Z_STR_P(item);
		} else {
			add_header(with, weft_slice_of(name), weft_slice_of(Z_STR_P(item)));
			name = NULL;
		}
	} ZEND_HASH_FOREACH_END();
	ZVAL_DEREF(body);
	if (Z_TYPE_P(file) == IS_STRING) {
		respond_file(coroutine, status, with, Z_STR_P(file));
	} else if (EXPECTED(Z_TYPE_P(body) == IS_STRING)) {
		weft_respond(coroutine, status, with, weft_slice_of(Z_STR_P(body)));
	} else if (Z_TYPE_P(body) == IS_OBJECT) {
		respond_stream(coroutine, status, with, body);
	} else {
		weft_respond(coroutine, status, with, weft_slice_text(""));
	}
}

void weft_respond_value(weft_coroutine *coroutine, zval *value)
{
	weft_headers *with = weft_new_headers();
	ZVAL_DEREF(value);
	if (EXPECTED(Z_TYPE_P(value) == IS_STRING)) {
		weft_respond(coroutine, weft_php_status(), with, weft_slice_of(Z_STR_P(value)));
	} else if (Z_TYPE_P(value) <= IS_FALSE) {
		weft_respond(coroutine, weft_php_status(), with, weft_slice_text(""));
	} else if (Z_TYPE_P(value) == IS_OBJECT && Z_OBJCE_P(value) == response_class && response_class) {
		respond_object(coroutine, Z_OBJ_P(value));
	} else if (Z_TYPE_P(value) == IS_OBJECT && instanceof_function(Z_OBJCE_P(value), zend_ce_traversable)) {
		respond_stream(coroutine, weft_php_status(), with, value);
	} else if (Z_TYPE_P(value) == IS_ARRAY || (Z_TYPE_P(value) == IS_OBJECT && !Z_OBJCE_P(value)->__tostring)) {
		zend_throw_error(zend_ce_type_error, "The handler returned %s; return a string, null, a Weft\\Http\\Response"
			" (for data: Weft\\Http\\Response::json()) or a Generator", zend_zval_type_name(value));
	} else {
		zend_string *text = zval_get_string(value);
		weft_respond(coroutine, weft_php_status(), with, weft_slice_of(text));
		zend_string_release(text);
	}
}
