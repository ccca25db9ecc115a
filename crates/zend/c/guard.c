/* Two coroutines on one connection at the same moment: the second call is refused, with both places named, before any
 * of its bytes can mix with those of the first.
 *
 * A connection has one conversation. While a call on it is parked, another coroutine's call would send into the middle
 * of it, and each would read the other's answer. So the methods and functions of the clients (clients.c) are wrapped.
 * A call records its connection for as long as it runs, and a call that finds its connection recorded by another
 * coroutine throws Weft\ConcurrentUseError. Whether a call reaches the server is not known in advance; those that
 * never do are listed and not wrapped. A connection that is merely open, between two calls, is not in conflict.
 *
 * A call costs some nanoseconds: a few words in its own list, without an allocation. Invariant: if several objects can
 * share a connection, the client library's own handle identifies it. */
#include "guard.h"
#include "clients.h"
#include "coroutine.h"
#include "wait.h"
#include "wrap.h"

#include <time.h>

/* Enough lists to spread a few thousand calls in progress thinly. */
#define LISTS 1024

/* A call in progress. Not on the C stack, because a bailout leaves that without notice. */
typedef struct weft_call {
	struct weft_call *next;          /* of its list; of the spare ones */
	struct weft_call *outer;         /* of the same coroutine */
	void *connection;
	weft_coroutine *coroutine;
	const weft_client *client;
	zend_execute_data *frame;
	time_t since_s;
	long since_ns;
} weft_call;

/* The data of a wrapped function. */
typedef struct {
	zif_handler stock;
	const weft_client *client;
} guarded;

/* Its calls in progress, the innermost first. */
WEFT_SLOT(guard, weft_call *)

static weft_call *calls[LISTS];
static weft_call *spare;
static zend_class_entry *error_class;

static weft_call **list_of(const void *connection)
{
	return &calls[((uintptr_t) connection >> 4) % LISTS];
}

static void begin(weft_call *call, weft_call **list)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	call->since_s = now.tv_sec;
	call->since_ns = now.tv_nsec;
	call->next = *list;
	*list = call;
	call->outer = *weft_guard_slot(call->coroutine);
	*weft_guard_slot(call->coroutine) = call;
}

static void end(weft_call *call)
{
	weft_call **at = list_of(call->connection);
	while (*at != call) {
		at = &(*at)->next;
	}
	*at = call->next;
	for (at = weft_guard_slot(call->coroutine); *at != call; at = &(*at)->outer) {
	}
	*at = call->outer;
	call->next = spare;
	spare = call;
}

/* "a.php:12 (PDO::query" */
static void describe(smart_str *text, const zend_execute_data *frame)
{
	const zend_function *function = frame->func;
	while (frame && !(frame->func && ZEND_USER_CODE(frame->func->type))) {
		frame = frame->prev_execute_data;
	}
	if (frame) {
		smart_str_append_printf(text, "%s:%u (", ZSTR_VAL(frame->func->op_array.filename), frame->opline->lineno);
	} else {
		smart_str_appends(text, "an unknown place (");
	}
	if (function->common.scope) {
		smart_str_append_printf(text, "%s::", ZSTR_VAL(function->common.scope->name));
	}
	smart_str_append(text, function->common.function_name);
}

static void refuse(const weft_call *other, const zend_execute_data *frame)
{
	struct timespec now;
	smart_str text = {0};
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	long waited_ms = (now.tv_sec - other->since_s) * 1000 + (now.tv_nsec - other->since_ns) / 1000000;
	smart_str_append_printf(&text, "This %s connection is in use by another coroutine, which waits at ", other->client->name);
	describe(&text, other->frame);
	smart_str_append_printf(&text, ", since %ld ms); used again at ", waited_ms);
	describe(&text, frame);
	smart_str_appends(&text, "). Give each coroutine its own connection, or use a pool (Weft\\Pool).");
	smart_str_0(&text);
	zend_throw_error(error_class, "%s", ZSTR_VAL(text.s));
	smart_str_free(&text);
}

static zend_object *previous_of(zend_object *exception)
{
	zend_class_entry *base = instanceof_function(exception->ce, zend_ce_exception) ? zend_ce_exception : zend_ce_error;
	zval undefined, *previous = zend_read_property_ex(base, exception, ZSTR_KNOWN(ZEND_STR_PREVIOUS), 1, &undefined);
	return Z_TYPE_P(previous) == IS_OBJECT ? Z_OBJ_P(previous) : NULL;
}

/* A client whose wait was interrupted finds its connection broken and throws its own exception, with the
 * CancelledError as the previous one. Code that retries after such exceptions would continue after its cancellation:
 * so the CancelledError replaces it. */
static void let_cancellation_prevail(void)
{
	zend_object *thrown = EG(exception), *found = thrown;
	if (zend_is_unwind_exit(thrown) || zend_is_graceful_exit(thrown) || thrown->ce->type != ZEND_INTERNAL_CLASS) {
		return;
	}
	while (found && found->ce != weft_cancelled_class) {
		found = previous_of(found);
	}
	if (found && found != thrown) {
		GC_ADDREF(found);
		EG(exception) = found;
		OBJ_RELEASE(thrown);
	}
}

static ZEND_NAMED_FUNCTION(guarded_call)
{
	const guarded *row = weft_wrapped_row(execute_data);
	weft_coroutine *coroutine = weft_current;
	void *connection = coroutine ? weft_connection_of(execute_data, row->client) : NULL;
	if (!connection) {
		row->stock(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		if (UNEXPECTED(EG(exception) != NULL)) {
			let_cancellation_prevail();
		}
		return;
	}
	weft_call **list = list_of(connection);
	for (const weft_call *other = *list; other; other = other->next) {
		if (UNEXPECTED(other->connection == connection && other->coroutine != coroutine)) {
			refuse(other, execute_data);
			return;
		}
	}
	weft_call *call = spare;
	if (EXPECTED(call)) {
		spare = call->next;
	} else {
		call = malloc(sizeof(*call));
	}
	call->connection = connection;
	call->coroutine = coroutine;
	call->client = row->client;
	call->frame = execute_data;
	begin(call, list);
	row->stock(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	end(call);
	if (UNEXPECTED(EG(exception) != NULL)) {
		let_cancellation_prevail();
	}
}

/* A bailout has ended all calls of this coroutine. */
void weft_guard_reset(weft_coroutine *coroutine)
{
	while (*weft_guard_slot(coroutine)) {
		end(*weft_guard_slot(coroutine));
	}
}

static bool named(const char *names, const zend_string *name)
{
	size_t length = ZSTR_LEN(name);
	for (const char *at = names; (at = strstr(at, ZSTR_VAL(name))); at += length) {
		if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) {
			return true;
		}
	}
	return false;
}

static void guard(zend_internal_function *function, const weft_client *client)
{
	guarded *row = malloc(sizeof(*row));
	row->client = client;
	weft_wrap_function(function, guarded_call, row, &row->stock);
}

static void guard_methods(const weft_client *client)
{
	zend_class_entry *class_entry = zend_hash_str_find_ptr(CG(class_table), client->class_name, strlen(client->class_name));
	zend_internal_function *function;
	zend_string *name;
	if (!class_entry || class_entry->type != ZEND_INTERNAL_CLASS) {
		return;
	}
	ZEND_HASH_MAP_FOREACH_STR_KEY_PTR(&class_entry->function_table, name, function) {
		bool own = function->type == ZEND_INTERNAL_FUNCTION && function->scope == class_entry;
		if (own && !(function->fn_flags & (ZEND_ACC_STATIC | ZEND_ACC_ABSTRACT)) && !named(client->local, name)) {
			guard(function, client);
		}
	} ZEND_HASH_FOREACH_END();
}

static void guard_functions(const weft_client *client)
{
	zend_internal_function *function;
	zend_string *name;
	ZEND_HASH_MAP_FOREACH_STR_KEY_PTR(CG(function_table), name, function) {
		if (function->type == ZEND_INTERNAL_FUNCTION && function->module && !strcmp(function->module->name, client->module)
				&& function->num_args > 0 && !named(client->local, name)) {
			guard(function, client);
		}
	} ZEND_HASH_FOREACH_END();
}

void weft_guard_start(void)
{
	for (const weft_client *client = weft_clients; client->name; client++) {
		if (client->class_name) {
			guard_methods(client);
		} else {
			guard_functions(client);
		}
	}
}

void weft_guard_register(void)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "ConcurrentUseError", NULL);
	error_class = zend_register_internal_class_ex(&entry, zend_ce_error);
}
