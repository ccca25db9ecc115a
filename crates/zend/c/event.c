/* An event of a connection: one job, which calls one method of the application's service (php/src/Internal/Services.php). Messages, of
 * which there are most, find it without PHP code in between where the service has no more to do with them.
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
#include "response.h"
#include "websocket.h"
#include "weft_arginfo.h"

#define SERVICES "Weft\\Internal\\Services"
#define SERVICES_MAX UINT16_MAX /* it bounds the table, and is far beyond what applications have */

/* Services::event(), once the class is there: it stays as long as the application. */
static WEFT_BOOT zend_function *event_method;

static zend_function *find_method(void)
{
	zend_string *name = zend_string_init(ZEND_STRL(SERVICES), 0);
	zend_class_entry *class = zend_lookup_class(name);
	zend_string_release(name);
	return class ? zend_hash_str_find_ptr(&class->function_table, ZEND_STRL("event")) : NULL;
}

/* A service whose messages are given to it by give_message(). Services::$services holds it as long as the application. */
typedef struct {
	zend_object *service; /* NULL: Services::event() gives them */
	zend_function *message;
	zend_class_entry *connection;
	bool told; /* which messages are binary */
} receiver;

static WEFT_BOOT receiver *receivers;
static WEFT_BOOT uint32_t receivers_count;

ZEND_FUNCTION(Weft_Internal_service_receives)
{
	zend_long number;
	zend_object *service;
	zend_class_entry *connection = NULL;
	bool told;
	ZEND_PARSE_PARAMETERS_START(4, 4)
		Z_PARAM_LONG(number)
		Z_PARAM_OBJ(service)
		Z_PARAM_CLASS(connection)
		Z_PARAM_BOOL(told)
	ZEND_PARSE_PARAMETERS_END();
	if (number < 0 || number > SERVICES_MAX) {
		zend_value_error("There is no service of this number");
		RETURN_THROWS();
	}
	if (number >= receivers_count) {
		receivers = safe_perealloc(receivers, (size_t) number + 1, sizeof(receiver), 0, 1);
		memset(receivers + receivers_count, 0, ((size_t) number + 1 - receivers_count) * sizeof(receiver));
		receivers_count = (uint32_t) number + 1;
	}
	zend_function *message = zend_hash_str_find_ptr(&service->ce->function_table, ZEND_STRL("message"));
	receivers[number] = (receiver) {message ? service : NULL, message, connection, told};
}

static const receiver *receiver_of(const weft_event *event)
{
	bool is_message = event->kind == WEFT_EVENT_TEXT || event->kind == WEFT_EVENT_BINARY;
	const receiver *found = is_message && event->service < receivers_count ? &receivers[event->service] : NULL;
	return found && found->service ? found : NULL;
}

/* Calls $service->message(new Connection($name), $data, $binary). */
static void give_message(const receiver *to, const weft_event *event)
{
	zval arguments[3], result;
	if (UNEXPECTED(object_init_ex(&arguments[0], to->connection) != SUCCESS)) {
		return;
	}
	zval *name = OBJ_PROP_NUM(Z_OBJ(arguments[0]), 0); /* readonly, and all that it has */
	ZVAL_STRINGL(name, event->name.bytes, event->name.length);
	Z_PROP_FLAG_P(name) = 0; /* it is initialised */
	ZVAL_STRINGL_FAST(&arguments[1], event->data.bytes ? event->data.bytes : "", event->data.length);
	ZVAL_BOOL(&arguments[2], event->kind == WEFT_EVENT_BINARY);
	ZVAL_UNDEF(&result);
	zend_call_known_function(to->message, to->service, to->service->ce, &result, to->told ? 3 : 2, arguments, NULL);
	zval_ptr_dtor(&result);
	zval_ptr_dtor(&arguments[1]);
	zval_ptr_dtor(&arguments[0]);
}

static void call_service(weft_coroutine *coroutine)
{
	weft_event event;
	if (!weft_host_event_take(coroutine->argument, &event)) {
		return;
	}
	const receiver *direct = receiver_of(&event);
	if (EXPECTED(direct)) {
		return give_message(direct, &event);
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

/* The usual course of an event, one base for all of it: nothing failed, and nothing is left to run. */
static void handle(weft_coroutine *coroutine)
{
	call_service(coroutine);
	if (!EG(exception) && Z_TYPE(weft_context_slot(coroutine)->deferred) == IS_ARRAY) {
		weft_run_deferred_natively(coroutine);
	}
	bool is_rest = Z_TYPE(weft_context_slot(coroutine)->deferred) != IS_UNDEF || BG(user_shutdown_function_names) || OG(active);
	if (EXPECTED(!EG(exception) && !is_rest)) {
		weft_response_slot(coroutine)->answered = true;
		weft_isolate_free(coroutine);
	}
}

void weft_event_run(weft_coroutine *coroutine)
{
	const uint64_t tunnel = coroutine->argument;
	weft_isolate_begin(coroutine);
	weft_response_slot(coroutine)->answered = false;
	bool finished = weft_contained(handle, coroutine);
	if (EXPECTED(weft_response_slot(coroutine)->answered)) {
		if (UNEXPECTED(!finished || EG(exception))) {
			weft_settle_late(finished, coroutine);
			weft_isolate_end(coroutine);
		}
		return weft_host_event_done(tunnel, false);
	}
	bool failed = settle(finished, coroutine);
	if (UNEXPECTED(Z_TYPE(weft_context_slot(coroutine)->deferred) != IS_UNDEF)) {
		weft_contained_last(weft_run_deferred, coroutine);
	}
	if (UNEXPECTED(BG(user_shutdown_function_names) || OG(active))) {
		weft_contained_last(finish, coroutine);
	}
	weft_isolate_end(coroutine);
	weft_host_event_done(tunnel, failed);
}
