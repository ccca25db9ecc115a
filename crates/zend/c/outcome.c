/* The end of a request that did not complete: exit(), exceptions, fatal errors, out of memory, cancellation.
 *
 * As under FPM, shutdown functions run, and their output is the answer; otherwise the client gets a page of ours.
 * Invariant: whatever happens, the request is answered once. */
#include "outcome.h"
#include "wait.h"
#include "coroutine.h"
#include "failure.h"
#include "host.h"
#include "php/version.h"
#include "response.h"
#include "session.h"
#include "zend_interfaces.h"

#define LOGGED_BYTES_MAX 4096

bool weft_development;

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

/* PHP itself catches a fatal error in one of them, and leaves the VM in frames that are gone; here it passes on to our
 * own base. */
void weft_run_shutdown_functions(void)
{
	php_call_shutdown_functions();
	php_free_shutdown_functions();
	if (UNEXPECTED(CG(unclean_shutdown))) {
		zend_bailout();
	}
}

/* Runs shutdown functions, once, and ends the output buffers that are still open. No code can catch what they throw,
 * so it is logged. */
void weft_finish_script(weft_coroutine *coroutine)
{
	if (UNEXPECTED(BG(user_shutdown_function_names) != NULL)) {
		weft_run_shutdown_functions();
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
				weft_drop_exception();
			}
			OBJ_RELEASE(exception);
		}
	}
	if (UNEXPECTED(OG(active) != NULL)) {
		php_output_end_all();
	}
	weft_session_end();
}

/* The development page for an exception: Weft\Development\ErrorPage::render(Throwable): string. */
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

/* Output from before the failure is not the page that the client requested: it is dropped. */
static void drop_output(weft_coroutine *coroutine)
{
	if (OG(active)) {
		php_output_discard_all();
	}
	smart_str_free(&weft_response_slot(coroutine)->output);
	zend_llist_clean(&SG(sapi_headers).headers);
	SG(sapi_headers).http_response_code = 500;
	SG(sapi_headers).send_default_content_type = 1;
}

/* Answers a failed request with the output of its shutdown functions (frameworks render their error page there), or
 * with a page of ours. */
static void respond_failure(weft_coroutine *coroutine, zend_object *exception, const char *text)
{
	zval page;
	if (weft_response_slot(coroutine)->streaming) {
		weft_finish_script(coroutine);
		weft_host_stream_end(coroutine->request, NULL, 0, true); /* cut short: the client must not take it for complete */
		return;
	}
	drop_output(coroutine);
	weft_finish_script(coroutine);
	zend_clear_exception(); /* of an output callback: only the first failure is reported */
	if (weft_response_slot(coroutine)->output.s) {
		weft_headers *with = weft_new_headers();
		weft_respond(coroutine, weft_php_status(), with, weft_slice_text(""));
	} else if (weft_development && exception && render_page(exception, &page)) {
		weft_headers *with = weft_new_headers();
		weft_respond(coroutine, 500, with, weft_slice_of(Z_STR(page)));
		zval_ptr_dtor(&page);
	} else {
		weft_respond_text(coroutine, 500, weft_development ? text : "Internal Server Error\n");
	}
}

/* error_get_last() gives shutdown functions the failure, as after any fatal error. */
static void remember_failure(zend_object *exception, zend_string *message)
{
	zval scratch;
	zend_class_entry *base = instanceof_function(exception->ce, zend_ce_exception) ? zend_ce_exception : zend_ce_error;
	zval *file = zend_read_property_ex(base, exception, ZSTR_KNOWN(ZEND_STR_FILE), 1, &scratch);
	weft_remember_error(E_ERROR, zval_get_string(file),
		zval_get_long(zend_read_property_ex(base, exception, ZSTR_KNOWN(ZEND_STR_LINE), 1, &scratch)),
		zend_string_concat2(ZEND_STRL("Uncaught "), ZSTR_VAL(message), ZSTR_LEN(message)));
}

/* The request's own fault: its body failed, and the handler did not handle that. The client is told the reason; the
 * log is not. */
static bool respond_body_failure(weft_coroutine *coroutine, zend_object *exception)
{
	if (!zend_string_equals_literal(exception->ce->name, "Weft\\Http\\BodyException") || weft_response_slot(coroutine)->streaming) {
		return false;
	}
	zval scratch;
	zend_long status = zval_get_long(zend_read_property_ex(zend_ce_exception, exception, ZSTR_KNOWN(ZEND_STR_CODE), 1, &scratch));
	drop_output(coroutine);
	weft_finish_script(coroutine);
	weft_respond_text(coroutine, status >= 400 && status <= 599 ? (uint32_t) status : 400, "The body of the request did not arrive.\n");
	return true;
}

/* The server has caused the end and has logged it. */
static void respond_cancelled(weft_coroutine *coroutine)
{
	drop_output(coroutine);
	weft_finish_script(coroutine);
	zend_clear_exception();
	uint32_t status = weft_host_cancel_status();
	weft_respond_text(coroutine, status, status == 504 ? "Gateway Timeout\n" : "Service Unavailable\n");
}

static void respond_exception(weft_coroutine *coroutine, zend_object *exception)
{
	if (respond_body_failure(coroutine, exception)) {
		return;
	}
	if (coroutine->cancelled && !weft_response_slot(coroutine)->streaming) {
		respond_cancelled(coroutine);
		return;
	}
	zend_string *text = describe(exception);
	log_failure(coroutine, "PHP Fatal error:  Uncaught ", text);
	remember_failure(exception, text);
	respond_failure(coroutine, exception, ZSTR_VAL(text));
	zend_string_release(text);
}

bool weft_call_exception_handler(zend_object *exception, bool once)
{
	if (Z_TYPE(EG(user_exception_handler)) == IS_UNDEF) {
		return false;
	}
	zval argument, result, callable;
	ZVAL_OBJ(&argument, exception);
	ZVAL_UNDEF(&result);
	ZVAL_COPY(&callable, &EG(user_exception_handler));
	if (once) {
		zval_ptr_dtor(&EG(user_exception_handler)); /* not the last reference */
		ZVAL_UNDEF(&EG(user_exception_handler));
	}
	call_user_function(NULL, NULL, &callable, &result, 1, &argument);
	zval_ptr_dtor(&callable);
	zval_ptr_dtor(&result);
	return true;
}

/* Calls the application's own exception handler. true: it has handled the exception. */
static bool handled_by_user(zend_object **exception)
{
	if (!weft_call_exception_handler(*exception, true)) {
		return false;
	}
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
	weft_drop_exception();
	return true;
}

static void respond_echoed(weft_coroutine *coroutine, uint32_t status)
{
	weft_finish_script(coroutine);
	weft_headers *with = weft_new_headers();
	weft_respond(coroutine, status, with, weft_slice_text(""));
}

/* An exception has left the handler. exit() is not one of them; others go to the application's handler, or become a
 * 500. */
static void settle_exception(weft_coroutine *coroutine)
{
	zend_object *exception = EG(exception);
	if (zend_is_unwind_exit(exception)) {
		OBJ_RELEASE(exception);
		weft_drop_exception();
		if (coroutine->cancelled && weft_wait_slot(coroutine)->stopped && !weft_response_slot(coroutine)->streaming) {
			respond_cancelled(coroutine); /* it was made to exit (weft_stop) */
		} else {
			respond_echoed(coroutine, weft_php_status());
		}
		return;
	}
	GC_ADDREF(exception);
	zend_clear_exception();
	if (handled_by_user(&exception)) {
		respond_echoed(coroutine, weft_php_status() == 200 ? 500 : weft_php_status());
	} else {
		respond_exception(coroutine, exception);
	}
	OBJ_RELEASE(exception);
}

/* A bailout has discarded the frames of this coroutine. Their values are leaked, so the worker must be replaced after
 * the requests in flight. */
static zend_string *report_bailout(weft_coroutine *coroutine)
{
	zend_string *message = PG(last_error_message) ? PG(last_error_message) : ZSTR_EMPTY_ALLOC();
	const char *file = PG(last_error_file) ? ZSTR_VAL(PG(last_error_file)) : "unknown";
	zend_string *text = strpprintf(0, "%s in %s:%d\n", ZSTR_VAL(message), file, (int) PG(last_error_lineno));
	log_failure(coroutine, "PHP Fatal error:  ", text);
	weft_host_replace(weft_slice_text("a fatal error in PHP code"));
	return text;
}

void weft_settle_bailout(weft_coroutine *coroutine)
{
	zend_string *text = report_bailout(coroutine);
	respond_failure(coroutine, NULL, ZSTR_VAL(text));
	zend_string_release(text);
}

/* The same, if no client waits for a response any more. */
void weft_settle_late_bailout(weft_coroutine *coroutine)
{
	zend_string_release(report_bailout(coroutine));
}

/* The last resort: even the error answer has failed. */
void weft_respond_plain(weft_coroutine *coroutine)
{
	smart_str_free(&weft_response_slot(coroutine)->output);
	if (weft_response_slot(coroutine)->streaming) {
		weft_host_stream_end(coroutine->request, NULL, 0, true);
	} else {
		weft_respond_text(coroutine, 500, "Internal Server Error\n");
	}
}

/* Debian's PHP unwinds from out-of-memory as from exit, but leaves additional state behind. */
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

/* Ends a request that has not completed. */
void weft_settle(weft_coroutine *coroutine)
{
	if (weft_take_out_of_memory()) {
		OBJ_RELEASE(EG(exception));
		EG(exception) = NULL;
		weft_settle_bailout(coroutine);
	} else {
		settle_exception(coroutine);
	}
}
