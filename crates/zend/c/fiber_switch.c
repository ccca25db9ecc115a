/* The switch within one PHP instance: pooled Fibers, entered and left by raw context switches.
 *
 *     loop ── enter ──► coroutine ──► (user Fiber ──► …)          zend_fiber_switch_context in both directions;
 *     loop ◄── leave ── wherever it stands                        the engine keeps the VM stack, bailout, active fiber
 *
 * A pooled coroutine is a real \Fiber object, so that Fiber::getCurrent() and libraries built on it work as they
 * expect. It runs `weft_coroutine_main` forever, one job after another. A script's {main} is a bare context: for it
 * Fiber::getCurrent() is null, as under the php command.
 *
 * Invariants: only the loop enters; a coroutine leaves only to the loop; a context is destroyed only when idle. A
 * Fiber to which user code has kept a reference never runs another job, because it would lead to another visitor's
 * request. */
#include "fiber_switch.h"
#include "classic.h"
#include "coroutine.h"
#include "fiber.h"
#include "handler.h"
#include "host.h"
#include "isolate.h"
#include "php/version.h"
#include "resident.h"
#include "schedule.h"
#include "script.h"
#include "signals.h"
#include "site.h"
#include "stack.h"
#include "stack_zones.h"
#include "superglobals.h"
#include "task.h"
#include "wait.h"
#include "websocket.h"
#include "zend_closures.h"
#include "zend_interfaces.h"

#include <sys/mman.h>

static zend_fiber_context *loop_context;
static bool bare_first; /* the first coroutine is a script's {main} */
static size_t stack_bytes; /* for pooled coroutines and {main}; an application's own Fibers have fiber.stack_size */
static zend_long fibers_stack_bytes; /* fiber.stack_size, saved while a pooled coroutine gets its stack */
static weft_coroutine *starting;
static zend_fiber_context bare_context; /* the context of that one */
static char bare_kind;
static zend_function *fiber_start;
static zend_internal_function main_function; /* the function that a pooled Fiber runs; it is in no function table */
static zval main_closure;                    /* all of them run the same one */

static void switch_to(zend_fiber_context *context)
{
	zend_fiber_transfer transfer = {.context = context, .flags = 0};
	ZVAL_NULL(&transfer.value);
	zend_fiber_switch_context(&transfer);
}

static void take_job(weft_coroutine *coroutine, uint32_t job, uint64_t argument)
{
	coroutine->job = job;
	coroutine->argument = argument;
	coroutine->cancelled = weft_wait_slot(coroutine)->interrupted = weft_wait_slot(coroutine)->stop = false;
	weft_wait_slot(coroutine)->stopped = 0;
	coroutine->request = job == WEFT_JOB_REQUEST ? argument : 0;
	coroutine->serial = job == WEFT_JOB_TASK ? weft_task_id(argument) : weft_serial_next();
	coroutine->id = weft_host_self();
}

/* Whether code outside of the pool has a reference to a coroutine's Fiber. */
static bool is_known(const weft_coroutine *coroutine)
{
	return GC_REFCOUNT(coroutine->fiber) > 1 || (GC_FLAGS(coroutine->fiber) & IS_OBJ_WEAKLY_REFERENCED);
}

/* If several requests arrive together, or events, each starts where the previous one ended, without a switch. */
static void run_row(weft_coroutine *coroutine, uint32_t job, void (*run)(weft_coroutine *), bool (*next)(uint64_t *))
{
	uint64_t argument;
	run(coroutine);
	while (!coroutine->stack_opened && !is_known(coroutine) && next(&argument)) {
		take_job(coroutine, job, argument);
		run(coroutine);
	}
}

void weft_job_run(weft_coroutine *coroutine)
{
	switch (coroutine->job) {
		case WEFT_JOB_REQUEST:
			run_row(coroutine, WEFT_JOB_REQUEST, weft_handler_run, weft_host_next_request);
			break;
		case WEFT_JOB_TASK:
			weft_task_run(coroutine);
			break;
		case WEFT_JOB_EVENT:
			run_row(coroutine, WEFT_JOB_EVENT, weft_event_run, weft_host_next_event);
			break;
		case WEFT_JOB_SIGNALS:
			weft_signals_run(coroutine);
			break;
		case WEFT_JOB_RESIDENT:
			weft_site_enter(coroutine, weft_resident_site(coroutine));
			weft_resident_run(coroutine);
			weft_site_leave(coroutine);
			break;
		case WEFT_JOB_CLASSIC:
			weft_classic_run(coroutine);
			break;
		default:
			weft_script_run(coroutine);
	}
}

/* Destructors of what was freed at a job's end may have made a new weak reference to the Fiber. It is removed at the
 * end of a job that does nothing; that end may make another one. */
static void forget_again(weft_coroutine *coroutine)
{
	const int attempts_max = 3;
	for (int i = 0; i < attempts_max && (GC_FLAGS(coroutine->fiber) & IS_OBJ_WEAKLY_REFERENCED); i++) {
		weft_isolate_begin(coroutine);
		weft_isolate_end(coroutine);
	}
}

/* Where it leaves, for the next enter, and what lies beyond. */
static void remember(weft_coroutine *coroutine)
{
	coroutine->resume_at = EG(current_fiber_context);
	coroutine->vm_top = EG(vm_stack_top);
	coroutine->vm_end = EG(vm_stack_end);
}

/* Runs jobs until it is told to end. Runs on the coroutine. */
static void take_jobs(weft_coroutine *coroutine)
{
	while (coroutine->job != WEFT_JOB_END) {
		weft_job_run(coroutine);
		if (UNEXPECTED(GC_FLAGS(coroutine->fiber) & IS_OBJ_WEAKLY_REFERENCED)) {
			forget_again(coroutine);
		}
		if (UNEXPECTED(coroutine->stack_opened)) {
			coroutine->stack_opened = coroutine->overflowed = false;
			weft_stack_restore(EG(current_fiber_context));
		}
		coroutine->ended = true;
		remember(coroutine);
		switch_to(loop_context);
	}
}

static ZEND_NAMED_FUNCTION(weft_coroutine_main)
{
	ZEND_PARSE_PARAMETERS_NONE();
	EG(fiber_stack_size) = fibers_stack_bytes;
	take_jobs(starting);
}

/* The VM stack of a bare context, set up as zend_fiber_execute (Zend/zend_fibers.c) does for a Fiber. */
static void bare_main(zend_fiber_transfer *transfer)
{
	static zend_function bottom = {ZEND_INTERNAL_FUNCTION};
	weft_coroutine *coroutine = starting;
	zend_vm_stack stack = emalloc(ZEND_FIBER_VM_STACK_SIZE);
	stack->top = ZEND_VM_STACK_ELEMENTS(stack);
	stack->end = (zval *) ((char *) stack + ZEND_FIBER_VM_STACK_SIZE);
	stack->prev = NULL;
	EG(vm_stack) = stack;
	EG(vm_stack_top) = stack->top + ZEND_CALL_FRAME_SLOT;
	EG(vm_stack_end) = stack->end;
	EG(vm_stack_page_size) = ZEND_FIBER_VM_STACK_SIZE;
	zend_execute_data *frame = (zend_execute_data *) stack->top;
	memset(frame, 0, sizeof(*frame));
	frame->func = &bottom;
	EG(current_execute_data) = NULL;
	EG(jit_trace_num) = 0;
	EG(active_fiber) = NULL;
	weft_stack_is_of(&bare_context);
	weft_job_run(coroutine);
	coroutine->ended = true;
	coroutine->lost = true;
	zend_vm_stack_destroy();
	transfer->context = loop_context;
	transfer->flags = 0;
	ZVAL_NULL(&transfer->value);
}

void weft_switch_start(bool bare, size_t bytes)
{
	loop_context = EG(current_fiber_context);
	bare_first = bare;
	stack_bytes = bytes + YELLOW_BYTES;
	fiber_start = zend_hash_str_find_ptr(&zend_ce_fiber->function_table, ZEND_STRL("start"));
	main_function.type = ZEND_INTERNAL_FUNCTION;
	main_function.handler = weft_coroutine_main;
	main_function.function_name = zend_string_init_interned(ZEND_STRL("{coroutine}"), 1);
	weft_fiber_methods_start();
}

/* Whether another stack can be created: the mappings that zend_fiber_stack_allocate (Zend/zend_fibers.c) will need.
 * That function would throw, and an exception in the loop, which no code can catch, ends the process with all its
 * requests. */
static bool stack_available(size_t bytes)
{
	const size_t guard = weft_page_bytes();
	void *stack = mmap(NULL, bytes + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED) {
		return false;
	}
	bool available = mprotect(stack, guard, PROT_NONE) == 0;
	munmap(stack, bytes + guard);
	return available;
}

/* Calls a native method with at most one argument. zend_call_function would then check for signals and call their
 * handlers in the loop, where an exception finds no frame and ends the process. */
static void call_from_loop(zend_function *method, zend_object *object, zval *argument, zval *result)
{
	zend_execute_data *call =
		zend_vm_stack_push_call_frame(ZEND_CALL_TOP_FUNCTION | ZEND_CALL_HAS_THIS, method, argument ? 1 : 0, object);
	if (argument) {
		ZVAL_COPY(ZEND_CALL_ARG(call, 1), argument);
	}
	call->prev_execute_data = EG(current_execute_data);
	EG(current_execute_data) = call;
	method->internal_function.handler(call, result);
	EG(current_execute_data) = call->prev_execute_data;
	zend_vm_stack_free_args(call);
	zend_vm_stack_free_call_frame(call);
}

/* Gives a coroutine its Fiber, which has no stack until it is started. */
static void make_fiber(weft_coroutine *coroutine)
{
	zval fiber, result;
	object_init_ex(&fiber, zend_ce_fiber);
	if (Z_TYPE(main_closure) == IS_UNDEF) {
		zend_create_closure(&main_closure, (zend_function *) &main_function, NULL, NULL, NULL);
	}
	ZVAL_UNDEF(&result);
	call_from_loop(zend_ce_fiber->constructor, Z_OBJ(fiber), &main_closure, &result);
	coroutine->fiber = Z_OBJ(fiber);
	coroutine->started = false;
	/* A Fiber's destructor resumes it if it looks suspended, in order to unwind it. This one has nothing to unwind when
	 * it is idle, and would take its last job again. */
	GC_ADD_FLAGS(coroutine->fiber, IS_OBJ_DESTRUCTOR_CALLED);
	weft_fiber_mark(coroutine->fiber, coroutine);
}

/* NULL: no memory, or no mappings left (vm.max_map_count). */
weft_coroutine *weft_coroutine_create(void)
{
	if (!stack_available(stack_bytes)) {
		return NULL;
	}
	weft_coroutine *coroutine = calloc(1, sizeof(*coroutine));
	if (!coroutine) {
		return NULL;
	}
	if (bare_first) {
		bare_first = false;
		if (!weft_context_init(&bare_context, &bare_kind, bare_main, stack_bytes)) {
			zend_clear_exception();
			free(coroutine);
			return NULL;
		}
		coroutine->resume_at = &bare_context;
		weft_coroutine_list(coroutine);
		return coroutine;
	}
	make_fiber(coroutine);
	weft_coroutine_list(coroutine);
	return coroutine;
}

/* Fiber::start() allocates the stack; the first leave() returns from it. false: no memory or mappings for a stack. */
static bool start_fiber(weft_coroutine *coroutine)
{
	zval result;
	ZVAL_UNDEF(&result);
	fibers_stack_bytes = EG(fiber_stack_size);
	EG(fiber_stack_size) = stack_bytes;
	call_from_loop(fiber_start, coroutine->fiber, NULL, &result);
	EG(fiber_stack_size) = fibers_stack_bytes;
	zval_ptr_dtor(&result);
	if (EG(exception)) {
		zend_clear_exception();
		return false;
	}
	return true;
}

/* The main function of an idle coroutine returns, so that its Fiber ends like any other. */
static void end_fiber(weft_coroutine *coroutine)
{
	if (coroutine->fiber && coroutine->started && !coroutine->lost) {
		coroutine->job = WEFT_JOB_END;
		switch_to(coroutine->resume_at);
	}
}

/* Ends an idle coroutine's Fiber. Code that has kept it finds it terminated; the loop must not run what a weak
 * reference would. */
static void drop_fiber(weft_coroutine *coroutine)
{
	end_fiber(coroutine);
	weft_fiber_mark(coroutine->fiber, NULL);
	if (!(GC_FLAGS(coroutine->fiber) & IS_OBJ_WEAKLY_REFERENCED)) {
		OBJ_RELEASE(coroutine->fiber);
	}
}

weft_enter_result weft_coroutine_enter(weft_coroutine *coroutine, bool has_job, uint32_t job, uint64_t argument)
{
	weft_current = coroutine;
	coroutine->ended = false;
	if (has_job) {
		take_job(coroutine, job, argument);
	}
	if (EXPECTED(coroutine->started)) {
		switch_to(coroutine->resume_at);
	} else {
		coroutine->started = true;
		starting = coroutine;
		if (coroutine->fiber && !start_fiber(coroutine)) {
			if (job == WEFT_JOB_REQUEST) {
				weft_host_respond(argument, 503, NULL, 0, weft_slice_text("No memory for another coroutine.\n"));
			} else if (job == WEFT_JOB_EVENT) {
				weft_host_event_postpone(argument);
			} else {
				weft_task_abandon(argument);
			}
			coroutine->ended = coroutine->lost = true;
		} else if (!coroutine->fiber) {
			switch_to(&bare_context);
		}
	}
	weft_current = NULL;
	if (coroutine->ended && UNEXPECTED(!coroutine->lost && is_known(coroutine))) {
		drop_fiber(coroutine);
		make_fiber(coroutine);
	}
	return !coroutine->ended ? WEFT_ENTER_PARKED : coroutine->lost ? WEFT_ENTER_LOST : WEFT_ENTER_ENDED;
}

void weft_coroutine_leave(weft_coroutine *coroutine)
{
	/* What is freed because of an exception may wait. Others must find none: the engine would not call the function of a
	 * Fiber that starts, and would free the exception with one that ends. */
	zend_object *thrown = EG(exception);
	const zend_op *thrown_at = EG(opline_before_exception);
	weft_exchanging = true; /* this may require reading a time zone's file */
	weft_isolate_out(coroutine);
	weft_exchanging = false;
	EG(exception) = NULL;
	remember(coroutine);
	coroutine->frame = EG(current_execute_data);
	switch_to(loop_context);
	weft_exchanging = true;
	weft_isolate_in(coroutine);
	weft_exchanging = false;
	EG(exception) = thrown;
	EG(opline_before_exception) = thrown_at;
	if (UNEXPECTED(coroutine->overflowed)) { /* others have had the check that it asked for */
		zend_atomic_bool_store(&EG(vm_interrupt), true);
	}
}

/* Code compiled meanwhile may have mentioned a superglobal for the first time: filling it may wait for the body of a
 * form. */
void weft_coroutine_resumed(weft_coroutine *coroutine)
{
	if (coroutine->request) {
		weft_superglobals_fill(coroutine);
	}
}

/* The resident bytes of its stack, but not those of Fibers that its job has made. */
size_t weft_coroutine_stack(const weft_coroutine *coroutine)
{
	if (!coroutine->started || coroutine->lost) {
		return 0;
	}
	return weft_stack_resident(coroutine->fiber ? &((const zend_fiber *) coroutine->fiber)->context : &bare_context);
}

/* Gives back the memory of both stacks of one that does not run, beyond what it uses. Of those of Fibers that its job has made,
 * only the one on which it is parked. */
void weft_coroutine_trim(const weft_coroutine *coroutine)
{
	if (!coroutine->vm_top || coroutine->lost) {
		return; /* it has not run yet, or never will again */
	}
	weft_stack_trim(coroutine->resume_at);
	weft_give_back((char *) coroutine->vm_top, (char *) coroutine->vm_end);
}

void weft_coroutine_destroy(weft_coroutine *coroutine)
{
	if (coroutine->fiber) {
		drop_fiber(coroutine);
	}
	weft_coroutine_unlist(coroutine);
	free(coroutine);
}
