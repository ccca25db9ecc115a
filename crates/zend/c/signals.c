/* Signals in a worker: weft's own, and work that a handler has left for PHP while every coroutine is parked.
 *
 * weft uses SIGTERM and similar signals to talk to its workers. They are blocked permanently, so PHP's handler for one
 * of them would never be called: pcntl_signal() refuses them, as it does SIGKILL.
 *
 * pcntl's C handler only queues the signal and makes the VM check for it between two instructions
 * (pcntl_async_signals). While all coroutines wait there is no next instruction, so a separate coroutine makes the
 * VM's call.
 *
 * Invariant: nothing happens unless the VM was asked to check, and an exception goes to the log, because there is no
 * code that it could interrupt. */
#include "signals.h"
#include "coroutine.h"
#include "isolate.h"
#include "php/version.h"
#include "reset.h"
#include "wrap.h"

#include <signal.h>
#include <unistd.h>

/* crates/weft/src/worker/signals.rs handles the first five, worker/lost.rs beside it the last. */
static const int own[] = {SIGTERM, SIGQUIT, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
static const char *const own_names[] = {"SIGTERM", "SIGQUIT", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2"};
#define OWN (sizeof(own) / sizeof(own[0]))

static pid_t worker;
static zif_handler stock_signal;
static zif_handler stock_mask;

static ZEND_NAMED_FUNCTION(signal_in_worker)
{
	zval *arguments = ZEND_CALL_ARG(execute_data, 1);
	bool sets = ZEND_NUM_ARGS() >= 2 && Z_TYPE(arguments[0]) == IS_LONG && Z_TYPE(arguments[1]) != IS_LONG;
	for (size_t i = 0; sets && i < OWN && worker == getpid(); i++) {
		if (Z_LVAL(arguments[0]) == own[i]) {
			php_error_docref(NULL, E_WARNING, "%s is weft's own in a worker, where this handler would never be called. Use SIGALRM "
				"or a real-time signal; tasks started at boot are cancelled when the worker ends", own_names[i]);
			RETURN_FALSE;
		}
	}
	stock_signal(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* Whatever mask it sets, the signals that are read from a descriptor stay blocked, and SIGSEGV does not become so: its
 * handler opens stacks and code (stack.c, timeslice.c), in a child of fork, too. */
static ZEND_NAMED_FUNCTION(mask_in_worker)
{
	sigset_t set;
	stock_mask(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	if (worker != getpid()) {
		return;
	}
	sigemptyset(&set);
	for (size_t i = 0; i < OWN; i++) {
		if (own[i] != SIGUSR2) {
			sigaddset(&set, own[i]);
		}
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
}

void weft_signals_prepare(void)
{
	weft_wrap(NULL, "pcntl_signal", signal_in_worker, NULL, &stock_signal);
	weft_wrap(NULL, "pcntl_sigprocmask", mask_in_worker, NULL, &stock_mask);
}

void weft_signals_start(void)
{
	worker = getpid();
}

/* Whether the VM was asked to check for something. Called by the loop. */
bool weft_signals_pending(void)
{
	return zend_interrupt_function && zend_atomic_bool_load(&EG(vm_interrupt));
}

static void look(void)
{
	if (!weft_signals_pending()) {
		return; /* other code has checked meanwhile */
	}
	zend_atomic_bool_store(&EG(vm_interrupt), false);
	zend_interrupt_function(EG(current_execute_data));
	if (EG(exception) && !zend_is_unwind_exit(EG(exception))) {
		zend_exception_error(EG(exception), E_WARNING);
	}
	zend_clear_exception();
}

void weft_signals_run(weft_coroutine *coroutine)
{
	zend_execute_data *frame = EG(current_execute_data);
	zend_vm_stack stack = EG(vm_stack);
	zval *top = EG(vm_stack_top), *end = EG(vm_stack_end);
	bool isolated = weft_isolates && coroutine->fiber;
	if (isolated) {
		weft_isolate_begin(coroutine);
	}
	zend_try {
		look();
	} zend_catch {
		EG(current_execute_data) = frame;
		EG(vm_stack) = stack;
		EG(vm_stack_top) = top;
		EG(vm_stack_end) = end;
		weft_drop_exception();
		weft_reset();
	} zend_end_try();
	if (isolated) {
		weft_isolate_end(coroutine);
	}
}
