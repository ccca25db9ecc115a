/* Weft\Coroutine, timeout(), and the exception of a wait that was cut short.
 *
 * A coroutine is interrupted (once: a task was cancelled, a timeout() has expired) or cancelled for good (a request
 * has run too long, the worker ends). The scheduler knows only that a wait must end; the reason is stored here, in the
 * coroutine.
 *
 * Invariant: an interruption is thrown by one wait, or withdrawn: after timeout() has returned, nothing of it remains. */
#include "wait.h"
#include "coroutine.h"
#include "host.h"
#include "schedule.h"
#include "weft_arginfo.h"
#include "ext/spl/spl_exceptions.h"

zend_class_entry *weft_cancelled_class, *weft_timeout_class, *weft_deadlock_class;
static zend_class_entry *coroutine_class;

/* A running timeout(); on the C stack of its coroutine. */
struct weft_deadline {
	weft_timer timer;
	bool met; /* a wait has thrown for it */
	struct weft_deadline *outer;
};

/* ---- deadlines and waits ---- */

/* An optional number of seconds as a deadline. */
uint64_t weft_wait_deadline(double seconds, bool is_null)
{
	if (is_null) {
		return WEFT_NEVER;
	}
	uint64_t now = weft_host_now();
	double nanoseconds = seconds * 1e9;
	if (!(nanoseconds > 0)) {
		return now;
	}
	return nanoseconds >= (double) (WEFT_NEVER - now) ? WEFT_NEVER : now + (uint64_t) nanoseconds;
}

zend_string *weft_wait_seconds(double seconds)
{
	smart_str text = {0};
	smart_str_append_double(&text, seconds, (int) EG(precision), false);
	return smart_str_extract(&text);
}

/* Opens a wait. 0: waiting is not possible here, and an exception says why. */
uint64_t weft_wait_begin(void)
{
	if (UNEXPECTED(!weft_current)) {
		zend_throw_error(NULL, "Nothing can wait here: no coroutine runs. While an application boots, start tasks with Weft\\go(); "
			"they begin when the worker serves");
		return 0;
	}
	if (UNEXPECTED(!weft_coroutine_may_leave())) {
		zend_throw_error(NULL, "Nothing can wait here: PHP forbids it in a destructor");
		return 0;
	}
	return weft_host_wait_begin();
}

/* ---- why a wait was cut short ---- */

static void throw_cancelled(const char *what, const zend_string *reason)
{
	if (reason && ZSTR_LEN(reason)) {
		zend_throw_error(weft_cancelled_class, "%s: %s", what, ZSTR_VAL(reason));
	} else {
		zend_throw_error(weft_cancelled_class, "%s", what);
	}
}

/* The outermost timeout() that has expired and that no wait has met yet: the inner ones end with it. */
static struct weft_deadline *passed(weft_coroutine *coroutine)
{
	struct weft_deadline *found = NULL;
	uint64_t now = weft_host_now();
	for (struct weft_deadline *deadline = weft_wait_slot(coroutine)->deadline; deadline; deadline = deadline->outer) {
		if (!deadline->met && deadline->timer.at <= now) {
			found = deadline;
		}
	}
	return found;
}

static void throw_interrupted(weft_coroutine *coroutine)
{
	struct weft_deadline *deadline = passed(coroutine);
	if (weft_wait_slot(coroutine)->deadlocked) {
		weft_wait_slot(coroutine)->deadlocked = false;
		zend_throw_error(weft_deadlock_class, "All coroutines wait for each other; standard error says who waits for what");
	} else if (weft_wait_slot(coroutine)->interrupted) {
		weft_wait_slot(coroutine)->interrupted = false;
		throw_cancelled(coroutine->job == WEFT_JOB_TASK ? "The task was cancelled" : "The coroutine was interrupted", weft_wait_slot(coroutine)->reason);
	} else {
		throw_cancelled("The time of a timeout() has passed", NULL);
	}
	if (deadline) {
		deadline->met = true;
	}
}

/* A wait of the running coroutine has just been cut short: its caller gets an error, and PHP code gets this exception.
 * The VM's check for interrupts is not used, because loops compiled by the tracing JIT may run without it. */
void weft_cancel(bool for_good)
{
	weft_coroutine *coroutine = weft_current;
	coroutine->cancelled |= for_good;
	if (EG(exception) || !EG(current_execute_data)) {
		return; /* without a frame nothing can be thrown: a script's {main} that has ended sees the outcome (script.c) */
	}
	if (!for_good) {
		throw_interrupted(coroutine);
	} else if (weft_main) { /* the script has ended with exit() or an exception: its tasks end like exit() */
		zend_throw_exception_internal(zend_create_unwind_exit());
	} else if (coroutine->job == WEFT_JOB_TASK) {
		throw_cancelled("The task was cancelled: its worker had to end", NULL);
	} else if (coroutine->job == WEFT_JOB_EVENT) {
		throw_cancelled("The event was cancelled: it has run longer than request_timeout_ms, or its worker had to end", NULL);
	} else {
		throw_cancelled("The request was cancelled: it has run longer than request_timeout_ms, or its worker had to end", NULL);
	}
}

/* At a check of the VM in a coroutine that was cancelled while it computed. Catching the exception over and over is no
 * way to go on: after a second it ends like exit(). */
void weft_stop(void)
{
	const uint32_t caught_max = 1000; /* ms */
	const uint32_t alone = 10; /* ms, in which what the exception leads to can do something: a finally block, a destructor */
	uint32_t now = (uint32_t) (weft_host_now() / 1000000) | 1;
	weft_wait *wait = weft_wait_slot(weft_current);
	wait->stop = false;
	if (wait->stopped && now - wait->thrown < alone) {
		return; /* several have noticed the same end; whoever computes on is stopped at the end of its next slice */
	}
	wait->thrown = now;
	if (!wait->stopped) {
		char where[512];
		snprintf(where, sizeof(where), "the request is cancelled while it computes, at %s:%u%s",
			zend_get_executed_filename(), zend_get_executed_lineno(),
			weft_host_cancel_status() == 504 ? ": it has run longer than request_timeout_ms" : "");
		weft_host_log(WEFT_LOG_WARNING, weft_current->request, weft_slice_text(where));
		wait->stopped = now;
	}
	if (now - wait->stopped <= caught_max) {
		weft_cancel(true);
	} else if (!EG(exception)) {
		weft_current->cancelled = true;
		if (!SG(headers_sent)) {
			SG(sapi_headers).http_response_code = 500; /* so that the client gets the server's own status */
		}
		zend_throw_exception_internal(zend_create_unwind_exit());
	}
}

/* The C code whose wait was cut short has not returned to PHP. A library that pauses and tries again (SQLite does for
 * a locked database) ignores one failed pause. */
bool weft_cancel_pending(void)
{
	return EG(exception) && EG(exception)->ce == weft_cancelled_class;
}

void weft_wait_reset(weft_coroutine *coroutine)
{
	weft_wait_slot(coroutine)->deadline = NULL;
}

/* ---- timeout() ---- */

/* An exception of $work caused by the expired timeout becomes a TimeoutException; any other exception stays. */
static void convert_exception(double seconds)
{
	zend_object *thrown = EG(exception);
	if (zend_is_unwind_exit(thrown)) {
		return;
	}
	GC_ADDREF(thrown);
	zend_clear_exception();
	zval exception;
	object_init_ex(&exception, weft_timeout_class);
	char message[64];
	snprintf(message, sizeof(message), "Not done within %.9g seconds", seconds);
	zend_update_property_string(zend_ce_exception, Z_OBJ(exception), ZEND_STRL("message"), message);
	zend_throw_exception_object(&exception);
	zend_exception_set_previous(Z_OBJ(exception), thrown);
}

ZEND_FUNCTION(Weft_timeout)
{
	double seconds;
	zend_fcall_info call;
	zend_fcall_info_cache cache;
	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_DOUBLE(seconds)
		Z_PARAM_FUNC(call, cache)
	ZEND_PARSE_PARAMETERS_END();
	if (!(seconds > 0)) {
		zend_argument_value_error(1, "must be greater than 0");
		RETURN_THROWS();
	}
	weft_coroutine *coroutine = weft_current;
	if (!coroutine) {
		zend_throw_error(NULL, "Weft\\timeout() needs a coroutine: none runs while an application boots");
		RETURN_THROWS();
	}
	struct weft_deadline deadline = {.outer = weft_wait_slot(coroutine)->deadline};
	deadline.timer = weft_host_interrupt_at(weft_wait_deadline(seconds, false));
	weft_wait_slot(coroutine)->deadline = &deadline;
	call.retval = return_value;
	zend_call_function(&call, &cache);
	weft_wait_slot(coroutine)->deadline = deadline.outer;
	if (weft_host_disarm(deadline.timer)) {
		return;
	}
	if (!deadline.met) {
		if (!weft_wait_slot(coroutine)->interrupted && !passed(coroutine)) {
			weft_host_interrupt_forget();
		}
	} else if (EG(exception)) {
		convert_exception(seconds);
	}
}

/* ---- Weft\Coroutine ---- */

ZEND_METHOD(Weft_Coroutine, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

ZEND_METHOD(Weft_Coroutine, id)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG(weft_current ? (zend_long) weft_current->serial : 0);
}

ZEND_METHOD(Weft_Coroutine, prepare)
{
	zend_object *object = NULL;
	zend_string *text = NULL;
	bool external = false;
	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_OBJ_OR_STR(object, text)
		Z_PARAM_OPTIONAL
		Z_PARAM_BOOL(external)
	ZEND_PARSE_PARAMETERS_END();
	weft_coroutine *coroutine = weft_current;
	uint64_t wait = weft_wait_begin();
	if (!wait) {
		RETURN_THROWS();
	}
	zval_ptr_dtor(&weft_wait_slot(coroutine)->on);
	ZVAL_STR(&weft_wait_slot(coroutine)->on, object ? strpprintf(0, "%s #%u", ZSTR_VAL(object->ce->name), object->handle)
		: zend_string_copy(text));
	weft_wait_slot(coroutine)->external = external;
	weft_wait_slot(coroutine)->prepared = wait;
	RETURN_LONG((zend_long) wait);
}

/* The reference to an object is not the last one, and it was none that could keep a cycle alive: the garbage collector need not
 * look at it. */
static void forget_name(weft_wait *slot)
{
	if (Z_TYPE(slot->on) == IS_OBJECT && GC_REFCOUNT(Z_OBJ(slot->on)) > 1) {
		GC_DELREF(Z_OBJ(slot->on));
	} else {
		zval_ptr_dtor(&slot->on);
	}
	ZVAL_UNDEF(&slot->on);
}

weft_wait_end weft_wait_named(uint64_t wait, zval *on, uint64_t deadline)
{
	weft_wait *slot = weft_wait_slot(weft_current);
	zval_ptr_dtor(&slot->on);
	ZVAL_COPY(&slot->on, on);
	slot->external = false;
	slot->since = weft_host_now();
	weft_wait_end end = weft_host_wait(wait, deadline);
	slot->since = 0;
	forget_name(slot);
	return end;
}

/* Parks on the wait that prepare() has opened, until that ends or a descriptor is ready. WEFT_NOT_THIS_ONE: an
 * exception says why. */
weft_wait_end weft_wait_opened(uint64_t wait, struct pollfd *fds, size_t count, uint64_t deadline)
{
	weft_coroutine *coroutine = weft_current;
	weft_wait_end end = WEFT_NOT_THIS_ONE;
	if (coroutine && weft_wait_slot(coroutine)->prepared == wait) {
		weft_wait_slot(coroutine)->prepared = 0;
		weft_wait_slot(coroutine)->since = weft_host_now();
		end = count ? weft_host_wait_on(wait, fds, count, deadline) : weft_host_wait(wait, deadline);
		weft_wait_slot(coroutine)->since = 0;
		zval_ptr_dtor(&weft_wait_slot(coroutine)->on);
		ZVAL_UNDEF(&weft_wait_slot(coroutine)->on);
	}
	if (end == WEFT_NOT_THIS_ONE) {
		zend_throw_error(NULL, "This wait is not open: Coroutine::park() must follow Coroutine::prepare(), with nothing between "
			"that waits itself");
	}
	return end;
}

ZEND_METHOD(Weft_Coroutine, park)
{
	zend_long wait;
	double seconds = 0;
	bool for_ever = true;
	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_LONG(wait)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, for_ever)
	ZEND_PARSE_PARAMETERS_END();
	weft_wait_end end = weft_wait_opened((uint64_t) wait, NULL, 0, weft_wait_deadline(seconds, for_ever));
	if (end == WEFT_NOT_THIS_ONE) {
		RETURN_THROWS();
	}
	RETURN_BOOL(end == WEFT_WOKEN);
}

ZEND_METHOD(Weft_Coroutine, wake)
{
	zend_long wait;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(wait)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(weft_host_wake((uint64_t) wait));
}

/* Why the next wait of a coroutine will throw. */
void weft_interrupt(weft_coroutine *coroutine, zend_string *reason)
{
	weft_wait_slot(coroutine)->interrupted = true;
	if (weft_wait_slot(coroutine)->reason) {
		zend_string_release(weft_wait_slot(coroutine)->reason);
	}
	weft_wait_slot(coroutine)->reason = zend_string_copy(reason);
	weft_host_interrupt(coroutine->id);
}

ZEND_METHOD(Weft_Coroutine, interrupt)
{
	zend_long id;
	zend_string *reason = ZSTR_EMPTY_ALLOC();
	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_LONG(id)
		Z_PARAM_OPTIONAL
		Z_PARAM_STR(reason)
	ZEND_PARSE_PARAMETERS_END();
	for (weft_coroutine *coroutine = weft_coroutines; coroutine; coroutine = coroutine->next) {
		if (coroutine->serial == (uint64_t) id && coroutine->started && !coroutine->ended) {
			weft_interrupt(coroutine, reason);
			RETURN_TRUE;
		}
	}
	RETURN_FALSE;
}

ZEND_METHOD(Weft_Coroutine, yield)
{
	ZEND_PARSE_PARAMETERS_NONE();
	if (weft_wait_begin()) {
		weft_host_yield();
	}
}

void weft_wait_register(void)
{
	coroutine_class = register_class_Weft_Coroutine(NULL);
	weft_cancelled_class = register_class_Weft_CancelledError(zend_ce_error);
	weft_timeout_class = register_class_Weft_TimeoutException(spl_ce_RuntimeException);
	weft_deadlock_class = register_class_Weft_DeadlockError(zend_ce_error);
}
