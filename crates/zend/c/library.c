/* weft's PHP library: classes below Weft\\ exist for every application, without Composer and without a visible
 * autoloader. Also the native functions that are written in PHP.
 *
 * It wraps all autoloading, because an autoloader may wait: a class is loaded by one coroutine at a time.
 *
 * Invariant: only our own names cost anything; the directory comes from the installation, never from a request. */
#include "library.h"
#include "coroutine.h"
#include "failure.h"
#include "native.h"
#include "schedule.h"
#include "weft_arginfo.h"

#include <unistd.h>

#define PREFIX "weft\\"

static const char *directory;
static zend_class_entry *(*next_autoload)(zend_string *name, zend_string *lower_name);

/* "Weft\Http\Response" as a path below src/. Names that could lead elsewhere have no path. */
static bool path_of(const char *name, size_t length, char *path, size_t size)
{
	int used = snprintf(path, size, "%s/src/", directory);
	if (used < 0 || used + length + sizeof(".php") > size) {
		return false;
	}
	char *at = path + used;
	for (size_t i = 0; i < length; i++) {
		char c = name[i];
		if (!isalnum((unsigned char) c) && c != '_' && c != '\\') {
			return false;
		}
		*at++ = c == '\\' ? '/' : c;
	}
	memcpy(at, ".php", sizeof(".php"));
	return true;
}

/* Whether the PHP code that runs, or has called the C code that runs, is of the library. */
static bool library_runs(const zend_execute_data *frame)
{
	while (frame && !(frame->func && ZEND_USER_CODE(frame->func->type))) {
		frame = frame->prev_execute_data;
	}
	size_t length = directory ? strlen(directory) : 0;
	const zend_string *file = frame ? frame->func->op_array.filename : NULL;
	return length && file && ZSTR_LEN(file) > length && memcmp(ZSTR_VAL(file), directory, length) == 0 && ZSTR_VAL(file)[length] == '/';
}

/* Includes a file as require does, inside whatever runs now. That may be a compiled trace, which finds its exits by
 * EG(jit_trace_num): zend_call_function (Zend/zend_execute_API.c) brings it back after PHP code has run, zend_execute
 * does not. */
static void require(const char *path)
{
	zend_file_handle file;
	zval result;
	uint32_t trace = EG(jit_trace_num);
	ZVAL_UNDEF(&result);
	zend_stream_init_filename(&file, path);
	zend_op_array *script = zend_compile_file(&file, ZEND_REQUIRE);
	zend_destroy_file_handle(&file);
	if (script) {
		zend_execute(script, &result);
		EG(jit_trace_num) = trace;
		zend_destroy_static_vars(script);
		destroy_op_array(script);
		efree_size(script, sizeof(zend_op_array));
		zval_ptr_dtor(&result);
	}
}

static zend_class_entry *load_class(zend_string *name, zend_string *lower_name)
{
	char path[MAXPATHLEN];
	size_t prefix = sizeof(PREFIX) - 1;
	bool ours = ZSTR_LEN(lower_name) > prefix && !memcmp(ZSTR_VAL(lower_name), PREFIX, prefix)
		&& path_of(ZSTR_VAL(name) + prefix, ZSTR_LEN(name) - prefix, path, sizeof(path)) && access(path, R_OK) == 0;
	if (ours) {
		require(path);
		zend_class_entry *class = EG(exception) ? NULL : zend_hash_find_ptr(EG(class_table), lower_name);
		if (class || EG(exception)) {
			return class;
		}
	}
	return next_autoload ? next_autoload(name, lower_name) : NULL;
}

/* ---- one coroutine loads a class, and others that need it wait ---- */

/* A class that is being loaded; on the C stack of its coroutine. */
typedef struct weft_loading {
	zend_string *lower_name;
	weft_coroutine *loader;
	struct weft_wanting *wanting;
	struct weft_loading *next;
} weft_loading;

/* A coroutine that waits for one; on its C stack. */
typedef struct weft_wanting {
	uint64_t wait;
	struct weft_wanting *next;
} weft_wanting;

static weft_loading *loadings;

/* The class for which it waits, and which another coroutine loads. */
WEFT_SLOT(library, zend_string *)

static weft_loading *loading_of(const zend_string *lower_name)
{
	for (weft_loading *loading = loadings; loading; loading = loading->next) {
		if (zend_string_equals(loading->lower_name, lower_name)) {
			return loading;
		}
	}
	return NULL;
}

/* Whether the loader waits, directly or through others, for a class that this coroutine loads: then this coroutine
 * must not wait. */
static bool waits_for(const weft_loading *loading, const weft_coroutine *coroutine)
{
	while (loading && loading->loader != coroutine) {
		const zend_string *wanted = *weft_library_slot(loading->loader);
		loading = wanted ? loading_of(wanted) : NULL;
	}
	return loading != NULL;
}

/* Waits until the current loading has ended. false: interrupted, or it cannot wait here. */
static bool wait_for(weft_loading *loading, zend_string *lower_name)
{
	weft_coroutine *coroutine = weft_current;
	if (!coroutine || !weft_coroutine_may_leave() || waits_for(loading, coroutine)) {
		return false;
	}
	weft_wanting wanting = {.wait = weft_host_wait_begin(), .next = loading->wanting};
	if (!wanting.wait) {
		return false;
	}
	loading->wanting = &wanting;
	*weft_library_slot(coroutine) = lower_name;
	weft_wait_end end = weft_host_wait(wanting.wait, WEFT_NEVER);
	*weft_library_slot(coroutine) = NULL;
	loading = loading_of(lower_name); /* if it is still there, and not another one by now */
	for (weft_wanting **at = loading ? &loading->wanting : NULL; at && *at; at = &(*at)->next) {
		if (*at == &wanting) {
			*at = wanting.next;
			break;
		}
	}
	return end == WEFT_WOKEN;
}

static void loading_ended(weft_loading *loading)
{
	for (weft_loading **at = &loadings; *at; at = &(*at)->next) {
		if (*at == loading) {
			*at = loading->next;
			break;
		}
	}
	for (weft_wanting *wanting = loading->wanting; wanting; wanting = wanting->next) {
		weft_host_wake(wanting->wait);
	}
}

/* Whether a class declaration looks for its parent or an interface. Until it has them, its name is taken, but no code
 * can use the class (zend_lookup_class_ex finds it unlinked and gives up): so no other coroutine may run meanwhile. */
static bool links_a_class(void)
{
	const zend_execute_data *frame = EG(current_execute_data);
	return frame && frame->func && ZEND_USER_CODE(frame->func->type) && frame->opline
		&& (frame->opline->opcode == ZEND_DECLARE_CLASS || frame->opline->opcode == ZEND_DECLARE_CLASS_DELAYED);
}

/* Without this, two requests that need a class at once would both include its file: "the name is already in use". */
static zend_class_entry *autoload(zend_string *name, zend_string *lower_name)
{
	if (weft_current && weft_native_is(weft_current)) {
		return load_class(name, lower_name); /* classic mode: its classes are its own */
	}
	weft_loading *others;
	while ((others = loading_of(lower_name)) && others->loader != weft_current && wait_for(others, lower_name)) {
		zend_class_entry *class = zend_hash_find_ptr(EG(class_table), lower_name);
		if (class && (class->ce_flags & ZEND_ACC_LINKED)) {
			return class;
		}
	}
	if (EG(exception)) {
		return NULL;
	}
	weft_loading loading = {.lower_name = lower_name, .loader = weft_current, .next = loadings};
	zend_class_entry *volatile class = NULL;
	volatile bool bailed_out = false;
	loadings = &loading;
	const bool linking = links_a_class();
	if (linking) {
		zend_fiber_switch_block();
	}
	zend_try {
		class = load_class(name, lower_name);
	} zend_catch {
		bailed_out = true;
	} zend_end_try();
	if (linking) {
		zend_fiber_switch_unblock();
	}
	loading_ended(&loading);
	if (bailed_out) {
		zend_bailout();
	}
	return class;
}

/* Called once, when PHP has started and with it SPL, whose autoloader is asked after ours. */
void weft_library_start(const char *path)
{
	directory = path;
	weft_interrupt_except(library_runs);
	if (directory && zend_autoload != autoload) {
		next_autoload = zend_autoload;
		zend_autoload = autoload;
	}
}

/* ---- functions written in PHP ---- */

/* Passes the call on to a static method of the library. */
static void forward(INTERNAL_FUNCTION_PARAMETERS, const char *class_name, const char *method)
{
	zend_string *name = zend_string_init(class_name, strlen(class_name), 0);
	zend_class_entry *class = zend_lookup_class(name);
	zend_string_release(name);
	zend_function *function = class ? zend_hash_str_find_ptr(&class->function_table, method, strlen(method)) : NULL;
	if (!function) {
		if (!EG(exception)) {
			zend_throw_error(NULL, "%s::%s() is missing: weft's PHP library is not the one this binary was made with", class_name, method);
		}
		RETURN_THROWS();
	}
	HashTable *named = ZEND_CALL_INFO(execute_data) & ZEND_CALL_HAS_EXTRA_NAMED_PARAMS ? EX(extra_named_params) : NULL;
	zend_call_known_function(function, NULL, class, return_value, ZEND_NUM_ARGS(), ZEND_CALL_ARG(execute_data, 1), named);
}

ZEND_FUNCTION(Weft_parallel)
{
	forward(INTERNAL_FUNCTION_PARAM_PASSTHRU, "Weft\\Scope", "parallel");
}

ZEND_FUNCTION(Weft_race)
{
	forward(INTERNAL_FUNCTION_PARAM_PASSTHRU, "Weft\\Scope", "race");
}
