/* PHP's functions and methods, wrapped with code of ours.
 *
 * A wrapper is installed once, when the modules have started and before any user code is compiled: code that opcache
 * preloads or its JIT compiles already sees it, and so do user classes, which copy the methods they inherit. Each
 * wrapped function has a pointer to its row, so one wrapper serves many functions. Invariant: a missing function
 * (disable_functions, an extension that is not loaded) is not an error. */
#include "wrap.h"
#include "php/version.h"
#include "zend_extensions.h"

static int slot = -1;

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

/* What was wrapped until all modules had started, in order: functions, and methods. */
typedef struct {
	zif_handler stock, with;
	void *row;
	bool is_method;
} wrapping;

static wrapping *wrappings;
static size_t count, room;
static bool all_wrapped;

static void note(const zend_internal_function *function, zif_handler with, void *row)
{
	if (all_wrapped) {
		return;
	}
	if (count == room) {
		room = room * 2 + 64;
		wrappings = perealloc(wrappings, room * sizeof(*wrappings), true);
	}
	wrappings[count++] = (wrapping){function->handler, with, row, function->scope != NULL};
}

void weft_wrap_function(zend_internal_function *function, zif_handler with, void *row, zif_handler *stock)
{
	note(function, with, row);
	*stock = function->handler;
	function->handler = with;
	weft_call_by_handler(function);
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

/* Aliases, and methods that an internal class has inherited, are separate functions with the same handler. */
static void wrap_aliases(HashTable *functions)
{
	zend_internal_function *function;
	ZEND_HASH_MAP_FOREACH_PTR(functions, function) {
		if (function->type != ZEND_INTERNAL_FUNCTION) {
			continue;
		}
		for (size_t i = 0; i < count; i++) {
			if (function->handler == wrappings[i].stock && (function->scope != NULL) == wrappings[i].is_method) {
				function->handler = wrappings[i].with;
				weft_call_by_handler(function);
				function->reserved[slot] = wrappings[i].row ? wrappings[i].row : function->reserved[slot];
			}
		}
	} ZEND_HASH_FOREACH_END();
}

void weft_wrap_aliases(void)
{
	zend_class_entry *class_entry;
	wrap_aliases(CG(function_table));
	ZEND_HASH_MAP_FOREACH_PTR(CG(class_table), class_entry) {
		wrap_aliases(&class_entry->function_table);
	} ZEND_HASH_FOREACH_END();
	all_wrapped = true;
	pefree(wrappings, true);
}

void weft_wrap_start(void)
{
	slot = zend_get_resource_handle("weft");
}
