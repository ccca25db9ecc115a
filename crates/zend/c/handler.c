/* One request: calls the application's handler on a coroutine and makes a response of what comes back.
 *
 * Accepted: a string, null (what was echoed is the body), a Weft\Http\Response, a Generator (each yielded string is sent as
 * it comes). Whatever goes wrong ends here, as this request's 500 and nothing else. */
#include "weft.h"
#include "zend_generators.h"
#include "zend_interfaces.h"

#define HEADERS_MAX 256
#define LOGGED_BYTES_MAX 4096

bool weft_development;

static zend_fcall_info handler;
static zend_fcall_info_cache handler_cache;
static zval handler_value;
static zend_class_entry *response_class;

typedef struct {
	weft_header list[HEADERS_MAX];
	size_t count;
	bool content_type;
	bool full;
} headers;

/* Slots of Weft\Http\Response's properties, in the order of their declaration (php/src/Http/Response.php). */
enum { RESPONSE_STATUS, RESPONSE_HEADERS, RESPONSE_BODY, RESPONSE_FILE };

/* ---- boot ---- */

/* Includes a script as require does. false: it failed, and the error has been reported. */
static bool include(const char *path, zval *result)
{
	bool done = false;
	zend_file_handle file;
	zend_stream_init_filename(&file, path);
	file.primary_script = 1;
	zend_try {
		zend_op_array *script = zend_compile_file(&file, ZEND_REQUIRE);
		if (script) {
			zend_execute(script, result);
			zend_destroy_static_vars(script);
			destroy_op_array(script);
			efree_size(script, sizeof(zend_op_array));
			done = true;
		}
		if (EG(exception)) {
			done = false;
			if (!zend_is_unwind_exit(EG(exception))) {
				zend_exception_error(EG(exception), E_ERROR);
			}
			zend_clear_exception();
		}
	} zend_catch {
		done = false;
	} zend_end_try();
	zend_destroy_file_handle(&file);
	return done;
}

/* Includes a library file of weft's own, such as its autoloader. */
bool weft_engine_include(const char *path)
{
	zval result;
	ZVAL_UNDEF(&result);
	bool done = include(path, &result);
	zval_ptr_dtor(&result);
	return done;
}

/* Includes the application's script and keeps the handler it returns. 0, or what is wrong: 1 it cannot be run, 2 it
 * returned nothing that can be called. */
int weft_handler_load(const char *path)
{
	ZVAL_UNDEF(&handler_value);
	if (!include(path, &handler_value)) {
		return 1;
	}
	if (zend_fcall_info_init(&handler_value, 0, &handler, &handler_cache, NULL, NULL) != SUCCESS) {
		return 2;
	}
	zend_string *name = zend_string_init(ZEND_STRL("Weft\\Http\\Response"), 0);
	response_class = zend_lookup_class(name);
	zend_string_release(name);
	return 0;
}

/* ---- headers ---- */

/* One list serves all: it is filled and handed to the host without parking in between, and it would be 8 KiB of every
 * coroutine's stack. */
static headers *new_headers(void)
{
	static headers scratch;
	scratch.count = 0;
	scratch.content_type = scratch.full = false;
	return &scratch;
}

static void add_header(headers *to, weft_slice name, weft_slice value)
{
	if (to->count == HEADERS_MAX) {
		if (!to->full) {
			to->full = true;
			weft_host_log(WEFT_LOG_ERROR, weft_current->request,
				weft_slice_text("a response has more than 256 header lines; the rest is not sent"));
		}
		return;
	}
	if (name.length == 12 && zend_binary_strcasecmp(name.bytes, 12, "content-type", 12) == 0) {
		to->content_type = true;
	}
	to->list[to->count++] = (weft_header){name, value};
}

/* What header() and setcookie() have set: "Name: value" lines. A header the Response sets itself wins over them, but for
 * Set-Cookie. */
static void add_php_headers(headers *to)
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
				&& !(name.length == 10 && zend_binary_strcasecmp(name.bytes, 10, "set-cookie", 10) == 0);
		}
		if (!replaced) {
			add_header(to, name, (weft_slice){colon, end - colon});
		}
	}
}

static void complete_headers(headers *to)
{
	if (UNEXPECTED(zend_llist_count(&SG(sapi_headers).headers))) {
		add_php_headers(to);
	}
	if (!to->content_type && SG(sapi_headers).send_default_content_type) {
		add_header(to, weft_slice_text("Content-Type"), weft_slice_text("text/html; charset=UTF-8"));
	}
}

static uint32_t php_status(void)
{
	int status = SG(sapi_headers).http_response_code;
	return status >= 100 && status <= 999 ? status : 200;
}

/* ---- output ---- */

/* Output that nothing buffers any more: with streaming on to the client, else kept until the response is made. */
static bool start_stream(weft_coroutine *coroutine, uint32_t status, headers *with)
{
	complete_headers(with);
	coroutine->streaming = true;
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

/* flush(): the headers go out, and what was echoed so far. */
void weft_handler_flush(weft_coroutine *coroutine)
{
	if (!coroutine->streaming) {
		headers *with = new_headers();
		start_stream(coroutine, php_status(), with);
	}
	if (coroutine->output.s) {
		smart_str chunk = coroutine->output;
		coroutine->output = (smart_str){0};
		stream(coroutine, weft_slice_of(chunk.s));
		smart_str_free(&chunk);
	}
}

/* ---- responses ---- */

static weft_slice echoed(weft_coroutine *coroutine)
{
	return coroutine->output.s ? weft_slice_of(coroutine->output.s) : weft_slice_text("");
}

/* A fixed body: what was echoed, then what was returned. */
static void respond(weft_coroutine *coroutine, uint32_t status, headers *with, weft_slice body)
{
	if (UNEXPECTED(coroutine->streaming)) {
		weft_handler_flush(coroutine);
		stream(coroutine, body);
		weft_host_stream_end(coroutine->request, NULL, 0, false);
		return;
	}
	complete_headers(with);
	if (UNEXPECTED(coroutine->output.s)) {
		smart_str_appendl(&coroutine->output, body.bytes, body.length);
		body = echoed(coroutine);
	}
	weft_host_respond(coroutine->request, status, with->list, with->count, body);
}

static void respond_text(weft_coroutine *coroutine, uint32_t status, const char *text)
{
	headers *with = new_headers();
	add_header(with, weft_slice_text("Content-Type"), weft_slice_text("text/plain; charset=UTF-8"));
	respond(coroutine, status, with, weft_slice_text(text));
}

/* Sends what a Generator or Iterator yields, as it comes; the client's pace is the coroutine's. */
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
		weft_handler_flush(coroutine);
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

static void respond_stream(weft_coroutine *coroutine, uint32_t status, headers *with, zval *body)
{
	if (!coroutine->streaming) {
		start_stream(coroutine, status, with);
	}
	weft_handler_flush(coroutine);
	if (instanceof_function(Z_OBJCE_P(body), zend_ce_traversable)) {
		stream_iterator(coroutine, body);
	} else {
		stream_callable(coroutine, body);
	}
	if (!EG(exception)) {
		weft_handler_flush(coroutine);
		weft_host_stream_end(coroutine->request, NULL, 0, false);
	}
}

static void respond_file(weft_coroutine *coroutine, uint32_t status, headers *with, zend_string *path)
{
	if (UNEXPECTED(coroutine->streaming || coroutine->output.s)) {
		weft_host_log(WEFT_LOG_WARNING, coroutine->request,
			weft_slice_text("the handler echoed before it returned a file; the output was dropped"));
		smart_str_free(&coroutine->output);
	}
	if (zend_llist_count(&SG(sapi_headers).headers)) {
		add_php_headers(with);
	}
	uint32_t refused = weft_host_respond_file(coroutine->request, status, with->list, with->count, weft_slice_of(path));
	if (refused) {
		respond_text(coroutine, refused, refused == 404 ? "Not Found\n" : "Forbidden\n");
	}
}

/* A Weft\Http\Response: its headers are a flat list, name, value, name, value… */
static void respond_object(weft_coroutine *coroutine, zend_object *response)
{
	headers *with = new_headers();
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
		respond(coroutine, status, with, weft_slice_of(Z_STR_P(body)));
	} else if (Z_TYPE_P(body) == IS_OBJECT) {
		respond_stream(coroutine, status, with, body);
	} else {
		respond(coroutine, status, with, weft_slice_text(""));
	}
}

static void respond_value(weft_coroutine *coroutine, zval *value)
{
	headers *with = new_headers();
	ZVAL_DEREF(value);
	if (EXPECTED(Z_TYPE_P(value) == IS_STRING)) {
		respond(coroutine, php_status(), with, weft_slice_of(Z_STR_P(value)));
	} else if (Z_TYPE_P(value) <= IS_FALSE) {
		respond(coroutine, php_status(), with, weft_slice_text(""));
	} else if (Z_TYPE_P(value) == IS_OBJECT && Z_OBJCE_P(value) == response_class && response_class) {
		respond_object(coroutine, Z_OBJ_P(value));
	} else if (Z_TYPE_P(value) == IS_OBJECT && instanceof_function(Z_OBJCE_P(value), zend_ce_traversable)) {
		respond_stream(coroutine, php_status(), with, value);
	} else if (Z_TYPE_P(value) == IS_ARRAY || (Z_TYPE_P(value) == IS_OBJECT && !Z_OBJCE_P(value)->__tostring)) {
		zend_throw_error(zend_ce_type_error, "The handler returned %s; return a string, null, a Weft\\Http\\Response"
			" (for data: Weft\\Http\\Response::json()) or a Generator", zend_zval_type_name(value));
	} else {
		zend_string *text = zval_get_string(value);
		respond(coroutine, php_status(), with, weft_slice_of(text));
		zend_string_release(text);
	}
}

/* ---- failures ---- */

static void log_failure(weft_coroutine *coroutine, const char *what, zend_string *message)
{
	smart_str line = {0};
	smart_str_appends(&line, what);
	if (ZSTR_LEN(message) > LOGGED_BYTES_MAX) { /* the stack of an endless recursion has thousands of lines */
		smart_str_appendl(&line, ZSTR_VAL(message), LOGGED_BYTES_MAX);
		smart_str_append_printf(&line, "\n(%zu more bytes)", ZSTR_LEN(message) - LOGGED_BYTES_MAX);
	} else {
		smart_str_append(&line, message);
	}
	smart_str_0(&line);
	weft_host_log(WEFT_LOG_ERROR, coroutine->request, weft_slice_of(line.s));
	smart_str_free(&line);
}

static zend_string *describe(zend_object *exception)
{
	zval text;
	ZVAL_UNDEF(&text);
	zend_call_method_with_0_params(exception, exception->ce, NULL, "__tostring", &text);
	zend_clear_exception();
	return Z_TYPE(text) == IS_STRING ? Z_STR(text) : zend_string_copy(exception->ce->name);
}

/* Shutdown functions, once, and the output buffers that are still open. What they throw is logged: nobody can catch it. */
static void finish_script(weft_coroutine *coroutine)
{
	if (UNEXPECTED(BG(user_shutdown_function_names) != NULL)) {
		php_call_shutdown_functions();
		php_free_shutdown_functions();
		if (EG(exception)) {
			zend_object *exception = EG(exception);
			if (!zend_is_unwind_exit(exception)) {
				GC_ADDREF(exception);
				zend_clear_exception();
				zend_string *text = describe(exception);
				log_failure(coroutine, "PHP Fatal error:  Uncaught ", text);
				zend_string_release(text);
				if (SG(sapi_headers).http_response_code == 200) {
					SG(sapi_headers).http_response_code = 500;
				}
			} else {
				EG(exception) = EG(prev_exception) = NULL;
			}
			OBJ_RELEASE(exception);
		}
	}
	if (UNEXPECTED(OG(active) != NULL)) {
		php_output_end_all();
	}
	weft_session_end();
}

/* The page of an exception in development: Weft\Development\ErrorPage::render(Throwable): string. */
static bool render_page(zend_object *exception, zval *page)
{
	zval callable, argument;
	ZVAL_STRING(&callable, "Weft\\Development\\ErrorPage::render");
	ZVAL_OBJ(&argument, exception);
	ZVAL_UNDEF(page);
	bool rendered = call_user_function(NULL, NULL, &callable, page, 1, &argument) == SUCCESS && !EG(exception)
		&& Z_TYPE_P(page) == IS_STRING;
	zval_ptr_dtor(&callable);
	zend_clear_exception();
	return rendered;
}

/* What has been echoed before the failure is not the page the client asked for: it goes. */
static void drop_output(weft_coroutine *coroutine)
{
	if (OG(active)) {
		php_output_discard_all();
	}
	smart_str_free(&coroutine->output);
	zend_llist_clean(&SG(sapi_headers).headers);
	SG(sapi_headers).http_response_code = 500;
	SG(sapi_headers).send_default_content_type = 1;
}

/* Answers a request that has failed: with what its shutdown functions said (frameworks render their error page there), or
 * with a page of ours. */
static void respond_failure(weft_coroutine *coroutine, zend_object *exception, const char *text)
{
	zval page;
	if (coroutine->streaming) {
		finish_script(coroutine);
		weft_host_stream_end(coroutine->request, NULL, 0, true); /* cut short: the client must not take it for whole */
		return;
	}
	drop_output(coroutine);
	finish_script(coroutine);
	zend_clear_exception(); /* of an output callback: the first failure is the one that is told */
	if (coroutine->output.s) {
		headers *with = new_headers();
		respond(coroutine, php_status(), with, weft_slice_text(""));
	} else if (weft_development && exception && render_page(exception, &page)) {
		headers *with = new_headers();
		respond(coroutine, 500, with, weft_slice_of(Z_STR(page)));
		zval_ptr_dtor(&page);
	} else {
		respond_text(coroutine, 500, weft_development ? text : "Internal Server Error\n");
	}
}

/* error_get_last() tells shutdown functions of the failure, as after any fatal error. */
static void remember_failure(zend_object *exception, zend_string *message)
{
	zval scratch;
	zend_class_entry *base = instanceof_function(exception->ce, zend_ce_exception) ? zend_ce_exception : zend_ce_error;
	zval *file = zend_read_property_ex(base, exception, ZSTR_KNOWN(ZEND_STR_FILE), 1, &scratch);
	weft_remember_error(E_ERROR, zval_get_string(file),
		zval_get_long(zend_read_property_ex(base, exception, ZSTR_KNOWN(ZEND_STR_LINE), 1, &scratch)),
		zend_string_concat2(ZEND_STRL("Uncaught "), ZSTR_VAL(message), ZSTR_LEN(message)));
}

/* The request's own fault: its body failed, and the handler did not deal with it. The client is told what; the log is not
 * bothered. */
static bool respond_body_failure(weft_coroutine *coroutine, zend_object *exception)
{
	if (!zend_string_equals_literal(exception->ce->name, "Weft\\Http\\BodyException") || coroutine->streaming) {
		return false;
	}
	zval scratch;
	zend_long status = zval_get_long(zend_read_property_ex(zend_ce_exception, exception, ZSTR_KNOWN(ZEND_STR_CODE), 1, &scratch));
	drop_output(coroutine);
	finish_script(coroutine);
	respond_text(coroutine, status >= 400 && status <= 599 ? (uint32_t) status : 400, "The body of the request did not arrive.\n");
	return true;
}

static void respond_exception(weft_coroutine *coroutine, zend_object *exception)
{
	if (respond_body_failure(coroutine, exception)) {
		return;
	}
	if (coroutine->cancelled && !coroutine->streaming) { /* the server's doing, which it has logged */
		drop_output(coroutine);
		finish_script(coroutine);
		zend_clear_exception();
		uint32_t status = weft_host_cancel_status();
		respond_text(coroutine, status, status == 504 ? "Gateway Timeout\n" : "Service Unavailable\n");
		return;
	}
	zend_string *text = describe(exception);
	log_failure(coroutine, "PHP Fatal error:  Uncaught ", text);
	remember_failure(exception, text);
	respond_failure(coroutine, exception, ZSTR_VAL(text));
	zend_string_release(text);
}

/* The application's own exception handler. true: it has dealt with it. */
static bool handled_by_user(zend_object **exception)
{
	if (Z_TYPE(EG(user_exception_handler)) == IS_UNDEF) {
		return false;
	}
	zval argument, result, callable;
	ZVAL_OBJ(&argument, *exception);
	ZVAL_UNDEF(&result);
	ZVAL_COPY_VALUE(&callable, &EG(user_exception_handler));
	ZVAL_UNDEF(&EG(user_exception_handler));
	call_user_function(NULL, NULL, &callable, &result, 1, &argument);
	zval_ptr_dtor(&callable);
	zval_ptr_dtor(&result);
	if (!EG(exception)) {
		return true;
	}
	if (!zend_is_unwind_exit(EG(exception))) { /* the handler's own failure is the one to report */
		OBJ_RELEASE(*exception);
		*exception = EG(exception);
		GC_ADDREF(*exception);
		zend_clear_exception();
		return false;
	}
	OBJ_RELEASE(EG(exception));
	EG(exception) = EG(prev_exception) = NULL;
	return true;
}

static void respond_echoed(weft_coroutine *coroutine, uint32_t status)
{
	finish_script(coroutine);
	headers *with = new_headers();
	respond(coroutine, status, with, weft_slice_text(""));
}

/* An exception has left the handler: exit() is none of them; others go to the application's handler, or become a 500. */
static void settle_exception(weft_coroutine *coroutine)
{
	zend_object *exception = EG(exception);
	if (zend_is_unwind_exit(exception)) {
		OBJ_RELEASE(exception);
		EG(exception) = EG(prev_exception) = NULL;
		respond_echoed(coroutine, php_status());
		return;
	}
	GC_ADDREF(exception);
	zend_clear_exception();
	if (handled_by_user(&exception)) {
		respond_echoed(coroutine, php_status() == 200 ? 500 : php_status());
	} else {
		respond_exception(coroutine, exception);
	}
	OBJ_RELEASE(exception);
}

/* A bailout has thrown away the frames of this coroutine: what they held is leaked, so the worker is to be replaced once
 * it has finished what is in flight. */
static void settle_bailout(weft_coroutine *coroutine)
{
	zend_string *message = PG(last_error_message) ? PG(last_error_message) : ZSTR_EMPTY_ALLOC();
	const char *file = PG(last_error_file) ? ZSTR_VAL(PG(last_error_file)) : "unknown";
	smart_str text = {0};
	smart_str_append_printf(&text, "%s in %s:%d\n", ZSTR_VAL(message), file, (int) PG(last_error_lineno));
	smart_str_0(&text);
	log_failure(coroutine, "PHP Fatal error:  ", text.s);
	weft_host_replace(weft_slice_text("a fatal error in PHP code"));
	respond_failure(coroutine, NULL, ZSTR_VAL(text.s));
	smart_str_free(&text);
}

/* The last resort: even answering has failed. */
static void respond_plain(weft_coroutine *coroutine)
{
	smart_str_free(&coroutine->output);
	if (coroutine->streaming) {
		weft_host_stream_end(coroutine->request, NULL, 0, true);
	} else {
		respond_text(coroutine, 500, "Internal Server Error\n");
	}
}

/* Debian's PHP unwinds from out-of-memory as from exit, with a state of its own left behind. */
bool weft_take_out_of_memory(void)
{
#ifdef ZEND_HAS_OOM
	if (ZEND_HAS_OOM()) {
		EG(delayed_oom).state = ZEND_OOM_STATE_NONE;
		zend_set_memory_limit(PG(memory_limit));
		return true;
	}
#endif
	return false;
}

/* ---- the request ---- */

static void call_handler(weft_coroutine *coroutine)
{
	zval result;
	ZVAL_UNDEF(&result);
	weft_superglobals_fill(coroutine);
	if (UNEXPECTED(EG(exception) != NULL)) {
		return; /* the form it should hold did not arrive */
	}
	zend_fcall_info call = handler;
	call.retval = &result;
	call.params = &coroutine->request_object;
	call.param_count = 1;
	zend_call_function(&call, &handler_cache);
	if (EXPECTED(!EG(exception))) {
		finish_script(coroutine);
		if (EXPECTED(!EG(exception))) { /* an output callback may throw */
			weft_request_keep(coroutine);
			respond_value(coroutine, &result);
		}
	}
	zval_ptr_dtor(&result);
}

/* Ends what has not ended in order. */
static void settle(weft_coroutine *coroutine)
{
	weft_request_keep(coroutine);
	if (weft_take_out_of_memory()) {
		OBJ_RELEASE(EG(exception));
		EG(exception) = NULL;
		settle_bailout(coroutine);
	} else {
		settle_exception(coroutine);
	}
}

typedef void (*step)(weft_coroutine *coroutine);

/* Runs one step; a bailout ends here, at the coroutine's own base. false: it bailed out. */
static bool contained(step run, weft_coroutine *coroutine)
{
	volatile bool finished = true;
	zend_execute_data *frame = EG(current_execute_data);
	zend_vm_stack stack = EG(vm_stack);
	zval *top = EG(vm_stack_top), *end = EG(vm_stack_end);
	zend_try {
		run(coroutine);
	} zend_catch {
		finished = false;
		EG(current_execute_data) = frame;
		EG(vm_stack) = stack;
		EG(vm_stack_top) = top;
		EG(vm_stack_end) = end;
	} zend_end_try();
	return finished;
}

void weft_handler_run(weft_coroutine *coroutine)
{
	weft_isolate_begin(coroutine);
	weft_request_open(coroutine);
	bool finished = contained(call_handler, coroutine);
	if (UNEXPECTED(finished && EG(exception))) {
		finished = contained(settle, coroutine);
	}
	for (step last[] = {settle_bailout, respond_plain, NULL}, *next = last; UNEXPECTED(!finished && *next); next++) {
		EG(exception) = EG(prev_exception) = NULL; /* leaked with the frames that held it */
		weft_isolate_reset();
		finished = contained(*next, coroutine);
	}
	weft_request_close(coroutine);
	smart_str_free(&coroutine->output);
	weft_isolate_end(coroutine);
	coroutine->request = 0;
}
