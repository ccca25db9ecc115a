/* filter_input() and similar functions read what ext/filter has recorded of a request's variables while they were
 * parsed. In a worker, that record would be shared by all requests, forever. Here the filter gets the running
 * request's variables for the duration of the call, and none in between.
 *
 * Its arrays cannot be reached from outside: its own end of a request empties them, and its own input filter fills
 * them. Invariant: no switch while they are filled. */
#include "filter.h"
#include "coroutine.h"
#include "superglobals.h"
#include "wrap.h"

static zend_module_entry *extension;
static zif_handler stock[3];
static const char *const names[] = {"filter_input", "filter_input_array", "filter_has_var"};

/* The PARSE_ constant that corresponds to an INPUT_ constant (main/SAPI.h). */
static int track_of(zend_long input)
{
	switch (input) {
		case PARSE_POST:
			return TRACK_VARS_POST;
		case PARSE_GET:
			return TRACK_VARS_GET;
		case PARSE_COOKIE:
			return TRACK_VARS_COOKIE;
		case PARSE_SERVER:
			return TRACK_VARS_SERVER;
		default:
			return -1;
	}
}

/* Passes in "name", "name[key]", "name[key][key]"… */
static void show(zend_long input, const char *name, zval *value)
{
	zend_string *key;
	zend_ulong index;
	zval *element;
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_ARRAY) {
		ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL_P(value), index, key, element) {
			char *longer;
			if (key) {
				spprintf(&longer, 0, "%s[%s]", name, ZSTR_VAL(key));
			} else {
				spprintf(&longer, 0, "%s[" ZEND_LONG_FMT "]", name, (zend_long) index);
			}
			show(input, longer, element);
			efree(longer);
		} ZEND_HASH_FOREACH_END();
		return;
	}
	zend_string *text = zval_get_string(value);
	char *copy = estrndup(ZSTR_VAL(text), ZSTR_LEN(text));
	size_t length;
	sapi_module.input_filter((int) input, name, &copy, ZSTR_LEN(text), &length);
	efree(copy);
	zend_string_release(text);
}

static void show_all(zend_long input, int track)
{
	zval variables, *slot = &PG(http_globals)[track];
	zend_string *key;
	zend_ulong index;
	zval *value;
	if (Z_TYPE_P(slot) != IS_ARRAY) {
		return;
	}
	ZVAL_COPY_VALUE(&variables, slot);
	array_init(slot); /* the filter also registers values there */
	ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL(variables), index, key, value) {
		char number[32];
		snprintf(number, sizeof(number), ZEND_LONG_FMT, (zend_long) index);
		show(input, key ? ZSTR_VAL(key) : number, value);
	} ZEND_HASH_FOREACH_END();
	zval_ptr_dtor(slot);
	ZVAL_COPY_VALUE(slot, &variables);
}

static void forget(void)
{
	extension->request_shutdown_func(extension->type, extension->module_number);
}

static ZEND_NAMED_FUNCTION(filter_own)
{
	const zif_handler *original = weft_wrapped_row(execute_data);
	zval *input = ZEND_NUM_ARGS() > 0 ? ZEND_CALL_ARG(execute_data, 1) : NULL;
	int track = input && Z_TYPE_P(input) == IS_LONG ? track_of(Z_LVAL_P(input)) : -1;
	if (track < 0 || !weft_current || !weft_current->request) {
		(*original)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	weft_superglobals_need((1u << WEFT_GET) | (1u << WEFT_POST) | (1u << WEFT_COOKIE) | (1u << WEFT_SERVER));
	volatile bool bailed_out = false;
	zend_fiber_switch_block(); /* a callback may wait: then the call really waits */
	forget();
	show_all(Z_LVAL_P(input), track);
	zend_try {
		(*original)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	} zend_catch {
		bailed_out = true;
	} zend_end_try();
	forget();
	zend_fiber_switch_unblock();
	if (UNEXPECTED(bailed_out)) {
		zend_bailout();
	}
}

/* A request whose variables were parsed has ended: the extension has collected them. */
void weft_filter_end(void)
{
	if (extension) {
		forget();
	}
}

void weft_filter_start(void)
{
	extension = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("filter"));
	for (size_t i = 0; extension && i < sizeof(names) / sizeof(names[0]); i++) {
		weft_wrap(NULL, names[i], filter_own, &stock[i], &stock[i]);
	}
}
