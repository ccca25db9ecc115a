/* Calls of methods between the native part of a SharedPdo's statement, its PHP classes, and the real statement.
 *
 * Must not know when which is called. Invariant: a method that is missing is an error that says so. */
#ifndef WEFT_QUICK_CALLS_H
#define WEFT_QUICK_CALLS_H

#include "weft.h"

/* Calls a method of the real statement, which the caller holds, in the frame of the running call, with the first of its arguments. */
static inline void in_place(zend_execute_data *execute_data, zend_function *function, zend_object *object, uint32_t arguments, zval *return_value)
{
	zend_function *own = EX(func);
	zend_object *this = Z_OBJ(EX(This));
	uint32_t count = ZEND_CALL_NUM_ARGS(execute_data);
	EX(func) = function;
	Z_OBJ(EX(This)) = object;
	ZEND_CALL_NUM_ARGS(execute_data) = arguments;
	function->internal_function.handler(execute_data, return_value);
	ZEND_CALL_NUM_ARGS(execute_data) = count;
	Z_OBJ(EX(This)) = this;
	EX(func) = own;
}

static inline void call(zend_object *object, const char *method, zval *return_value, uint32_t count, zval *arguments)
{
	zend_function *function = zend_hash_str_find_ptr(&object->ce->function_table, method, strlen(method));
	if (!function) {
		zend_throw_error(NULL, "%s::%s() is missing: weft's PHP library is not the one this binary was made with", ZSTR_VAL(object->ce->name), method);
		return;
	}
	zval unused;
	zend_call_known_function(function, object, object->ce, return_value ? return_value : &unused, count, arguments, NULL);
	if (!return_value) {
		zval_ptr_dtor(&unused);
	}
}

/* Has the PHP classes do the whole call. */
static inline void pass_on(INTERNAL_FUNCTION_PARAMETERS, const char *method)
{
	zend_object *this = Z_OBJ(EX(This));
	zend_function *function = zend_hash_str_find_ptr(&this->ce->function_table, method, strlen(method));
	HashTable *named = ZEND_CALL_INFO(execute_data) & ZEND_CALL_HAS_EXTRA_NAMED_PARAMS ? EX(extra_named_params) : NULL;
	zend_call_known_function(function, this, this->ce, return_value, ZEND_NUM_ARGS(), ZEND_CALL_ARG(execute_data, 1), named);
}

/* Takes what was thrown, to be given to PHP code. False: nothing was, or what no PHP code may catch. */
static inline bool take_exception(zval *failure)
{
	zend_object *thrown = EG(exception);
	if (!thrown || zend_is_unwind_exit(thrown) || zend_is_graceful_exit(thrown)) {
		return false;
	}
	GC_ADDREF(thrown);
	ZVAL_OBJ(failure, thrown);
	zend_clear_exception();
	return true;
}

#endif
