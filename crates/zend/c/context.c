/* Weft\Context and defer(): values that a coroutine keeps for itself, and work that it does at its end.
 *
 * Invariants: a coroutine that already runs never sees a value that another one sets; arrays are shared until one
 * coroutine writes, so inheriting costs one reference. */
#include "context.h"
#include "boot.h"
#include "coroutine.h"
#include "php/version.h"
#include "weft_arginfo.h"
#include "zend_closures.h"

static WEFT_BOOT zval boot; /* values set while the application booted: every request starts with them */

static zval *own(void)
{
	return weft_current ? &weft_context_slot(weft_current)->values : &boot;
}

/* The coroutine's own array, to be written to. */
static HashTable *writable(zval *array)
{
	if (Z_TYPE_P(array) == IS_UNDEF) {
		array_init(array);
	} else {
		SEPARATE_ARRAY(array);
	}
	return Z_ARRVAL_P(array);
}

static zval *find(zend_string *key)
{
	zval *array = own();
	return Z_TYPE_P(array) == IS_ARRAY ? zend_hash_find(Z_ARRVAL_P(array), key) : NULL;
}

ZEND_METHOD(Weft_Context, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

ZEND_METHOD(Weft_Context, get)
{
	zend_string *key;
	zval *otherwise = NULL;
	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_STR(key)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(otherwise)
	ZEND_PARSE_PARAMETERS_END();
	zval *value = find(key);
	if (value || otherwise) {
		RETURN_COPY_DEREF(value ? value : otherwise);
	}
}

ZEND_METHOD(Weft_Context, set)
{
	zend_string *key;
	zval *value;
	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_STR(key)
		Z_PARAM_ZVAL(value)
	ZEND_PARSE_PARAMETERS_END();
	Z_TRY_ADDREF_P(value);
	zend_hash_update(writable(own()), key, value);
}

ZEND_METHOD(Weft_Context, has)
{
	zend_string *key;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(key)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(find(key) != NULL);
}

ZEND_METHOD(Weft_Context, delete)
{
	zend_string *key;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(key)
	ZEND_PARSE_PARAMETERS_END();
	if (find(key)) {
		zend_hash_del(writable(own()), key);
	}
}

/* In resident mode the application boots on the coroutine that runs its requests. */
void weft_context_booted(weft_coroutine *coroutine)
{
	ZVAL_COPY_VALUE(&boot, &weft_context_slot(coroutine)->values);
	ZVAL_UNDEF(&weft_context_slot(coroutine)->values);
}

/* A request begins. A task already has its parent's values. */
void weft_context_begin(weft_coroutine *coroutine)
{
	if (UNEXPECTED(Z_TYPE(boot) != IS_UNDEF) && Z_TYPE(weft_context_slot(coroutine)->values) == IS_UNDEF) {
		ZVAL_COPY(&weft_context_slot(coroutine)->values, &boot);
	}
}

void weft_context_end(weft_coroutine *coroutine)
{
	if (UNEXPECTED(Z_TYPE(weft_context_slot(coroutine)->values) != IS_UNDEF)) {
		zval values;
		ZVAL_COPY_VALUE(&values, &weft_context_slot(coroutine)->values);
		ZVAL_UNDEF(&weft_context_slot(coroutine)->values);
		zval_ptr_dtor(&values);
	}
	if (UNEXPECTED(Z_TYPE(weft_context_slot(coroutine)->deferred) != IS_UNDEF)) { /* a bailout has interrupted it */
		zval left;
		ZVAL_COPY_VALUE(&left, &weft_context_slot(coroutine)->deferred);
		ZVAL_UNDEF(&weft_context_slot(coroutine)->deferred);
		zval_ptr_dtor(&left);
	}
}

/* ---- defer() ---- */

/* Work that is C code, on an object: that of a class which extends this one. */
static struct {
	zend_class_entry *of;
	bool (*quick)(zend_object *object); /* false: not done, because PHP code has to run */
	void (*any)(zend_object *object);
} native;

void weft_defer_natively(zend_class_entry *class_entry, bool (*quick)(zend_object *object), void (*any)(zend_object *object))
{
	native.of = class_entry;
	native.quick = quick;
	native.any = any;
}

static bool is_native(const zval *work)
{
	return Z_TYPE_P(work) == IS_OBJECT && native.of && Z_OBJ_P(work)->ce->parent == native.of;
}

void weft_defer(zval *work)
{
	Z_TRY_ADDREF_P(work);
	zend_hash_next_index_insert(writable(&weft_context_slot(weft_current)->deferred), work);
}

ZEND_FUNCTION(Weft_defer)
{
	zval *work;
	zend_fcall_info call;
	zend_fcall_info_cache cache;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ZVAL(work)
	ZEND_PARSE_PARAMETERS_END();
	if (zend_fcall_info_init(work, 0, &call, &cache, NULL, NULL) != SUCCESS) {
		zend_argument_type_error(1, "must be of type callable, %s given", zend_zval_type_name(work));
		RETURN_THROWS();
	}
	if (!weft_current) {
		zend_throw_error(NULL, "Weft\\defer() needs a coroutine: none runs while an application boots. "
			"register_shutdown_function() is called when the worker ends");
		RETURN_THROWS();
	}
	weft_defer(work);
}

/* Runs what needs no PHP code, from the last one on, up to one that does. */
void weft_run_deferred_natively(weft_coroutine *coroutine)
{
	zval *deferred = &weft_context_slot(coroutine)->deferred;
	HashTable *all = Z_ARRVAL_P(deferred);
	while (zend_hash_num_elements(all) > 0) {
		zend_ulong last = all->nNextFreeElement - 1;
		const zval *work = zend_hash_index_find(all, last);
		if (!work || !is_native(work) || !native.quick(Z_OBJ_P(work))) {
			return;
		}
		if (EXPECTED(zend_hash_num_elements(all) == 1)) {
			break; /* it ends with the list */
		}
		zend_hash_index_del(all, last);
		all->nNextFreeElement = (zend_long) last;
	}
	zval_ptr_dtor(deferred);
	ZVAL_UNDEF(deferred);
}

/* Runs the last one first; each may defer more. No code can catch what they throw, so it is logged. Runs contained:
 * after a bailout the rest is not run. */
void weft_run_deferred(weft_coroutine *coroutine)
{
	while (Z_TYPE(weft_context_slot(coroutine)->deferred) == IS_ARRAY && zend_hash_num_elements(Z_ARRVAL(weft_context_slot(coroutine)->deferred))) {
		HashTable *all = Z_ARRVAL(weft_context_slot(coroutine)->deferred);
		zend_ulong last = all->nNextFreeElement - 1;
		zval work, result;
		zval *found = zend_hash_index_find(all, last);
		if (!found) {
			break;
		}
		ZVAL_COPY(&work, found);
		zend_hash_index_del(all, last);
		all->nNextFreeElement = (zend_long) last;
		if (is_native(&work)) {
			native.any(Z_OBJ(work));
		} else {
			ZVAL_UNDEF(&result);
			call_user_function(NULL, NULL, &work, &result, 0, NULL);
			zval_ptr_dtor(&result);
		}
		zval_ptr_dtor(&work);
		if (EG(exception) && zend_is_unwind_exit(EG(exception))) {
			OBJ_RELEASE(EG(exception));
			weft_drop_exception();
		} else if (EG(exception)) {
			zend_exception_error(EG(exception), E_WARNING);
		}
	}
	zval_ptr_dtor(&weft_context_slot(coroutine)->deferred);
	ZVAL_UNDEF(&weft_context_slot(coroutine)->deferred);
}

void weft_context_register(void)
{
	ZVAL_UNDEF(&boot);
	register_class_Weft_Context(NULL);
}
