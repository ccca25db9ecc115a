/* Which coroutine waits for what, since when, and where: Coroutine::list(), and the report of a deadlock.
 *
 * It reads the frames of parked coroutines, which do not change while they are parked. */
#include "report.h"
#include "coroutine.h"
#include "host.h"
#include "schedule.h"
#include "task.h"
#include "wait.h"
#include "weft_arginfo.h"
#include "zend_builtin_functions.h"

static bool is_alive(const weft_coroutine *coroutine)
{
	return coroutine->started && !coroutine->ended;
}

/* The PHP stack of a coroutine, in the form of debug_backtrace(). */
static void trace_of(const weft_coroutine *coroutine, zval *trace)
{
	zend_execute_data *running = EG(current_execute_data);
	EG(current_execute_data) = coroutine == weft_current ? running : coroutine->frame;
	if (EG(current_execute_data)) {
		zend_fetch_debug_backtrace(trace, 0, DEBUG_BACKTRACE_IGNORE_ARGS, 0);
	} else {
		array_init(trace);
	}
	EG(current_execute_data) = running;
}

static double seconds_since(uint64_t when)
{
	uint64_t now = weft_host_now();
	return when && now > when ? (double) (now - when) / 1e9 : 0;
}

/* What a coroutine waits for; NULL: it does not wait, or that was not stated. */
static zend_string *waits_on(const weft_coroutine *coroutine)
{
	const zval *on = &weft_wait_slot(coroutine)->on;
	if (!weft_wait_slot(coroutine)->since || Z_TYPE_P(on) == IS_UNDEF) {
		return NULL;
	}
	if (Z_TYPE_P(on) == IS_STRING) {
		return zend_string_copy(Z_STR_P(on));
	}
	uint64_t task = weft_task_number(Z_OBJ_P(on));
	return task ? strpprintf(0, "task %llu", (unsigned long long) task)
		: strpprintf(0, "%s #%u", ZSTR_VAL(Z_OBJCE_P(on)->name), Z_OBJ_P(on)->handle);
}

ZEND_METHOD(Weft_Coroutine, list)
{
	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	for (weft_coroutine *coroutine = weft_coroutines; coroutine; coroutine = coroutine->next) {
		zval entry, value;
		if (!is_alive(coroutine)) {
			continue;
		}
		array_init(&entry);
		add_assoc_long(&entry, "id", (zend_long) coroutine->serial);
		ZVAL_NULL(&value);
		if (weft_task_of(coroutine)) {
			Z_ADDREF_P(weft_task_value(weft_task_of(coroutine), &value));
		}
		add_assoc_zval(&entry, "task", &value);
		add_assoc_double(&entry, "seconds", seconds_since(weft_host_since(coroutine->id)));
		zend_string *on = waits_on(coroutine);
		bool waits = on != NULL;
		ZVAL_NULL(&value);
		if (waits) {
			ZVAL_STR(&value, on);
		}
		add_assoc_zval(&entry, "waiting_on", &value);
		add_assoc_double(&entry, "waiting_seconds", waits ? seconds_since(weft_wait_slot(coroutine)->since) : 0);
		trace_of(coroutine, &value);
		add_assoc_zval(&entry, "trace", &value);
		zend_hash_next_index_insert(Z_ARRVAL_P(return_value), &entry);
	}
}

/* ---- as text ---- */

static void add_name(smart_str *text, const weft_coroutine *coroutine)
{
	if (weft_task_of(coroutine)) {
		char name[512];
		weft_task_describe((uint64_t) (uintptr_t) weft_task_of(coroutine), name, sizeof(name));
		smart_str_appends(text, name);
	} else if (coroutine == weft_main) {
		smart_str_appends(text, "{main}");
	} else {
		smart_str_append_printf(text, "coroutine %llu", (unsigned long long) coroutine->serial);
	}
}

static void add_wait(smart_str *text, const weft_coroutine *coroutine)
{
	zend_string *on = waits_on(coroutine);
	if (on) {
		smart_str_append_printf(text, " waits for %s since %.3f s", ZSTR_VAL(on), seconds_since(weft_wait_slot(coroutine)->since));
		zend_string_release(on);
	} else {
		smart_str_appends(text, coroutine == weft_main && !coroutine->frame ? " has ended and waits for its tasks" : " waits");
	}
}

static zend_string *member(zval *frame, const char *name)
{
	zval *value = zend_hash_str_find(Z_ARRVAL_P(frame), name, strlen(name));
	return value ? zval_get_string(value) : ZSTR_EMPTY_ALLOC();
}

static void add_trace(smart_str *text, const weft_coroutine *coroutine)
{
	zval trace, *frame;
	trace_of(coroutine, &trace);
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL(trace), frame) {
		zend_string *file = member(frame, "file"), *line = member(frame, "line"), *class = member(frame, "class"),
			*type = member(frame, "type"), *function = member(frame, "function");
		smart_str_append_printf(text, "    %s%s%s() at %s:%s\n", ZSTR_VAL(class), ZSTR_VAL(type), ZSTR_VAL(function),
			ZSTR_LEN(file) ? ZSTR_VAL(file) : "[internal]", ZSTR_VAL(line));
		zend_string *all[] = {file, line, class, type, function};
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
			zend_string_release(all[i]);
		}
	} ZEND_HASH_FOREACH_END();
	zval_ptr_dtor(&trace);
}

/* One paragraph for each live coroutine. */
zend_string *weft_report(void)
{
	smart_str text = {0};
	for (weft_coroutine *coroutine = weft_coroutines; coroutine; coroutine = coroutine->next) {
		if (is_alive(coroutine) && coroutine != weft_current) {
			smart_str_appends(&text, "  ");
			add_name(&text, coroutine);
			add_wait(&text, coroutine);
			smart_str_appendc(&text, '\n');
			add_trace(&text, coroutine);
		}
	}
	smart_str_0(&text);
	return text.s ? text.s : ZSTR_EMPTY_ALLOC();
}

/* Called by the loop of a script when nothing is left that could wake a coroutine: reports which coroutine waits for
 * what, and ends {main}'s wait with a DeadlockError. false: a coroutine waits for something outside PHP, such as a
 * signal. */
bool weft_deadlock(void)
{
	for (weft_coroutine *coroutine = weft_coroutines; coroutine; coroutine = coroutine->next) {
		if (is_alive(coroutine) && weft_wait_slot(coroutine)->external && weft_wait_slot(coroutine)->since) {
			return false;
		}
	}
	zend_string *report = weft_report();
	smart_str text = {0};
	smart_str_appends(&text, "Deadlock: all coroutines wait for each other.\n");
	smart_str_append(&text, report);
	zend_string_release(report);
	ZSTR_LEN(text.s)--; /* without the last line end, because the log adds one */
	weft_host_log(WEFT_LOG_ERROR, 0, weft_slice_of(text.s));
	smart_str_free(&text);
	weft_wait_slot(weft_main)->deadlocked = true;
	return weft_host_interrupt(weft_main->id);
}
