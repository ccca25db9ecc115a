/* An event of a WebSocket: one job, which calls one method of the application's service (php/src/Internal/Services.php).
 *
 * Between two events no coroutine and no PHP value exists for a connection. Invariants: the host hears of the end of each
 * event that it has given, so that the next one follows; a failure of a service closes its connection, and nothing else. */
#include "boot.h"
#include "contain.h"
#include "context.h"
#include "coroutine.h"
#include "host.h"
#include "isolate.h"
#include "outcome.h"
#include "php/version.h"
#include "reset.h"
#include "websocket.h"

#define SERVICES "Weft\\Internal\\Services"

/* Services::event(), once the class is there: it stays as long as the application. */
static WEFT_BOOT zend_function *event_method;

static zend_function *find_method(void)
{
	zend_string *name = zend_string_init(ZEND_STRL(SERVICES), 0);
	zend_class_entry *class = zend_lookup_class(name);
	zend_string_release(name);
	return class ? zend_hash_str_find_ptr(&class->function_table, ZEND_STRL("event")) : NULL;
}

static void call_service(weft_coroutine *coroutine)
{
	weft_event event;
	if (!weft_host_event_take(coroutine->argument, &event)) {
		return;
	}
	zval arguments[5], result;
	ZVAL_LONG(&arguments[0], event.service);
	ZVAL_LONG(&arguments[1], event.kind);
	ZVAL_STRINGL(&arguments[2], event.name.bytes, event.name.length);
	ZVAL_STRINGL(&arguments[3], event.data.bytes ? event.data.bytes : "", event.data.length);
	ZVAL_LONG(&arguments[4], event.code);
	ZVAL_UNDEF(&result);
	if (UNEXPECTED(!event_method)) {
		event_method = find_method();
	}
	if (event_method) {
		zend_call_known_function(event_method, NULL, event_method->common.scope, &result, 5, arguments, NULL);
	}
	zval_ptr_dtor(&result);
	zval_ptr_dtor(&arguments[2]);
	zval_ptr_dtor(&arguments[3]);
}

static void report(weft_coroutine *coroutine)
{
	(void) coroutine;
	zend_exception_error(EG(exception), E_WARNING);
}

/* A fatal error: PHP has lost the values in its frames, and the worker is replaced. */
static void settle_bailout(void)
{
	char text[1024];
	snprintf(text, sizeof(text), "%s in %s:%d", PG(last_error_message) ? ZSTR_VAL(PG(last_error_message)) : "a fatal error",
		PG(last_error_file) ? ZSTR_VAL(PG(last_error_file)) : "unknown", (int) PG(last_error_lineno));
	weft_host_log(WEFT_LOG_ERROR, 0, weft_slice_text(text));
	weft_host_replace(weft_slice_text("a fatal error in PHP code"));
	weft_reset();
}

/* Whether the service has failed. What it has thrown goes to the log; exit() only ends the method. */
static bool settle(bool finished, weft_coroutine *coroutine)
{
	if (EXPECTED(finished && !EG(exception))) {
		return false;
	}
	if (finished && !zend_is_unwind_exit(EG(exception)) && !zend_is_graceful_exit(EG(exception))) {
		weft_contained_last(report, coroutine);
		return true;
	}
	/* Debian's PHP unwinds from out-of-memory as from exit. */
	bool is_exit = finished && !(zend_is_unwind_exit(EG(exception)) && weft_take_out_of_memory());
	if (finished) {
		OBJ_RELEASE(EG(exception));
	}
	weft_drop_exception();
	if (!is_exit) {
		settle_bailout();
	}
	return !is_exit;
}

static void finish(weft_coroutine *coroutine)
{
	(void) coroutine;
	if (BG(user_shutdown_function_names)) {
		weft_run_shutdown_functions();
	}
	php_output_end_all();
}

void weft_event_run(weft_coroutine *coroutine)
{
	const uint64_t tunnel = coroutine->argument;
	weft_isolate_begin(coroutine);
	bool failed = settle(weft_contained(call_service, coroutine), coroutine);
	if (UNEXPECTED(Z_TYPE(weft_context_slot(coroutine)->deferred) != IS_UNDEF)) {
		weft_contained_last(weft_run_deferred, coroutine);
	}
	if (UNEXPECTED(BG(user_shutdown_function_names) || OG(active))) {
		weft_contained_last(finish, coroutine);
	}
	weft_isolate_end(coroutine);
	weft_host_event_done(tunnel, failed);
}
