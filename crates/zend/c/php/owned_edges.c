/* The begin and the end of the rows that differ by version of PHP (owned.h).
 *
 * Must not know when a run begins or ends (isolate.c). Invariant: a value is removed before it is freed, because its destructor may
 * bail out. */
#include "owned_edges.h"

void weft_owned_by_version_begin(weft_owned *base)
{
#if PHP_VERSION_ID >= 80600
	zend_hash_init(&base->in_autoload, 8, NULL, NULL, false);
	memset(&base->stream_errors, 0, sizeof(base->stream_errors));
#else
	base->in_autoload = NULL; /* each coroutine creates one when it needs it */
#endif
#if PHP_VERSION_ID >= 80400
	ZVAL_UNDEF(&base->response_headers);
#endif
#if PHP_VERSION_ID >= 80500
	ZVAL_UNDEF(&base->backtrace_of_fatal_error);
#endif
	base->wrapper_errors = NULL;
}

static void free_table(HashTable **table)
{
	if (UNEXPECTED(*table != NULL)) {
		zend_hash_destroy(*table);
		FREE_HASHTABLE(*table);
		*table = NULL;
	}
}

#if PHP_VERSION_ID >= 80400
static void free_value(zval *value)
{
	if (UNEXPECTED(Z_REFCOUNTED_P(value))) {
		zval gone;
		ZVAL_COPY_VALUE(&gone, value);
		ZVAL_UNDEF(value);
		zval_ptr_dtor(&gone);
	}
	ZVAL_UNDEF(value);
}
#endif

void weft_owned_by_version_end(void)
{
#if PHP_VERSION_ID >= 80600
	zend_hash_destroy(&EG(autoload_current_classnames));
	zend_hash_init(&EG(autoload_current_classnames), 8, NULL, NULL, false);
	free_table(&FG(wrapper_logged_errors));
	php_stream_error_state_cleanup();
#else
	free_table(&EG(in_autoload));
	free_table(&FG(wrapper_errors));
#endif
#if PHP_VERSION_ID >= 80400
	free_value(&BG(last_http_headers));
#endif
#if PHP_VERSION_ID >= 80500
	free_value(&EG(last_fatal_error_backtrace));
#endif
}
