/* Net-SNMP below ext/snmp: one library, whose sessions and forms of output are the process's.
 *
 * Two things follow from that for requests that ask at once. First, snmp_synch_response() waits for all sessions of the process
 * and reads for all of them: when one is closed, the wait of another fails with it. The library has the same call for
 * one session alone, and that is what the extension gets here, under the name that it asks for. Second, how values and names
 * are written is a setting of the library, which a method of the class SNMP sets for the length of its call: a coroutine
 * or an instance that has touched one has its own while it runs.
 *
 * Must not know coroutines' or instances' other state. Invariant: without ext/snmp nothing here is done. */
#include "snmp.h"
#include "boot.h"
#include "coroutine.h"
#include "wrap.h"

#include <dlfcn.h>

/* net-snmp/library/default_store.h */
enum { LIBRARY = 0, NUMERIC_ENUM = 8, QUICK_PRINT = 13, NAME_FORMAT = 4 };

static int (*get_flag)(int store, int which);
static int (*set_flag)(int store, int which, int value);
static int (*get_number)(int store, int which);
static int (*set_number)(int store, int which, int value);
static void *(*one_session)(void *session);
static int (*ask_one)(void *session, void *question, void **answer);
static int (*ask_all)(void *session, void *question, void **answer);

static WEFT_BOOT weft_snmp_output base;

typedef struct {
	weft_snmp_output kept;
	bool touched;
} own_output;

WEFT_SLOT(snmp, own_output)

/* The extension binds to this one, because the executable comes first in the order of symbols. */
ZEND_DLEXPORT int snmp_synch_response(void *session, void *question, void **answer)
{
	if (!ask_all) {
		ask_all = (int (*)(void *, void *, void **)) dlsym(RTLD_NEXT, "snmp_synch_response");
		one_session = (void *(*)(void *)) dlsym(RTLD_NEXT, "snmp_sess_pointer");
		ask_one = (int (*)(void *, void *, void **)) dlsym(RTLD_NEXT, "snmp_sess_synch_response");
	}
	void *one = one_session && ask_one ? one_session(session) : NULL;
	if (!one && !ask_all) {
		return 1; /* STAT_ERROR; the library has gone */
	}
	return one ? ask_one(one, question, answer) : ask_all(session, question, answer);
}

/* ---- forms of output ---- */

static void read_output(weft_snmp_output *output)
{
	output->numeric_enum = get_flag(LIBRARY, NUMERIC_ENUM);
	output->quick_print = get_flag(LIBRARY, QUICK_PRINT);
	output->name_format = get_number(LIBRARY, NAME_FORMAT);
}

static void write_output(const weft_snmp_output *output)
{
	set_flag(LIBRARY, NUMERIC_ENUM, output->numeric_enum);
	set_flag(LIBRARY, QUICK_PRINT, output->quick_print);
	set_number(LIBRARY, NAME_FORMAT, output->name_format);
}

void weft_snmp_current(weft_snmp_output *output)
{
	if (set_number) {
		read_output(output);
	}
}

void weft_snmp_put(const weft_snmp_output *output)
{
	if (set_number) {
		write_output(output);
	}
}

typedef struct {
	const char *class_name, *name;
	zif_handler stock;
} function_row;

static function_row functions[] = {
	{NULL, "snmp_set_quick_print", NULL},
	{NULL, "snmp_set_enum_print", NULL},
	{NULL, "snmp_set_oid_output_format", NULL},
	{"snmp", "get", NULL},
	{"snmp", "getnext", NULL},
	{"snmp", "walk", NULL},
	{"snmp", "set", NULL},
};

static ZEND_NAMED_FUNCTION(touches)
{
	const function_row *row = weft_wrapped_row(execute_data);
	if (weft_current) {
		weft_snmp_slot(weft_current)->touched = true;
	}
	row->stock(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void weft_snmp_find(void)
{
	if (zend_hash_str_exists(&module_registry, ZEND_STRL("snmp"))) {
		get_flag = (int (*)(int, int)) dlsym(RTLD_DEFAULT, "netsnmp_ds_get_boolean");
		set_flag = (int (*)(int, int, int)) dlsym(RTLD_DEFAULT, "netsnmp_ds_set_boolean");
		get_number = (int (*)(int, int)) dlsym(RTLD_DEFAULT, "netsnmp_ds_get_int");
		set_number = get_flag && set_flag && get_number ? (int (*)(int, int, int)) dlsym(RTLD_DEFAULT, "netsnmp_ds_set_int") : NULL;
	}
}

void weft_snmp_prepare(void)
{
	weft_snmp_find();
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && set_number; i++) {
		weft_wrap(functions[i].class_name, functions[i].name, touches, &functions[i], &functions[i].stock);
	}
}

void weft_snmp_start(void)
{
	weft_snmp_current(&base);
}

void weft_snmp_out(weft_coroutine *coroutine)
{
	own_output *own = weft_snmp_slot(coroutine);
	if (UNEXPECTED(own->touched)) {
		read_output(&own->kept);
		write_output(&base);
	}
}

void weft_snmp_in(weft_coroutine *coroutine)
{
	if (UNEXPECTED(weft_snmp_slot(coroutine)->touched)) {
		write_output(&weft_snmp_slot(coroutine)->kept);
	}
}

void weft_snmp_end(weft_coroutine *coroutine)
{
	if (UNEXPECTED(weft_snmp_slot(coroutine)->touched)) {
		write_output(&base);
		weft_snmp_slot(coroutine)->touched = false;
	}
}

void weft_snmp_forget(weft_coroutine *coroutine)
{
	weft_snmp_end(coroutine);
}
