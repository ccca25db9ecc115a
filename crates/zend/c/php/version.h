/* PHP's smaller differences by version, each under one name.
 *
 * Layouts of extensions' globals are in layouts.h, the generator of random numbers is in random.c. Everything else of weft's C
 * is the same for all versions. */
#ifndef WEFT_VERSION_H
#define WEFT_VERSION_H

#include "../weft.h"
#include "zend_fibers.h"

/* A new context; false: no memory or no mappings for its stack, with an exception. Since 8.3 PHP answers with a zend_result, whose
 * SUCCESS is 0. */
static inline bool weft_context_init(zend_fiber_context *context, void *kind, zend_fiber_coroutine main, size_t stack_bytes)
{
#if PHP_VERSION_ID >= 80300
	return zend_fiber_init_context(context, kind, main, stack_bytes) == SUCCESS;
#else
	return zend_fiber_init_context(context, kind, main, stack_bytes);
#endif
}

/* Tells PHP where the stack ends on which it goes on: since 8.3 it throws an Error before a script's recursion reaches the end, or
 * goes deeper than zend.max_allowed_stack_size (zend_call_stack_init() in Zend/zend.c). */
static inline void weft_stack_is(char *lowest, char *end)
{
#if PHP_VERSION_ID >= 80300
	zend_long allowed = EG(max_allowed_stack_size);
	if (allowed == ZEND_MAX_ALLOWED_STACK_SIZE_UNCHECKED) {
		EG(stack_base) = EG(stack_limit) = NULL;
		return;
	}
	if (allowed > 0 && allowed < end - lowest) {
		lowest = end - allowed;
	}
	EG(stack_base) = end;
	EG(stack_limit) = lowest + EG(reserved_stack_size);
#else
	(void) lowest, (void) end;
#endif
}

/* The same for the stack of a context. */
static inline void weft_stack_is_of(const zend_fiber_context *context)
{
#if PHP_VERSION_ID >= 80300
	char *lowest = (char *) zend_fiber_stack_limit(context->stack) - EG(reserved_stack_size);
	weft_stack_is(lowest, zend_fiber_stack_base(context->stack));
#else
	(void) context;
#endif
}

/* Whether the garbage collector is at work: on its way are then only destructors. Before 8.4 PHP itself forbids to switch Fibers in
 * them. */
static inline bool weft_collecting(void)
{
#if PHP_VERSION_ID >= 80400
	zend_gc_status status;
	zend_gc_get_status(&status);
	return status.active;
#else
	return false;
#endif
}

/* From now on a function is called by its handler only. Since 8.4 code is compiled to call some functions of PHP in another way,
 * without a frame (ZEND_FRAMELESS_ICALL), which a handler that replaces theirs would not see. */
static inline void weft_call_by_handler(zend_internal_function *function)
{
#if PHP_VERSION_ID >= 80400
	function->frameless_function_infos = NULL;
#else
	(void) function;
#endif
}

/* flush() in a script: since 8.4 it sends the head, although PHP has handed over no body (sapi_cgibin_flush in
 * sapi/fpm/fpm/fpm_main.c). */
static inline void weft_flush_head(void)
{
#if PHP_VERSION_ID >= 80400
	sapi_send_headers();
#endif
}

/* The first function of a session's save handler (ext/session/php_session.h). */
#if PHP_VERSION_ID >= 80300
#define WEFT_SESSION_OPEN(globals) ((globals).mod_user_names.ps_open)
#else
#define WEFT_SESSION_OPEN(globals) ((globals).mod_user_names.name.ps_open)
#endif

/* How ext/odbc's keys of persistent connections begin (odbc_do_connect in ext/odbc/php_odbc.c). */
#if PHP_VERSION_ID >= 80400
#define WEFT_ODBC_PERSISTENT "odbc_1_unixODBC_"
#else
#define WEFT_ODBC_PERSISTENT "unixODBC_"
#endif

/* Zend's list of the classes that are being loaded; NULL: none is, yet. */
static inline HashTable *weft_loading(void)
{
#if PHP_VERSION_ID >= 80600
	return &EG(autoload_current_classnames);
#else
	return EG(in_autoload);
#endif
}

/* Nothing is thrown any more; what was is freed by nobody. */
static inline void weft_drop_exception(void)
{
	EG(exception) = NULL;
#if PHP_VERSION_ID < 80600
	EG(prev_exception) = NULL;
#endif
}

/* The class of a session's save handler, which its end releases; since 8.6 PHP remembers none. */
#if PHP_VERSION_ID >= 80600
#define WEFT_SESSION_CLASS(globals) ((zend_string *) NULL)
#else
#define WEFT_SESSION_CLASS(globals) ((globals).mod_user_class_name)
#endif

/* header_register_callback()'s function: where it is, how many bytes belong to it, and which word of them tells that there is one. */
#if PHP_VERSION_ID >= 80600
#define WEFT_HEADER_CALLBACK (&SG(send_header_fcc))
#define WEFT_HEADER_CALLBACK_BYTES sizeof(SG(send_header_fcc))
#define WEFT_HEADER_CALLBACK_KEY offsetof(zend_fcall_info_cache, function_handler)
#else
#define WEFT_HEADER_CALLBACK (&SG(callback_func))
#define WEFT_HEADER_CALLBACK_BYTES (sizeof(zval) + sizeof(zend_fcall_info_cache))
#define WEFT_HEADER_CALLBACK_KEY offsetof(zval, u1)
#endif

#endif
