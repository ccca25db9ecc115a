/* Work that a signal's handler has left for PHP while every coroutine is parked: a coroutine of its own does it.
 *
 * pcntl's C handler only queues the signal and has the VM look at it between two instructions (pcntl_async_signals). While
 * all coroutines wait there is no next instruction, so this makes the VM's call itself.
 *
 * Invariant: nothing happens unless the VM was asked to look, and an exception goes to the log: there is no code that it could
 * interrupt. */
#include "weft.h"

/* Whether the VM was asked to look at something. Called by the loop. */
bool weft_signals_pending(void)
{
	return zend_interrupt_function && zend_atomic_bool_load(&EG(vm_interrupt));
}

static void look(void)
{
	if (!weft_signals_pending()) {
		return; /* somebody else has looked meanwhile */
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
		EG(exception) = EG(prev_exception) = NULL;
		weft_isolate_reset();
	} zend_end_try();
	if (isolated) {
		weft_isolate_end(coroutine);
	}
}
