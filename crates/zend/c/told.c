/* Settings that extensions keep private: only a PHP function returns them, and the same function, with an argument,
 * changes them. If a coroutine has called one, its value is read when it parks and set again when it resumes; the
 * booted value is in force meanwhile.
 *
 * The functions are wrapped, so a request that calls none of them pays one comparison. */
#include "told.h"
#include "boot.h"
#include "coroutine.h"
#include "wrap.h"

typedef struct {
	const char *name;
	enum { BY_NOTHING, BY_NULL, BY_OPTION, BY_SETTING } asked; /* how it is read */
	zif_handler stock;
	zval base;
} setting;

enum { ASSERT_CALLBACK = 2 }; /* ext/standard/assert.c */
enum { SETTINGS = 6 };

static WEFT_BOOT setting settings[SETTINGS] = {
	{.name = "textdomain", .asked = BY_NULL},
	{.name = "assert_options", .asked = BY_OPTION},
	{.name = "spl_autoload_extensions", .asked = BY_NOTHING},
	{.name = "mb_regex_encoding", .asked = BY_NOTHING},
	{.name = "mb_regex_set_options", .asked = BY_NOTHING},
	{.name = "libxml_disable_entity_loader", .asked = BY_SETTING},
};

static WEFT_BOOT bool booted;

typedef struct {
	zval values[SETTINGS];     /* the coroutine's values while it is parked */
	uint32_t changed;          /* bit set of those that it has called */
} told;

WEFT_SLOT(told, told)

/* The request's own call has already raised warnings and deprecations: ours raises none, not even to the request's own
 * handler. */
static void call(const setting *which, zval *result, uint32_t count, zval *arguments)
{
	zend_function *function = zend_hash_str_find_ptr(EG(function_table), which->name, strlen(which->name));
	int reporting = EG(error_reporting), handled = EG(user_error_handler_error_reporting);
	ZVAL_NULL(result);
	EG(error_reporting) = EG(user_error_handler_error_reporting) = 0;
	if (function) {
		zend_call_known_function(function, NULL, NULL, result, count, arguments, NULL);
	}
	EG(error_reporting) = reporting;
	EG(user_error_handler_error_reporting) = handled;
}

static void tell(const setting *which, zval *value)
{
	zval arguments[2], result;
	ZVAL_LONG(&arguments[0], ASSERT_CALLBACK);
	ZVAL_COPY_VALUE(&arguments[1], value);
	bool is_option = which->asked == BY_OPTION;
	call(which, &result, is_option ? 2 : 1, is_option ? arguments : value);
	zval_ptr_dtor(&result);
}

static void ask(const setting *which, zval *value)
{
	zval argument;
	ZVAL_NULL(&argument);
	if (which->asked == BY_OPTION) {
		ZVAL_LONG(&argument, ASSERT_CALLBACK);
	} else if (which->asked == BY_SETTING) {
		ZVAL_FALSE(&argument);
	}
	call(which, value, which->asked == BY_NOTHING ? 0 : 1, &argument);
	if (which->asked == BY_SETTING) { /* it returns the previous value */
		tell(which, value);
	}
}

static ZEND_NAMED_FUNCTION(wrapped)
{
	setting *which = weft_wrapped_row(execute_data);
	if (weft_current && booted && ZEND_NUM_ARGS() > 0) {
		weft_told_slot(weft_current)->changed |= 1u << (which - settings);
	}
	which->stock(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void weft_told_prepare(void)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		weft_wrap(NULL, settings[i].name, wrapped, &settings[i], &settings[i].stock);
	}
}

void weft_told_start(void)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		if (settings[i].stock) {
			ask(&settings[i], &settings[i].base);
		}
	}
	booted = true;
}

void weft_told_out(weft_coroutine *coroutine)
{
	for (uint32_t left = weft_told_slot(coroutine)->changed; UNEXPECTED(left); left &= left - 1) {
		int i = __builtin_ctz(left);
		ask(&settings[i], &weft_told_slot(coroutine)->values[i]);
		tell(&settings[i], &settings[i].base);
	}
}

void weft_told_in(weft_coroutine *coroutine)
{
	for (uint32_t left = weft_told_slot(coroutine)->changed; UNEXPECTED(left); left &= left - 1) {
		int i = __builtin_ctz(left);
		tell(&settings[i], &weft_told_slot(coroutine)->values[i]);
		zval_ptr_dtor(&weft_told_slot(coroutine)->values[i]);
	}
}

void weft_told_end(weft_coroutine *coroutine)
{
	for (uint32_t left = weft_told_slot(coroutine)->changed; UNEXPECTED(left); left &= left - 1) {
		int i = __builtin_ctz(left);
		tell(&settings[i], &settings[i].base);
	}
	weft_told_slot(coroutine)->changed = 0;
}

void weft_told_forget(weft_coroutine *coroutine)
{
	weft_told_slot(coroutine)->changed = 0;
}
