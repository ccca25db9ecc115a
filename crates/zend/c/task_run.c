/* The life of a task, from go() to its end.
 *
 * While it waits or runs, a task holds a reference to itself, so no other code has to keep it. Invariants: it ends
 * once, and wakes all coroutines that await it; its callable, arguments and context are released when it ends, not
 * when the object is freed. */
#include "contain.h"
#include "context.h"
#include "coroutine.h"
#include "host.h"
#include "isolate.h"
#include "outcome.h"
#include "php/version.h"
#include "reset.h"
#include "schedule.h"
#include "script_main.h"
#include "superglobals.h"
#include "task.h"
#include "wait.h"

weft_task *weft_tasks_alive;

static void link_alive(weft_task *task)
{
	task->next = weft_tasks_alive;
	task->previous = &weft_tasks_alive;
	if (weft_tasks_alive) {
		weft_tasks_alive->previous = &task->next;
	}
	weft_tasks_alive = task;
}

static void unlink_alive(weft_task *task)
{
	*task->previous = task->next;
	if (task->next) {
		task->next->previous = task->previous;
	}
}

bool weft_tasks_are_alive(void)
{
	return weft_tasks_alive != NULL;
}

/* Passes it to the scheduler or, while the application boots, leaves it for weft_tasks_start(). */
bool weft_task_start(weft_task *task)
{
	task->state = weft_current ? TASK_WAITING : TASK_BOOT;
	if (weft_current && !weft_host_spawn(WEFT_JOB_TASK, (uint64_t) (uintptr_t) task)) {
		return false;
	}
	link_alive(task);
	GC_ADDREF(&task->std);
	return true;
}

/* It has ended: its result or exception is set. */
static void end(weft_task *task)
{
	task->state = TASK_ENDED;
	task->coroutine = NULL;
	unlink_alive(task);
	for (uint32_t i = 0; i < task->waits_count; i++) {
		weft_host_wake(task->waits[i]);
	}
	task->waits_count = 0;
	if (!weft_tasks_alive) {
		weft_main_wake();
	}
	weft_task_release_work(task);
	OBJ_RELEASE(&task->std);
}

/* It ends with an error of ours: of class Error or a subclass. */
static void fail(weft_task *task, zend_class_entry *class, const char *message)
{
	zval exception;
	object_init_ex(&exception, class);
	zend_update_property_string(zend_ce_error, Z_OBJ(exception), ZEND_STRL("message"), message);
	task->exception = Z_OBJ(exception);
	zval_ptr_dtor(&task->result);
	ZVAL_UNDEF(&task->result);
}

uint64_t weft_task_id(uint64_t argument)
{
	return ((weft_task *) (uintptr_t) argument)->id;
}

/* The scheduler could not start it: no stack became available in time. */
void weft_task_abandon(uint64_t argument)
{
	weft_task *task = (weft_task *) (uintptr_t) argument;
	fail(task, zend_ce_error, "No memory for another coroutine: vm.max_map_count or the memory is used up");
	end(task);
}

/* The boot is over: the tasks that it has started begin, in their order. */
void weft_tasks_start(void)
{
	weft_task *first = NULL;
	for (weft_task *task = weft_tasks_alive; task; task = task->next) {
		if (task->state == TASK_BOOT) {
			first = task; /* the list has the last one first */
		}
	}
	while (first) {
		weft_task *next = first->previous == &weft_tasks_alive ? NULL
			: (weft_task *) ((char *) first->previous - offsetof(weft_task, next));
		first->state = TASK_WAITING;
		weft_host_spawn(WEFT_JOB_TASK, (uint64_t) (uintptr_t) first);
		first = next;
	}
}

static void call_task(weft_coroutine *coroutine)
{
	weft_task *task = weft_task_of(coroutine);
	task->call.retval = &task->result;
	zend_call_function(&task->call, &task->cache);
}

static void release_task(weft_coroutine *coroutine)
{
	weft_task *task = weft_task_of(coroutine);
	*weft_task_slot(coroutine) = NULL;
	end(task);
}

/* The outcome of the work: exit() ends the task, or the script to which it belongs. */
static void settle(weft_task *task)
{
	zend_object *thrown = EG(exception);
	if (zend_is_unwind_exit(thrown) || zend_is_graceful_exit(thrown)) {
		OBJ_RELEASE(thrown);
		weft_drop_exception();
		fail(task, weft_cancelled_class, "The task has called exit()");
		task->seen = true;
		return;
	}
	GC_ADDREF(thrown);
	zend_clear_exception();
	task->exception = thrown;
}

static void settle_bailout(weft_task *task)
{
	const char *message = PG(last_error_message) ? ZSTR_VAL(PG(last_error_message)) : "a fatal error";
	const char *file = PG(last_error_file) ? ZSTR_VAL(PG(last_error_file)) : "unknown";
	char text[1024];
	snprintf(text, sizeof(text), "%s in %s:%d", message, file, (int) PG(last_error_lineno));
	if (!weft_main) { /* in a script, PHP has already reported it */
		weft_host_log(WEFT_LOG_ERROR, 0, weft_slice_text(text));
	}
	weft_host_replace(weft_slice_text("a fatal error in PHP code"));
	fail(task, zend_ce_error, text);
}

static void finish(weft_coroutine *coroutine)
{
	(void) coroutine;
	if (BG(user_shutdown_function_names)) {
		weft_run_shutdown_functions();
	}
	if (EG(exception)) {
		zend_exception_error(EG(exception), E_WARNING);
	}
	php_output_end_all();
}

/* Runs the work. The task records how it ended; returns whether it ended with exit(). */
static bool run_work(weft_coroutine *coroutine)
{
	weft_task *task = weft_task_of(coroutine);
	bool finished = weft_contained(call_task, coroutine);
	if (EXPECTED(finished && !EG(exception))) {
		return false;
	}
	if (finished && !(zend_is_unwind_exit(EG(exception)) && weft_take_out_of_memory())) {
		bool exits = zend_is_unwind_exit(EG(exception)) && !coroutine->cancelled; /* cancelled: the script is ending already */
		settle(task);
		return exits;
	}
	/* Debian's PHP unwinds from out-of-memory as from exit; a bailout has leaked the values in its frames. */
	if (finished) {
		OBJ_RELEASE(EG(exception));
	}
	weft_drop_exception();
	settle_bailout(task);
	weft_reset();
	EG(exit_status) = 255;
	return weft_main != NULL;
}

void weft_task_run(weft_coroutine *coroutine)
{
	weft_task *task = (weft_task *) (uintptr_t) coroutine->argument;
	*weft_task_slot(coroutine) = task;
	task->coroutine = coroutine;
	task->state = TASK_RUNNING;
	ZVAL_COPY_VALUE(&weft_context_slot(coroutine)->values, &task->context);
	ZVAL_UNDEF(&task->context);
	weft_isolate_begin(coroutine);
	weft_superglobals_inherit(coroutine, task->superglobals, task->superglobal);
	bool exits = false;
	if (task->cancelled) {
		fail(task, weft_cancelled_class, task->reason && ZSTR_LEN(task->reason) ? ZSTR_VAL(task->reason) : "The task was cancelled");
	} else {
		exits = run_work(coroutine);
	}
	int status = EG(exit_status);
	weft_contained_last(weft_run_deferred, coroutine);
	weft_contained_last(finish, coroutine);
	weft_isolate_end(coroutine);
	if (UNEXPECTED(exits)) {
		weft_main_exit(status);
	}
	weft_contained(release_task, coroutine);
}
