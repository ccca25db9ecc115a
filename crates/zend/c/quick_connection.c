/* Weft\Database\QuickPdo and QuickLeases: what a SharedPdo does for every statement and for every coroutine, without PHP code.
 * prepare() makes a statement, which speaks to nobody; a coroutine gets a session with its first statement, and gives it up at its
 * end.
 *
 * Must not do anything that those classes do not: php/src/Database/QuickPdo.php, QuickLeases.php and Leases.php say why each step is
 * as it is. Invariant: what is not usual (a class that is not loaded yet, a connection that is still leased) is left to them. */
#include "quick_connection.h"
#include "context.h"
#include "coroutine.h"
#include "php/version.h"
#include "quick_calls.h"
#include "quick_lease.h"
#include "quick_properties.h"

static layout databases = {.names = {[D_LEASES] = "leases"}}, statements = {.names = STATEMENTS}, leases_layout = {.names = LEASES},
	sessions_layout = {.names = SESSIONS}, waiters_layout = {.names = WAITERS}, slots_layout = {.names = SLOTS},
	slot_layout = {.names = SLOT}, connections_layout = {.names = CONNECTIONS};

static zend_string *statement_name, *session_name; /* in lower case */

/* An object of a class of the library, with the properties as they are declared. NULL: that class is not loaded, or is another. */
static zend_object *make(zend_string *lower_name, layout *of, zval *made)
{
	zend_class_entry *class_entry = zend_hash_find_ptr(EG(class_table), lower_name);
	if (UNEXPECTED(!class_entry) || object_init_ex(made, class_entry) != SUCCESS) {
		return NULL;
	}
	zend_object *object = object_in(made, of);
	if (UNEXPECTED(!object)) {
		zval_ptr_dtor(made);
	}
	return object;
}

static zend_function *method(zend_object *object, const char *name)
{
	zend_function *found = zend_hash_str_find_ptr(&object->ce->function_table, name, strlen(name));
	if (!found) {
		zend_throw_error(NULL, "%s::%s() is missing: weft's PHP library is not the one this binary was made with", ZSTR_VAL(object->ce->name), name);
	}
	return found;
}

/* ---- prepare() ---- */

static ZEND_NAMED_FUNCTION(quick_prepare)
{
	zend_string *query;
	zval *options = NULL, made;
	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_STR(query)
		Z_PARAM_OPTIONAL
		Z_PARAM_ARRAY(options)
	ZEND_PARSE_PARAMETERS_END();
	zend_object *this = Z_OBJ_P(ZEND_THIS), *database = object_in(ZEND_THIS, &databases);
	const zval *leases = database ? AT(database, D_LEASES) : NULL;
	zend_object *statement = leases && Z_TYPE_P(leases) == IS_OBJECT ? make(statement_name, &statements, &made) : NULL;
	if (UNEXPECTED(!statement)) {
		zend_function *any = EG(exception) ? NULL : method(this, "prepareany");
		if (any) {
			zend_call_known_function(any, this, this->ce, return_value, ZEND_NUM_ARGS(), ZEND_CALL_ARG(execute_data, 1), NULL);
		}
		return;
	}
	/* As it was made, it has no value in these that must be released. */
	ZVAL_STR_COPY(AT(statement, S_TEXT), query);
	ZVAL_OBJ_COPY(AT(statement, S_LEASES), Z_OBJ_P(leases));
	if (options && is_array_with(options)) {
		ZVAL_COPY(AT(statement, S_WAY), options);
	}
	ZVAL_OBJ(return_value, statement);
}

/* ---- a coroutine comes and leaves ---- */

zval *weft_quick_session(zend_object *object, zend_long coroutine)
{
	zval value, made;
	ZVAL_OBJ(&value, object);
	zend_object *leases = object_in(&value, &leases_layout);
	zval *spare = leases ? AT(leases, L_SPARE) : NULL;
	bool ready = spare && coroutine;
	if (EXPECTED(ready && Z_TYPE_P(spare) == IS_OBJECT)) {
		ZVAL_COPY_VALUE(&made, spare);
		ZVAL_NULL(spare);
	} else {
		ready = ready && make(session_name, &sessions_layout, &made);
	}
	if (EXPECTED(ready)) {
		weft_defer(&value);
		return zend_hash_index_update(array_at(AT(leases, L_SESSIONS)), (zend_ulong) coroutine, &made);
	}
	zend_function *enter = EG(exception) ? NULL : method(object, "enter");
	if (!enter) {
		return NULL;
	}
	ZVAL_LONG(&value, coroutine);
	ZVAL_UNDEF(&made);
	zend_call_known_function(enter, object, object->ce, &made, 1, &value, NULL);
	zval_ptr_dtor(&made); /* it is in the list */
	ZVAL_OBJ(&value, object);
	leases = EG(exception) ? NULL : object_in(&value, &leases_layout);
	return leases ? zend_hash_index_find(Z_ARRVAL_P(AT(leases, L_SESSIONS)), (zend_ulong) coroutine) : NULL;
}

/* ---- a coroutine leaves ---- */

/* Whether all that this session still says is about its last statement. */
static bool is_done(const zend_object *session)
{
	return !is_array_with(AT(session, N_CURSORS)) && Z_TYPE_P(AT(session, N_CURSOR)) == IS_NULL && Z_LVAL_P(AT(session, N_HOLDS)) == 0
		&& !IS_TRUE_AT(session, N_TRANSACTION) && !IS_TRUE_AT(session, N_LOST) && !IS_TRUE_AT(session, N_CHANGED);
}

/* Keeps it for the next coroutine. */
static void spare_session(zend_object *leases, zend_object *session)
{
	zval id;
	ZVAL_CHAR(&id, '0');
	set(AT(session, N_ID), &id);
	set_null(AT(session, N_ERROR));
	ZVAL_FALSE(AT(session, N_USED));
	ZVAL_FALSE(AT(session, N_LOOSE));
	ZVAL_LONG(AT(session, N_STREAK), 0);
	set_object(AT(leases, L_SPARE), session);
}

/* The end of a coroutine that has read all its results. It may have its connection still, because others wait for one. */
static bool leave_quickly(zend_object *this)
{
	zval object;
	ZVAL_OBJ(&object, this);
	zend_object *leases = object_in(&object, &leases_layout);
	zval *sessions = leases ? AT(leases, L_SESSIONS) : NULL;
	zend_ulong id = weft_current ? weft_current->serial : 0;
	const zval *found = sessions && Z_TYPE_P(sessions) == IS_ARRAY ? zend_hash_index_find(Z_ARRVAL_P(sessions), id) : NULL;
	zend_object *session = found ? object_in(found, &sessions_layout) : NULL;
	if (UNEXPECTED(!session)) {
		return false;
	}
	zend_object *slot = object_in(AT(session, N_SLOT), &slot_layout);
	const zend_object *connection = slot ? object_in(AT(slot, T_RESOURCE), &connections_layout) : NULL;
	zend_object *slots = slot ? object_in(AT(leases, L_SLOTS), &slots_layout) : NULL;
	zend_object *waiters = slot ? object_in(AT(leases, L_WAITERS), &waiters_layout) : NULL;
	bool done = is_done(session);
	if (UNEXPECTED(slot ? !done || !connection || !slots || !waiters || weft_quick_in_transaction(connection) : Z_TYPE_P(AT(session, N_SLOT)) != IS_NULL)) {
		return false;
	}
	ZVAL_NULL(AT(session, N_SLOT)); /* its reference is ours now */
	if (EXPECTED(done && GC_REFCOUNT(session) == 1)) {
		spare_session(leases, session);
	}
	zend_hash_index_del(array_at(sessions), id);
	if (slot) {
		weft_quick_give(slots, waiters, slot);
	}
	return true;
}

static void leave(zend_object *this)
{
	zend_function *any = leave_quickly(this) ? NULL : method(this, "leaveany");
	if (any) {
		zend_call_known_function(any, this, this->ce, NULL, 0, NULL, NULL);
	}
}

ZEND_METHOD(Weft_Database_QuickLeases, leave);

ZEND_METHOD(Weft_Database_QuickLeases, leave)
{
	ZEND_PARSE_PARAMETERS_NONE();
	leave(Z_OBJ_P(ZEND_THIS));
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_leave, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry leases_methods[] = {
	ZEND_ME(Weft_Database_QuickLeases, leave, arginfo_leave, ZEND_ACC_PROTECTED)
	ZEND_FE_END
};

static const zend_function_entry no_methods[] = {
	ZEND_FE_END
};

/* Once, when PDO has started and its methods have been wrapped. */
void weft_quick_connection_start(void)
{
	zend_class_entry pdo_entry, leases_entry, *pdo = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdo"));
	statement_name = zend_string_init(ZEND_STRL("weft\\database\\sharedpdostatement"), 1);
	session_name = zend_string_init(ZEND_STRL("weft\\database\\session"), 1);
	INIT_NS_CLASS_ENTRY(pdo_entry, "Weft\\Database", "QuickPdo", no_methods);
	INIT_NS_CLASS_ENTRY(leases_entry, "Weft\\Database", "QuickLeases", leases_methods);
	EG(current_module) = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("weft")); /* as in quick_statement.c */
	zend_class_entry *own = zend_register_internal_class_ex(&pdo_entry, pdo);
	own->ce_flags |= ZEND_ACC_EXPLICIT_ABSTRACT_CLASS;
	zend_class_entry *leases = zend_register_internal_class(&leases_entry);
	leases->ce_flags |= ZEND_ACC_EXPLICIT_ABSTRACT_CLASS;
	weft_defer_natively(leases, leave_quickly, leave);
	EG(current_module) = NULL;
	zend_function *prepare = zend_hash_str_find_ptr(&own->function_table, ZEND_STRL("prepare"));
	prepare->internal_function.handler = quick_prepare;
	weft_call_by_handler(&prepare->internal_function);
}
