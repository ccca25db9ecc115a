/* go() and Weft\Task: a task as PHP code sees it. task_run.c runs it.
 *
 * Invariant: a failure that no code has seen is reported when the object is freed. */
#include "task.h"
#include "context.h"
#include "coroutine.h"
#include "failure.h"
#include "host.h"
#include "isolate.h"
#include "schedule.h"
#include "script_main.h"
#include "stack.h"
#include "superglobals.h"
#include "wait.h"
#include "weft_arginfo.h"

static zend_class_entry *task_class;
static zend_object_handlers handlers;

static weft_task *task_of(zend_object *object)
{
	return (weft_task *) ((char *) object - offsetof(weft_task, std));
}

uint64_t weft_task_number(zend_object *object)
{
	return object->ce == task_class ? task_of(object)->id : 0;
}

zval *weft_task_value(weft_task *task, zval *value)
{
	ZVAL_OBJ(value, &task->std);
	return value;
}

/* ---- the object ---- */

static zend_object *create(zend_class_entry *class)
{
	weft_task *task = zend_object_alloc(sizeof(weft_task), class);
	memset(task, 0, offsetof(weft_task, std));
	zend_object_std_init(&task->std, class);
	object_properties_init(&task->std, class);
	task->std.handlers = &handlers;
	return &task->std;
}

/* Releases what it needed to run. */
void weft_task_release_work(weft_task *task)
{
	if (ZEND_FCI_INITIALIZED(task->call)) {
		zend_fcall_info_args_clear(&task->call, true);
		if (task->call.named_params) {
			zend_array_release(task->call.named_params);
		}
		zval_ptr_dtor(&task->call.function_name);
		memset(&task->call, 0, sizeof(task->call));
	}
	zval_ptr_dtor(&task->context);
	ZVAL_UNDEF(&task->context);
	for (int i = 0; i < WEFT_SUPERGLOBALS; i++) {
		zval_ptr_dtor(&task->superglobal[i]);
		ZVAL_UNDEF(&task->superglobal[i]);
	}
}

static void destruct(zend_object *object)
{
	weft_task *task = task_of(object);
	if (!task->exception || task->seen || instanceof_function(task->exception->ce, weft_cancelled_class)) {
		return;
	}
	task->seen = true;
	zend_object *kept = EG(exception), *thrown = task->exception;
	EG(exception) = NULL;
	task->exception = NULL;
	weft_host_log(WEFT_LOG_WARNING, 0, weft_slice_text("a task has failed, and nobody awaits it:"));
	zend_exception_error(thrown, E_WARNING); /* takes ownership of the reference */
	EG(exception) = kept;
	weft_main_failed();
}

static void free_object(zend_object *object)
{
	weft_task *task = task_of(object);
	weft_task_release_work(task);
	zval_ptr_dtor(&task->result);
	if (task->exception) {
		OBJ_RELEASE(task->exception);
	}
	if (task->file) {
		zend_string_release(task->file);
	}
	if (task->reason) {
		zend_string_release(task->reason);
	}
	if (task->waits) {
		efree(task->waits);
	}
	zend_object_std_dtor(object);
}

static HashTable *get_gc(zend_object *object, zval **table, int *count)
{
	weft_task *task = task_of(object);
	zend_get_gc_buffer *buffer = zend_get_gc_buffer_create();
	if (ZEND_FCI_INITIALIZED(task->call)) {
		zend_get_gc_buffer_add_zval(buffer, &task->call.function_name);
		for (uint32_t i = 0; i < task->call.param_count; i++) {
			zend_get_gc_buffer_add_zval(buffer, &task->call.params[i]);
		}
	}
	zend_get_gc_buffer_add_zval(buffer, &task->result);
	zend_get_gc_buffer_add_zval(buffer, &task->context);
	if (task->exception) {
		zend_get_gc_buffer_add_obj(buffer, task->exception);
	}
	zend_get_gc_buffer_use(buffer, table, count);
	return zend_std_get_properties(object);
}

/* ---- cancellation ---- */

/* Interrupts it once: otherwise a scope whose worker also ends would interrupt the clean-up of its tasks. false: it
 * has ended, or was cancelled before. */
bool weft_task_interrupt(weft_task *task, zend_string *reason)
{
	if (task->state == TASK_ENDED || task->cancelled) {
		return false;
	}
	task->cancelled = true;
	if (task->state != TASK_RUNNING) {
		if (task->reason) {
			zend_string_release(task->reason);
		}
		task->reason = zend_string_copy(reason);
		return true;
	}
	weft_interrupt(task->coroutine, reason);
	return true;
}

/* All tasks: their worker ends. */
void weft_tasks_cancel(const char *text)
{
	zend_string *reason = zend_string_init(text, strlen(text), 0);
	for (weft_task *task = weft_tasks_alive; task; task = task->next) {
		weft_task_interrupt(task, reason);
	}
	zend_string_release(reason);
}

/* All tasks: the script they belong to has ended. */
void weft_tasks_cancel_for_good(void)
{
	for (weft_task *task = weft_tasks_alive; task; task = task->next) {
		if (task->state == TASK_RUNNING) {
			weft_host_cancel(task->coroutine->id);
		} else {
			task->cancelled = true;
		}
	}
}

/* ---- for reports ---- */

void weft_task_place(const weft_task *task, const char **file, uint32_t *line)
{
	*file = task->file ? ZSTR_VAL(task->file) : "unknown";
	*line = task->line;
}

/* "task 7, started at app.php:12", for the operator. */
size_t weft_task_describe(uint64_t argument, char *buffer, size_t size)
{
	const weft_task *task = (const weft_task *) (uintptr_t) argument;
	const char *file;
	uint32_t line;
	weft_task_place(task, &file, &line);
	int length = snprintf(buffer, size, "task %llu, started at %s:%u", (unsigned long long) task->id, file, line);
	return length < 0 ? 0 : (size_t) length;
}

/* ---- PHP ---- */

ZEND_FUNCTION(Weft_go)
{
	zend_fcall_info call;
	zend_fcall_info_cache cache;
	zval *arguments = NULL;
	uint32_t count = 0;
	HashTable *named = NULL;
	ZEND_PARSE_PARAMETERS_START(1, -1)
		Z_PARAM_FUNC(call, cache)
		Z_PARAM_VARIADIC_WITH_NAMED(arguments, count, named)
	ZEND_PARSE_PARAMETERS_END();
	if (weft_current && (weft_current->job == WEFT_JOB_CLASSIC || weft_current->job == WEFT_JOB_RESIDENT)) {
		zend_throw_error(NULL, "There are no tasks in classic mode: a request has PHP to itself, and PHP ends with it. Weft\\go() "
			"needs an application that returns a handler, or weft php");
		RETURN_THROWS();
	}
	if (weft_current && weft_main) {
		weft_failure_start(false);
		weft_stack_start();
		weft_isolate_start_script();
	}
	object_init_ex(return_value, task_class);
	weft_task *task = task_of(Z_OBJ_P(return_value));
	task->id = weft_serial_next(); /* its coroutine will have the same */
	task->call = call;
	task->cache = cache;
	Z_ADDREF(task->call.function_name);
	zend_fcall_info_argp(&task->call, count, arguments);
	task->call.named_params = named;
	if (named) {
		GC_ADDREF(named);
	}
	task->file = zend_string_copy(zend_get_executed_filename_ex() ? zend_get_executed_filename_ex() : ZSTR_EMPTY_ALLOC());
	task->line = zend_get_executed_lineno();
	if (weft_current) {
		task->origin = weft_task_origin(weft_current);
		ZVAL_COPY(&task->context, &weft_context_slot(weft_current)->values);
		task->superglobals = weft_superglobals_copy(weft_current, task->superglobal);
	}
	if (!weft_task_start(task)) {
		zval_ptr_dtor(return_value);
		ZVAL_UNDEF(return_value);
		zend_throw_error(NULL, "No more tasks can be started: tasks_max of them are alive in this worker. Weft\\Scope bounds how many "
			"run at the same time");
	}
}

ZEND_METHOD(Weft_Coroutine, current)
{
	ZEND_PARSE_PARAMETERS_NONE();
	if (weft_current && weft_task_of(weft_current)) {
		RETURN_COPY(weft_task_value(weft_task_of(weft_current), return_value));
	}
}

ZEND_METHOD(Weft_Task, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

ZEND_METHOD(Weft_Task, id)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG((zend_long) task_of(Z_OBJ_P(ZEND_THIS))->id);
}

static void add_wait(weft_task *task, uint64_t wait)
{
	if (task->waits_count == task->waits_size) {
		task->waits_size = task->waits_size ? task->waits_size * 2 : 2;
		task->waits = safe_erealloc(task->waits, task->waits_size, sizeof(*task->waits), 0);
	}
	task->waits[task->waits_count++] = wait;
}

static void remove_wait(weft_task *task, uint64_t wait)
{
	for (uint32_t i = 0; i < task->waits_count; i++) {
		if (task->waits[i] == wait) {
			task->waits[i] = task->waits[--task->waits_count];
			return;
		}
	}
}

/* Waits until the task has ended. false: an exception says why not. */
static bool wait_for(weft_task *task, uint64_t deadline)
{
	if (weft_current && weft_task_of(weft_current) == task) {
		zend_throw_error(NULL, "A task cannot await itself");
		return false;
	}
	uint64_t wait = weft_wait_begin();
	if (!wait) {
		return false;
	}
	add_wait(task, wait);
	zval on;
	ZVAL_OBJ(&on, &task->std);
	weft_wait_end end = weft_wait_named(wait, &on, deadline);
	if (end == WEFT_WOKEN) {
		return true;
	}
	remove_wait(task, wait);
	if (end == WEFT_TIMED_OUT) {
		zend_throw_exception_ex(weft_timeout_class, 0, "Task %llu has not ended in time", (unsigned long long) task->id);
	}
	return false;
}

ZEND_METHOD(Weft_Task, await)
{
	double seconds = 0;
	bool for_ever = true;
	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, for_ever)
	ZEND_PARSE_PARAMETERS_END();
	weft_task *task = task_of(Z_OBJ_P(ZEND_THIS));
	if (task->state != TASK_ENDED && !wait_for(task, weft_wait_deadline(seconds, for_ever))) {
		RETURN_THROWS();
	}
	if (!task->exception) {
		RETURN_COPY(&task->result);
	}
	task->seen = true;
	zval exception;
	ZVAL_OBJ_COPY(&exception, task->exception);
	zend_throw_exception_object(&exception);
}

ZEND_METHOD(Weft_Task, cancel)
{
	zend_string *reason = ZSTR_EMPTY_ALLOC();
	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_STR(reason)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(weft_task_interrupt(task_of(Z_OBJ_P(ZEND_THIS)), reason));
}

ZEND_METHOD(Weft_Task, ended)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(task_of(Z_OBJ_P(ZEND_THIS))->state == TASK_ENDED);
}

ZEND_METHOD(Weft_Task, failed)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(task_of(Z_OBJ_P(ZEND_THIS))->exception != NULL);
}

void weft_task_register(void)
{
	task_class = register_class_Weft_Task(NULL);
	task_class->create_object = create;
	memcpy(&handlers, &std_object_handlers, sizeof(handlers));
	handlers.offset = offsetof(weft_task, std);
	handlers.dtor_obj = destruct;
	handlers.free_obj = free_object;
	handlers.get_gc = get_gc;
	handlers.clone_obj = NULL;
}
