/* PHP's functions and methods with something of ours around them.
 *
 * A wrapper is put in place once, when the modules have started and before any user code is compiled: what opcache preloads
 * or its JIT compiles already sees it, and so do user classes, which copy the methods they inherit. Each wrapped function
 * carries a pointer to its row, so one wrapper serves many functions.
 * Invariant: functions that are not there (disable_functions, an extension that is not loaded) are no error. */
#include "signals.h"
#include "told.h"
#include "zend_extensions.h"

static int slot = -1;
static zend_result (*next_start)(void);

void *weft_wrapped_row(const zend_execute_data *execute_data)
{
	return execute_data->func->internal_function.reserved[slot];
}

zend_internal_function *weft_find_function(const char *class_name, const char *name)
{
	HashTable *functions = CG(function_table);
	if (class_name) {
		zend_class_entry *class_entry = zend_hash_str_find_ptr(CG(class_table), class_name, strlen(class_name));
		if (!class_entry) {
			return NULL;
		}
		functions = &class_entry->function_table;
	}
	zend_internal_function *function = zend_hash_str_find_ptr(functions, name, strlen(name));
	return function && function->type == ZEND_INTERNAL_FUNCTION ? function : NULL;
}

void weft_wrap_function(zend_internal_function *function, zif_handler with, void *row, zif_handler *stock)
{
	*stock = function->handler;
	function->handler = with;
	if (row) {
		function->reserved[slot] = row;
	}
}

bool weft_wrap(const char *class_name, const char *name, zif_handler with, void *row, zif_handler *stock)
{
	zend_internal_function *function = weft_find_function(class_name, name);
	if (!function) {
		return false;
	}
	weft_wrap_function(function, with, row, stock);
	return true;
}

static zend_result modules_started(void)
{
	weft_persistent_start();
	weft_pgsql_start();
	weft_mongodb_start();
	weft_guard_start();
	weft_signals_prepare();
	weft_extensions_prepare();
	weft_filter_start();
	weft_environment_start();
	weft_process_prepare();
	weft_told_prepare();
	weft_directories_prepare();
	weft_compile_prepare();
	return next_start ? next_start() : SUCCESS;
}

/* While modules start: opcache, which preloads in the same place, is started after them and calls us first. */
void weft_wrap_prepare(void)
{
	slot = zend_get_resource_handle("weft");
	next_start = zend_post_startup_cb;
	zend_post_startup_cb = modules_started;
}
