/* The application's handler: loaded once when the worker boots, then run on a coroutine for each request.
 *
 * It may return a string, null (the echoed output is the body), a Weft\Http\Response, or a Generator (each yielded
 * string is sent as it comes). Every failure ends here, at the coroutine's own base, as this request's 500 and nothing
 * else. */
#include "handler.h"
#include "contain.h"
#include "context.h"
#include "coroutine.h"
#include "isolate.h"
#include "leftover.h"
#include "outcome.h"
#include "php/version.h"
#include "request.h"
#include "reset.h"
#include "response.h"
#include "session.h"
#include "superglobals.h"

static zend_fcall_info handler;
static zend_fcall_info_cache handler_cache;
static zval handler_value;

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

/* A handler for PSR-7 gets a translator (php/src/Internal/Application.php); every other value stays as it is. */
static bool translate(zval *value)
{
	zval function, result;
	ZVAL_STRING(&function, "Weft\\Internal\\Application::handler");
	ZVAL_UNDEF(&result);
	bool called = call_user_function(NULL, NULL, &function, &result, 1, value) == SUCCESS && Z_TYPE(result) != IS_UNDEF;
	zval_ptr_dtor(&function);
	if (called) {
		zval_ptr_dtor(value);
		ZVAL_COPY_VALUE(value, &result);
	}
	return called;
}

/* Includes the application's script and keeps the handler it returns. Returns 0, or what is wrong: 1 it cannot be
 * run, 2 it returned something that is not callable. */
weft_load_result weft_handler_load(const char *path)
{
	ZVAL_UNDEF(&handler_value);
	if (!include(path, &handler_value)) {
		return WEFT_LOAD_FAILED;
	}
	if (Z_TYPE(handler_value) == IS_OBJECT || Z_TYPE(handler_value) == IS_ARRAY || Z_TYPE(handler_value) == IS_STRING) {
		volatile bool translated = false;
		zend_try {
			translated = translate(&handler_value);
		} zend_end_try();
		if (!translated) {
			return WEFT_LOAD_FAILED;
		}
	}
	if (zend_fcall_info_init(&handler_value, 0, &handler, &handler_cache, NULL, NULL) != SUCCESS) {
		return WEFT_LOAD_NOT_CALLABLE;
	}
	weft_response_start();
	return WEFT_LOAD_LOADED;
}

/* The function behind the handler, for code that inspects it. */
zend_function *weft_handler_function(void)
{
	return handler_cache.function_handler;
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
	weft_session_begin();
	if (UNEXPECTED(EG(exception) != NULL)) {
		return;
	}
	zend_fcall_info call = handler;
	call.retval = &result;
	call.params = weft_request_slot(coroutine);
	call.param_count = 1;
	zend_call_function(&call, &handler_cache);
	if (EXPECTED(!EG(exception))) {
		if (UNEXPECTED(*weft_leftover_slot(coroutine) != NULL)) {
			weft_leftover_buffers(coroutine);
		}
		weft_finish_script(coroutine);
		if (EXPECTED(!EG(exception))) { /* an output callback may throw */
			weft_request_keep(coroutine);
			weft_respond_value(coroutine, &result);
		}
	}
	zval_ptr_dtor(&result);
}

/* The handler and, if nothing failed, everything that follows it: one base for both. */
static void handle(weft_coroutine *coroutine)
{
	call_handler(coroutine);
	if (!EG(exception) && Z_TYPE(weft_context_slot(coroutine)->deferred) == IS_ARRAY) {
		weft_run_deferred_natively(coroutine);
	}
	if (EXPECTED(!EG(exception)) && EXPECTED(Z_TYPE(weft_context_slot(coroutine)->deferred) == IS_UNDEF) && EXPECTED(!*weft_leftover_slot(coroutine))) {
		weft_response_slot(coroutine)->answered = true;
		weft_request_close(coroutine);
		smart_str_free(&weft_response_slot(coroutine)->output);
		weft_isolate_free(coroutine);
		coroutine->request = 0;
	}
}

/* What the handler has thrown is answered; the request's bytes end with that. */
static void settle(weft_coroutine *coroutine)
{
	weft_request_keep(coroutine);
	weft_settle(coroutine);
}

/* A step of the end has failed after the answer: the rest is still freed. */
static void end_late(bool finished, weft_coroutine *coroutine)
{
	weft_settle_late(finished, coroutine);
	smart_str_free(&weft_response_slot(coroutine)->output);
	weft_isolate_end(coroutine);
	coroutine->request = 0;
}

void weft_handler_run(weft_coroutine *coroutine)
{
	weft_isolate_begin(coroutine);
	weft_request_open(coroutine);
	if (UNEXPECTED(weft_development)) {
		weft_leftover_begin(coroutine);
	}
	weft_response_slot(coroutine)->answered = false;
	bool finished = weft_contained(handle, coroutine);
	if (EXPECTED(weft_response_slot(coroutine)->answered)) {
		if (UNEXPECTED(!finished || EG(exception))) {
			end_late(finished, coroutine);
		}
		return;
	}
	if (UNEXPECTED(finished && EG(exception))) {
		finished = weft_contained(settle, coroutine);
	}
	for (weft_step last[] = {weft_settle_bailout, weft_respond_plain, NULL}, *next = last; UNEXPECTED(!finished && *next); next++) {
		weft_drop_exception(); /* leaked with the frames that held them */
		weft_reset();
		finished = weft_contained(*next, coroutine);
	}
	if (UNEXPECTED(Z_TYPE(weft_context_slot(coroutine)->deferred) != IS_UNDEF)) {
		weft_response_slot(coroutine)->streaming = false; /* the response has been sent; further output is dropped */
		weft_contained_last(weft_run_deferred, coroutine);
	}
	weft_request_close(coroutine);
	smart_str_free(&weft_response_slot(coroutine)->output);
	if (UNEXPECTED(*weft_leftover_slot(coroutine) != NULL)) {
		weft_contained(weft_leftover_end, coroutine);
	}
	weft_isolate_end(coroutine);
	coroutine->request = 0;
}
