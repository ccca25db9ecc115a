/* Steps of a job, each with its own base: a failure in a step ends there.
 *
 * Invariant: after a step, the VM is in the state in which it was before. */
#include "contain.h"
#include "outcome.h"
#include "php/version.h"
#include "reset.h"

bool weft_contained(weft_step run, weft_coroutine *coroutine)
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

/* Reports what a destructor has thrown, which no code can catch any more. */
static void report_late(weft_coroutine *coroutine)
{
	(void) coroutine;
	if (zend_is_unwind_exit(EG(exception)) || zend_is_graceful_exit(EG(exception))) {
		OBJ_RELEASE(EG(exception));
		weft_drop_exception();
	} else {
		zend_exception_error(EG(exception), E_WARNING);
	}
}

void weft_settle_late(bool finished, weft_coroutine *coroutine)
{
	if (finished) {
		finished = weft_contained(report_late, coroutine);
	} else {
		weft_drop_exception();
		weft_reset();
		finished = weft_contained(weft_settle_late_bailout, coroutine);
	}
	if (!finished) {
		weft_drop_exception();
		weft_reset();
	}
}

bool weft_contained_last(weft_step run, weft_coroutine *coroutine)
{
	bool finished = weft_contained(run, coroutine);
	if (UNEXPECTED(!finished || EG(exception))) {
		weft_settle_late(finished, coroutine);
	}
	return finished;
}
