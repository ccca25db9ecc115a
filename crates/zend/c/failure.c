/* Failures inside a coroutine, contained: fatal errors and C stack overflows (which stack.c notices); and the
 * interrupts that the watch thread requests.
 *
 * php_error_cb marks every object of the process as destructed before it bails out, in all coroutines: so fatal errors
 * of a request go to fatal_error() instead. */
#include "failure.h"
#include "coroutine.h"
#include "host.h"
#include "php/version.h"
#include "schedule.h"
#include "wait.h"
#include "zend_atomic.h"

#include <signal.h>
#include <stdio.h>

static bool contained;
static void (*slice_ended)(void); /* NULL: there are no time slices */
static bool (*runs_alone)(const zend_execute_data *frame);
static void (*stock_error_cb)(int, zend_string *, const uint32_t, zend_string *);
static void (*next_interrupt)(zend_execute_data *);
static volatile sig_atomic_t preempt, late;

static bool is_fatal(int type)
{
	const int fatal = E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR | E_PARSE;
	return (type & fatal) && !(type & E_DONT_BAIL);
}

/* Sets the result of error_get_last(). Takes ownership of both strings. */
void weft_remember_error(int type, zend_string *file, uint32_t line, zend_string *message)
{
	if (PG(last_error_message)) {
		zend_string_release(PG(last_error_message));
	}
	if (PG(last_error_file)) {
		zend_string_release(PG(last_error_file));
	}
	PG(last_error_type) = type;
	PG(last_error_message) = message;
	PG(last_error_file) = file;
	PG(last_error_lineno) = (int) line;
}

static void fatal_error(int type, zend_string *file, uint32_t line, zend_string *message)
{
	file = file ? zend_string_copy(file) : zend_string_init(ZEND_STRL("Unknown"), 0);
	weft_remember_error(type, file, line, zend_string_copy(message));
	EG(exit_status) = 255;
	zend_bailout();
}

static void on_error(int type, zend_string *file, const uint32_t line, zend_string *message)
{
	if (contained && weft_current && is_fatal(type)) {
		fatal_error(type, file, line, message);
	}
	if ((type & (E_WARNING | E_NOTICE)) && weft_cancel_pending()) {
		return; /* a C function reports that its wait was cut short; the pending exception already says so */
	}
	stock_error_cb(type, file, line, message);
}

static void on_interrupt(zend_execute_data *frame)
{
	if (weft_current && weft_current->overflowed) {
		weft_current->overflowed = false;
		zend_throw_error(NULL, "Maximum call stack size reached: the C stack of this coroutine is used up. Infinite recursion?");
		return;
	}
	if (late) {
		late = 0;
		if (weft_current && weft_host_is_late()) {
			weft_wait_slot(weft_current)->stop = true;
		}
	}
	if (weft_current && UNEXPECTED(weft_wait_slot(weft_current)->stop)) {
		weft_stop();
	}
	if (preempt && slice_ended && weft_current) {
		preempt = 0;
		if (!EG(exception)) {
			slice_ended();
		}
	} else if (preempt) {
		preempt = 0;
		/* Never while a class is being loaded: another coroutine that needs it would not find it. Never in the middle of weft's
		 * own classes: their waits and queues count on running alone up to the next wait. The watch thread asks again. */
		bool loading = weft_loading() && zend_hash_num_elements(weft_loading()) > 0;
		if (weft_current && !weft_wait_slot(weft_current)->prepared && !EG(exception) && !loading && !(runs_alone && runs_alone(frame)) && weft_coroutine_may_leave()) {
			weft_host_yield();
		}
	}
	if (next_interrupt) {
		next_interrupt(frame);
	}
}

/* From here on PHP's reports go through on_error(). */
void weft_errors_start(void)
{
	if (zend_error_cb != on_error) {
		stock_error_cb = zend_error_cb;
		zend_error_cb = on_error;
	}
}

/* contain: fatal errors end only their coroutine; otherwise PHP handles them as usual. */
void weft_failure_start(bool contain)
{
	static bool started;
	if (started) {
		return;
	}
	started = true;
	contained = contain;
	weft_errors_start();
}

void weft_interrupt_ask(void (*ended)(void))
{
	slice_ended = ended;
}

void weft_interrupt_except(bool (*in)(const zend_execute_data *frame))
{
	runs_alone = in;
}

/* Code of the JIT calls the function that is known when the JIT starts, after the modules. */
void weft_interrupts_start(void)
{
	next_interrupt = zend_interrupt_function;
	zend_interrupt_function = on_interrupt;
}

/* The running coroutine makes a call that blocks the whole worker: because the engine forbids a switch, or because the
 * function has no cooperative form. */
void weft_report_blocked(const char *function)
{
	char where[512];
	const char *why = weft_coroutine_may_leave() ? "it has no cooperative form"
		: weft_collecting() ? "the garbage collector waits for this destructor" : "PHP forbids to switch coroutines here";
	snprintf(where, sizeof(where), "%s() blocks the whole worker, at %s:%u: %s. It is counted, and said once per function",
		function, zend_get_executed_filename(), zend_get_executed_lineno(), why);
	weft_host_log(WEFT_LOG_WARNING, weft_current ? weft_current->request : 0, weft_slice_text(where));
}

const char *weft_stands_at(uint32_t *line)
{
	const zend_string *file = zend_get_executed_filename_ex();
	*line = file ? zend_get_executed_lineno() : 0;
	return file ? ZSTR_VAL(file) : NULL;
}

/* The running C stack is used up: raises an Error at the VM's next check. Called by the handler of SIGSEGV. */
void weft_interrupt_overflow(void)
{
	if (weft_current) {
		weft_current->overflowed = true;
	}
	zend_atomic_bool_store(&EG(vm_interrupt), true);
}

/* Other threads call the next two: they only set flags, which the VM checks between two instructions. */
void weft_interrupt_preempt(void)
{
	preempt = 1;
	zend_atomic_bool_store(&EG(vm_interrupt), true);
}

void weft_interrupt_late(void)
{
	late = 1;
	zend_atomic_bool_store(&EG(vm_interrupt), true);
}
