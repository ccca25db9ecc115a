/* Weft\Database\QuickStatement: the usual course of a statement of a SharedPdo. A connection is idle, it has the statement
 * prepared, the result comes whole, and is read to its end.
 *
 * Must not do anything that those classes do not. What is not usual (a transaction, a waiting coroutine, a new connection,
 * a failure) is left to them, before anything has changed or by a call in the middle: Leases, Slots and StatementResult say
 * why each step is as it is, and php/src/Database/QuickStatement.php is this file for other PHPs. A call reaches the real
 * statement in the frame it came in, so that PHP sees the call that it would see with a PDO of one's own.
 *
 * Invariant: between two calls, every property is as the PHP classes would have left it. */
#include "quick_statement.h"
#include "coroutine.h"
#include "php/version.h"
#include "quick_calls.h"
#include "quick_connection.h"
#include "quick_lease.h"
#include "quick_properties.h"
#include "ext/pdo/php_pdo_driver.h"

static layout statements = {.names = STATEMENTS}, leases_layout = {.names = LEASES}, sessions_layout = {.names = SESSIONS},
	slots_layout = {.names = SLOTS}, slot_layout = {.names = SLOT}, connections_layout = {.names = CONNECTIONS},
	prepared_layout = {.names = {[P_TICKET] = "ticket", [P_BOUND] = "bound", [P_MODE_SET] = "fetchModeSet", [P_KEPT] = "kept",
		[P_RECENT] = "recent", [P_STATEMENT] = "statement", [P_SINGLE] = "single", [P_CHANGES] = "changes"}};

/* PDO's own methods, as they are called from outside. */
static zend_function *real_execute, *real_fetch, *real_fetch_column, *real_fetch_all, *real_close_cursor;

/* ---- a connection for a statement ---- */

#define EXECUTING (-1) /* Prepared::EXECUTING */

/* What a statement runs on. */
typedef struct {
	zend_object *session, *leases, *slots, *slot, *connection, *prepared, *real;
	bool taken; /* the slot was idle */
} ground;

static bool session_of(ground *at)
{
	zend_long id = weft_current ? (zend_long) weft_current->serial : 0;
	zval *sessions = AT(at->leases, L_SESSIONS), *found = NULL;
	if (EXPECTED(Z_TYPE_P(sessions) == IS_ARRAY)) {
		found = zend_hash_index_find(Z_ARRVAL_P(sessions), id);
	}
	if (found) {
		at->session = object_in(found, &sessions_layout);
		return at->session && !IS_TRUE_AT(at->session, N_LOST);
	}
	found = weft_quick_session(at->leases, id);
	at->session = found && !EG(exception) ? object_in(found, &sessions_layout) : NULL;
	return at->session != NULL;
}

/* The slot that the session has, or the one that was used last. */
static bool slot_for(ground *at)
{
	at->slot = object_in(AT(at->session, N_SLOT), &slot_layout);
	at->taken = !at->slot;
	if (at->slot) {
		return true;
	}
	const zval *idle = AT(at->slots, I_IDLE);
	ZVAL_DEREF(idle);
	if (IS_TRUE_AT(at->slots, I_CLOSED) || !is_array_with(idle)) {
		return false;
	}
	const zval *last = element(Z_ARRVAL_P(idle), zend_hash_num_elements(Z_ARRVAL_P(idle)) - 1);
	at->slot = last ? object_in(last, &slot_layout) : NULL;
	if (!at->slot) {
		return false;
	}
	zend_long used = Z_LVAL_P(AT(at->slot, T_USED));
	return weft_quick_now() - used < 1000000000L && used > Z_LVAL_P(AT(at->slots, I_DISTRUSTED));
}

/* Finds all of it without changing anything. False: this is not the usual case. */
static bool find_ground(zend_object *this, uint32_t count, ground *at)
{
	at->session = NULL;
	at->leases = object_in(AT(this, S_LEASES), &leases_layout);
	at->slots = at->leases ? object_in(AT(at->leases, L_SLOTS), &slots_layout) : NULL;
	if (!at->slots || !session_of(at) || !slot_for(at)) {
		return false;
	}
	at->connection = object_in(AT(at->slot, T_RESOURCE), &connections_layout);
	if (!at->connection || Z_LVAL_P(AT(at->connection, C_VERSION)) != Z_LVAL_P(AT(at->leases, L_VERSION))) {
		return false;
	}
	zval *text = AT(this, S_TEXT), *kept = AT(at->connection, C_STATEMENTS);
	ZVAL_DEREF(text);
	zval *found = Z_TYPE_P(text) == IS_STRING ? zend_symtable_find(Z_ARRVAL_P(kept), Z_STR_P(text)) : NULL;
	at->prepared = found ? object_in(found, &prepared_layout) : NULL;
	if (!at->prepared || Z_LVAL_P(AT(at->prepared, P_TICKET)) != 0
			|| Z_LVAL_P(AT(at->prepared, P_BOUND)) > count || IS_TRUE_AT(at->prepared, P_MODE_SET)) {
		return false;
	}
	at->real = Z_OBJ_P(AT(at->prepared, P_STATEMENT));
	return true;
}

/* Takes the connection and the statement: from here on nobody else has them. The statement remains in its connection's list. */
static void take(ground *at, uint32_t count)
{
	ZVAL_FALSE(AT(at->session, N_LOOSE));
	if (at->taken) {
		pop(array_at(AT(at->slots, I_IDLE)), AT(at->session, N_SLOT));
		ZVAL_TRUE(AT(at->slot, T_HELD));
	}
	ZVAL_LONG(AT(at->prepared, P_TICKET), EXECUTING);
	ZVAL_LONG(AT(at->prepared, P_BOUND), count);
	ZVAL_TRUE(AT(at->prepared, P_RECENT));
	Z_LVAL_P(AT(at->session, N_HOLDS))++;
}

/* The statement has failed, and leaves its connection's list; `prepared` was the caller's reference. */
static void forget(const ground *at, zval *prepared)
{
	call(at->connection, "forget", NULL, 1, prepared);
	OBJ_RELEASE(at->prepared);
	ZVAL_UNDEF(prepared);
}

/* ---- the end of a result ---- */

/* StatementResult::end() for a result that is there: its statement goes back to its connection, and the connection to the pool. */
static void end(zend_execute_data *execute_data, zend_object *this)
{
	zend_object *prepared = Z_OBJ_P(AT(this, S_PREPARED));
	zend_object *leases = object_in(AT(this, S_LEASES), &leases_layout);
	zend_object *session = object_in(AT(this, S_SESSION), &sessions_layout);
	zend_object *slot = session ? object_in(AT(session, N_SLOT), &slot_layout) : NULL;
	zend_object *connection = slot ? object_in(AT(slot, T_RESOURCE), &connections_layout) : NULL;
	zval *cursor = session ? AT(session, N_CURSOR) : NULL;
	if (UNEXPECTED(!connection || !IS_TRUE_AT(prepared, P_KEPT) || Z_TYPE_P(cursor) != IS_OBJECT || Z_OBJ_P(cursor) != prepared)) {
		call(this, "end", NULL, 0, NULL);
		return;
	}
	zval closed;
	GC_ADDREF(session);
	GC_ADDREF(connection);
	ZVAL_NULL(AT(this, S_PREPARED)); /* its reference is ours now */
	ZVAL_NULL(cursor);
	GC_DELREF(prepared);
	ZVAL_UNDEF(&closed);
	in_place(execute_data, real_close_cursor, Z_OBJ_P(AT(prepared, P_STATEMENT)), 0, &closed); /* a bool, or nothing */
	if (EXPECTED(!EG(exception))) {
		ZVAL_LONG(AT(prepared, P_TICKET), 0); /* before: nobody executes it again */
	}
	OBJ_RELEASE(prepared);
	if (EXPECTED(!EG(exception))) {
		weft_quick_settle(leases, session, slot, connection);
	}
	OBJ_RELEASE(connection);
	OBJ_RELEASE(session);
}

/* ---- the methods ---- */

/* The statement has run and has a result that the client has whole: StatementResult::begin(). */
static void begin(zend_execute_data *execute_data, zend_object *this, const ground *at, const pdo_stmt_t *real)
{
	zval ticket, value;
	zval *tickets = AT(at->leases, L_TICKETS);
	Z_LVAL_P(tickets)++;
	ZVAL_LONG(&ticket, Z_LVAL_P(tickets));
	ZVAL_COPY_VALUE(AT(this, S_TICKET), &ticket);
	ZVAL_COPY_VALUE(AT(at->prepared, P_TICKET), &ticket);
	ZVAL_LONG(AT(this, S_COLUMNS), real->column_count);
	ZVAL_LONG(AT(this, S_ROWS), real->row_count);
	ZVAL_LONG(AT(this, S_LEFT), real->row_count);
	ZVAL_TRUE(&value);
	set(AT(this, S_ERROR), &value);
	set_null(AT(at->session, N_ERROR));
	ZVAL_TRUE(AT(at->session, N_USED));
	if (EXPECTED(Z_TYPE_P(AT(at->session, N_CURSOR)) == IS_NULL)) {
		set_object(AT(at->session, N_CURSOR), at->prepared);
	} else {
		ZVAL_OBJ(&value, at->prepared);
		GC_ADDREF(at->prepared);
		zend_hash_index_update(array_at(AT(at->session, N_CURSORS)), Z_LVAL(ticket), &value);
	}
	set_object(AT(this, S_PREPARED), at->prepared);
	if (real->row_count == 0) {
		end(execute_data, this);
	}
}

/* The statement has thrown. An exception that PHP code may catch is its class's to handle: it may execute again. */
static void failed(zval *return_value, zend_object *this, const ground *at, zval *prepared, zval *parameters)
{
	zval of_failed[2];
	if (!take_exception(&of_failed[0])) {
		return;
	}
	forget(at, prepared);
	ZVAL_NULL(&of_failed[1]);
	if (parameters) {
		ZVAL_COPY_VALUE(&of_failed[1], parameters);
	}
	call(this, "executefailed", return_value, 2, of_failed);
	zval_ptr_dtor(&of_failed[0]);
}

static void run(INTERNAL_FUNCTION_PARAMETERS, zend_object *this, ground *at, zval *parameters)
{
	zval prepared, of_executed[2];
	ZVAL_OBJ_COPY(&prepared, at->prepared);
	ZVAL_OBJ_COPY(&of_executed[0], at->connection);
	ZVAL_NULL(&of_executed[1]);
	if (!parameters && is_array_with(AT(this, S_BOUND))) {
		call(this, "bindto", NULL, 1, &prepared);
	}
	if (EXPECTED(!EG(exception))) {
		in_place(execute_data, real_execute, at->real, ZEND_CALL_NUM_ARGS(execute_data), return_value);
	}
	const pdo_stmt_t *real = php_pdo_stmt_fetch_object(at->real);
	Z_LVAL_P(AT(at->session, N_HOLDS))--;
	if (UNEXPECTED(EG(exception) != NULL)) {
		failed(return_value, this, at, &prepared, parameters);
	} else if (UNEXPECTED(Z_TYPE_P(return_value) != IS_TRUE)) {
		call(this, "noterefusal", NULL, 1, &prepared);
		forget(at, &prepared);
		call(this, "executed", return_value, 2, of_executed);
	} else if (UNEXPECTED(real->column_count == 0 || !IS_TRUE_AT(at->prepared, P_SINGLE)
			|| IS_TRUE_AT(at->prepared, P_CHANGES) || !IS_TRUE_AT(at->connection, C_BUFFERED))) {
		ZVAL_LONG(AT(at->prepared, P_TICKET), 0);
		ZVAL_COPY_VALUE(&of_executed[1], &prepared);
		call(this, "executed", return_value, 2, of_executed);
	} else {
		begin(execute_data, this, at, real);
	}
	if (EXPECTED(Z_TYPE(prepared) == IS_OBJECT)) {
		OBJ_RELEASE(at->prepared); /* while the connection is ours: its end may write to it */
	}
	OBJ_RELEASE(at->connection);
}

/* These parameters replace what was bound, until the next are given. */
static void note_given(zend_object *this, zval *parameters)
{
	zval given, none;
	ZVAL_COPY(&given, parameters);
	set(AT(this, S_GIVEN), &given);
	if (is_array_with(AT(this, S_BOUND))) {
		ZVAL_EMPTY_ARRAY(&none);
		set(AT(this, S_BOUND), &none);
	}
}

/* Where no connection is idle: leases one as executeAny() does, which waits for it or opens it. False: another reason stood in the
 * way, or an exception does. */
static bool lease(zend_object *this, zval *parameters, const ground *at)
{
	if (!at->slots || !at->session || IS_TRUE_AT(at->session, N_LOST) || Z_TYPE_P(AT(at->session, N_SLOT)) != IS_NULL
			|| is_array_with(AT(at->slots, I_IDLE)) || EG(exception)) {
		return false;
	}
	if (parameters) {
		note_given(this, parameters);
	}
	set_object(AT(this, S_SESSION), at->session);
	set_null(AT(this, S_ERROR));
	weft_quick_lease(at->leases, at->session);
	return !EG(exception);
}

static ZEND_NAMED_FUNCTION(quick_execute)
{
	zval *parameters = NULL;
	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_ARRAY_EX(parameters, 1, 0)
	ZEND_PARSE_PARAMETERS_END();
	zend_object *this = object_in(&EX(This), &statements);
	ground at;
	const zval *counted = parameters ? parameters : this ? AT(this, S_BOUND) : NULL;
	bool again = this && !parameters && Z_TYPE_P(AT(this, S_GIVEN)) != IS_NULL; /* with the last parameters */
	uint32_t count = counted && Z_TYPE_P(counted) == IS_ARRAY ? zend_hash_num_elements(Z_ARRVAL_P(counted)) : 0;
	bool usual = this && !again && Z_TYPE_P(AT(this, S_PREPARED)) == IS_NULL && Z_TYPE_P(AT(this, S_SETTINGS)) == IS_NULL
		&& Z_TYPE_P(AT(this, S_WAY)) == IS_LONG && Z_LVAL_P(AT(this, S_WAY)) == USUAL
		&& (find_ground(this, count, &at) || (lease(this, parameters, &at) && find_ground(this, count, &at)));
	if (UNEXPECTED(!usual)) {
		if (!EG(exception)) {
			pass_on(INTERNAL_FUNCTION_PARAM_PASSTHRU, "executeany");
		}
		return;
	}
	take(&at, count);
	if (parameters) {
		note_given(this, parameters);
	}
	set_object(AT(this, S_SESSION), at.session);
	run(INTERNAL_FUNCTION_PARAM_PASSTHRU, this, &at, parameters);
}

/* Whether this result is of that statement still, and is not read to its end. */
static inline bool can_read(const zend_object *this, const zend_object *prepared)
{
	return Z_LVAL_P(AT(prepared, P_TICKET)) == Z_LVAL_P(AT(this, S_TICKET)) && Z_LVAL_P(AT(this, S_LEFT)) > 0;
}

/* The statement whose rows can be read, if what is left to read is known. */
static inline zend_object *readable(zend_execute_data *execute_data, zend_object **prepared)
{
	zend_object *this = object_in(&EX(This), &statements);
	*prepared = this ? object_in(AT(this, S_PREPARED), &prepared_layout) : NULL;
	return *prepared && can_read(this, *prepared) ? this : NULL;
}

/* Reads by a method of the real statement; `all`: to the end, otherwise one row. */
static void read_rows(INTERNAL_FUNCTION_PARAMETERS, zend_function *method, bool all, const char *otherwise)
{
	zend_object *prepared, *this = readable(execute_data, &prepared);
	uint32_t count = ZEND_NUM_ARGS();
	const zval *mode = count ? ZEND_CALL_ARG(execute_data, 1) : NULL;
	bool usual = this && !(ZEND_CALL_INFO(execute_data) & ZEND_CALL_HAS_EXTRA_NAMED_PARAMS) && (all || count < 2)
		&& (!mode || (Z_TYPE_P(mode) == IS_LONG && Z_LVAL_P(mode) != PDO_FETCH_LAZY) || method == real_fetch_column);
	if (UNEXPECTED(!usual)) {
		pass_on(INTERNAL_FUNCTION_PARAM_PASSTHRU, otherwise);
		return;
	}
	zval failure;
	GC_ADDREF(prepared);
	in_place(execute_data, method, Z_OBJ_P(AT(prepared, P_STATEMENT)), count, return_value);
	/* A constructor of a row's class may have ended the result. */
	bool goes_on = Z_TYPE_P(AT(this, S_PREPARED)) == IS_OBJECT && Z_OBJ_P(AT(this, S_PREPARED)) == prepared && can_read(this, prepared);
	OBJ_RELEASE(prepared);
	if (UNEXPECTED(EG(exception) != NULL)) {
		if (take_exception(&failure)) {
			call(this, "readingfailed", NULL, 1, &failure);
			zval_ptr_dtor(&failure);
		}
		return;
	}
	if (EXPECTED(goes_on) && (all || --Z_LVAL_P(AT(this, S_LEFT)) == 0)) {
		end(execute_data, this);
	}
}

static ZEND_NAMED_FUNCTION(quick_fetch)
{
	read_rows(INTERNAL_FUNCTION_PARAM_PASSTHRU, real_fetch, false, "fetchany");
}

static ZEND_NAMED_FUNCTION(quick_fetch_column)
{
	read_rows(INTERNAL_FUNCTION_PARAM_PASSTHRU, real_fetch_column, false, "fetchcolumnany");
}

static ZEND_NAMED_FUNCTION(quick_fetch_all)
{
	read_rows(INTERNAL_FUNCTION_PARAM_PASSTHRU, real_fetch_all, true, "fetchallany");
}

/* The text of the statement, which PDO lets nobody else write. */
ZEND_METHOD(Weft_Database_QuickStatement, tell);

ZEND_METHOD(Weft_Database_QuickStatement, tell)
{
	zend_string *text;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(text)
	ZEND_PARSE_PARAMETERS_END();
	zval value;
	ZVAL_STR_COPY(&value, text);
	set(AT(Z_OBJ(EX(This)), S_TEXT), &value);
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_tell, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, text, IS_STRING, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry methods[] = {
	ZEND_ME(Weft_Database_QuickStatement, tell, arginfo_tell, ZEND_ACC_PROTECTED)
	ZEND_FE_END
};

/* ---- the class ---- */

/* Its copy of an inherited method does what `with` does, with the arguments that PDO has declared. */
static zend_function *replace(zend_class_entry *class_entry, const char *name, zif_handler with)
{
	zend_function *own = zend_hash_str_find_ptr(&class_entry->function_table, name, strlen(name));
	if (with) {
		own->internal_function.handler = with;
		weft_call_by_handler(&own->internal_function);
	}
	return zend_hash_str_find_ptr(&class_entry->parent->function_table, name, strlen(name));
}

static zend_object *(*create_of_pdo)(zend_class_entry *class_entry);
static zend_object_handlers handlers;

/* Calls the destructor only if there is a result to be given up. */
static void destruct(zend_object *object)
{
	zend_object *known = object->ce == statements.class_entry ? object : NULL;
	if (!known || Z_TYPE_P(AT(known, S_PREPARED)) != IS_NULL) {
		zend_objects_destroy_object(object);
	}
}

static zend_object *create(zend_class_entry *class_entry)
{
	zend_object *object = create_of_pdo(class_entry);
	if (!handlers.dtor_obj) {
		handlers = *object->handlers;
		handlers.dtor_obj = destruct;
	}
	object->handlers = &handlers;
	return object;
}

/* Once, when PDO has started and its methods have been wrapped. */
void weft_quick_statement_start(void)
{
	zend_class_entry entry, *pdo_statement = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdostatement"));
	const zend_property_info *text = pdo_statement ? zend_hash_str_find_ptr(&pdo_statement->properties_info, ZEND_STRL("queryString")) : NULL;
	if (!text || OBJ_PROP_TO_NUM(text->offset) != 0) {
		return; /* no PDO, or another than we know: the PHP class is loaded */
	}
	INIT_NS_CLASS_ENTRY(entry, "Weft\\Database", "QuickStatement", methods);
	EG(current_module) = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("weft")); /* modules have started: none is current any more */
	zend_class_entry *own = zend_register_internal_class_ex(&entry, pdo_statement);
	EG(current_module) = NULL;
	own->ce_flags |= ZEND_ACC_EXPLICIT_ABSTRACT_CLASS;
	create_of_pdo = own->create_object;
	own->create_object = create;
	real_execute = replace(own, "execute", quick_execute);
	real_fetch = replace(own, "fetch", quick_fetch);
	real_fetch_column = replace(own, "fetchcolumn", quick_fetch_column);
	real_fetch_all = replace(own, "fetchall", quick_fetch_all);
	real_close_cursor = replace(own, "closecursor", NULL);
	weft_quick_connection_start();
}
