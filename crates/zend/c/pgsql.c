/* State that ext/pgsql shares between requests: connections of pg_connect(), the default connection of functions
 * without one, and open transactions of persistent connections.
 *
 * pg_connect() with the same string returns the same connection again: here it is kept per run of a coroutine, by
 * renaming the extension's entry. Building this needs neither the extension's headers nor libpq's: the connection's
 * structure is defined below, after ext/pgsql/php_pgsql.h, and libpq's functions are looked up at first use, when the
 * extension must be loaded. */
#include "pgsql.h"
#include "boot.h"
#include "coroutine.h"
#include "extension_globals.h"
#include "wrap.h"

#include <dlfcn.h>

enum { FORCE_NEW = 2, TRANSACTION_IDLE = 0, CONNECTION_OK = 0 };

typedef struct {
	void *connection;
	zend_string *name;         /* in the table below */
	HashTable *notices;
	bool persistent;
	zend_object object;
} pgsql_connection;

/* The default connection of its functions, while the coroutine is parked. */
WEFT_SLOT(pgsql, zend_object *)

static pgsql_globals *globals;
static WEFT_BOOT zend_object *boot_link; /* opened last while the application booted: every request starts with it */
static zif_handler stock_connect;

static void set_default(zend_object *object)
{
	GC_ADDREF(object);
	if (globals->default_link) {
		OBJ_RELEASE(globals->default_link);
	}
	globals->default_link = object;
}

/* The name that the extension gives it: "pgsql", the string, "_", the flags. */
static zend_string *plain_name(const zend_string *string, zend_long flags)
{
	return strpprintf(0, "pgsql%s_" ZEND_LONG_FMT, ZSTR_VAL(string), flags & ~FORCE_NEW);
}

/* Looks for a connection of this run; renames one that the extension opens for this run. */
static ZEND_NAMED_FUNCTION(connect_own)
{
	zval *string = ZEND_NUM_ARGS() > 0 ? ZEND_CALL_ARG(execute_data, 1) : NULL;
	zval *number = ZEND_NUM_ARGS() > 1 ? ZEND_CALL_ARG(execute_data, 2) : NULL;
	zend_long flags = number && Z_TYPE_P(number) == IS_LONG ? Z_LVAL_P(number) : 0;
	if (!weft_current || !string || Z_TYPE_P(string) != IS_STRING) {
		stock_connect(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	zend_string *plain = plain_name(Z_STR_P(string), flags);
	zend_string *own = strpprintf(0, "%s run %" PRIu64, ZSTR_VAL(plain), weft_current->serial);
	zval *known = flags & FORCE_NEW ? NULL : zend_hash_find(&globals->connections, own);
	if (known) {
		set_default(Z_OBJ_P(known));
		ZVAL_COPY(return_value, known);
	} else {
		stock_connect(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		if (Z_TYPE_P(return_value) == IS_OBJECT) {
			pgsql_connection *made = (pgsql_connection *) ((char *) Z_OBJ_P(return_value) - offsetof(pgsql_connection, object));
			zend_hash_del(&globals->connections, made->name);
			zend_string_release(made->name);
			made->name = zend_string_init(ZSTR_VAL(own), ZSTR_LEN(own), 1);
			zend_hash_update(&globals->connections, made->name, return_value);
		}
	}
	zend_string_release(plain);
	zend_string_release(own);
}

/* After the application has booted. */
void weft_pgsql_booted(void)
{
	if (globals) {
		boot_link = globals->default_link;
		globals->default_link = NULL;
	}
}

void weft_pgsql_begin(void)
{
	if (UNEXPECTED(boot_link != NULL)) {
		set_default(boot_link);
	}
}

/* The coroutine parks, with the connection that it opened last, or resumes. */
void weft_pgsql_exchange(weft_coroutine *coroutine)
{
	if (globals) {
		zend_object *link = globals->default_link;
		globals->default_link = *weft_pgsql_slot(coroutine);
		*weft_pgsql_slot(coroutine) = link;
	}
}

/* Does what ext/pgsql does at the end of a request. */
void weft_pgsql_end(void)
{
	if (globals && globals->default_link) {
		zend_object *link = globals->default_link;
		globals->default_link = NULL;
		OBJ_RELEASE(link);
	}
}

void *weft_pgsql_default(void)
{
	return globals && globals->default_link
		? ((pgsql_connection *) ((char *) globals->default_link - offsetof(pgsql_connection, object)))->connection : NULL;
}

static void ignore_notice(void *argument, const char *message)
{
	(void) argument, (void) message;
}

/* A persistent connection without a user: an open transaction is rolled back, as PHP does at the end of a request. A
 * connection whose peer has closed it is marked so, so that pg_pconnect() opens it again (libpq notices the end only
 * when it reads). May park. Anything other than a connection of ext/pgsql is ignored. */
void weft_pgsql_reset(const zval *persistent)
{
	static int (*status)(const void *), (*transaction)(const void *), (*consume)(void *);
	static void *(*execute)(void *, const char *), *(*next_result)(void *), *(*set_notice)(void *, void *, void *);
	static void (*clear)(void *);
	if (!persistent || !Z_RES_P(persistent)->ptr) {
		return;
	}
	const char *type = zend_rsrc_list_get_rsrc_type(Z_RES_P(persistent));
	void *connection = Z_RES_P(persistent)->ptr, *result;
	if (!type || strcmp(type, "pgsql link persistent") != 0) {
		return;
	}
	if (!status) {
		transaction = dlsym(RTLD_DEFAULT, "PQtransactionStatus");
		execute = dlsym(RTLD_DEFAULT, "PQexec");
		next_result = dlsym(RTLD_DEFAULT, "PQgetResult");
		set_notice = dlsym(RTLD_DEFAULT, "PQsetNoticeProcessor");
		clear = dlsym(RTLD_DEFAULT, "PQclear");
		consume = dlsym(RTLD_DEFAULT, "PQconsumeInput");
		status = dlsym(RTLD_DEFAULT, "PQstatus");
	}
	if (!transaction || !consume || !execute || !next_result || !set_notice || !clear || !status) {
		return;
	}
	consume(connection);
	if (status(connection) == CONNECTION_OK && transaction(connection) != TRANSACTION_IDLE) {
		set_notice(connection, ignore_notice, NULL); /* the object for which it was set is gone */
		while ((result = next_result(connection))) {
			clear(result);
		}
		clear(execute(connection, "ROLLBACK"));
	}
}

void weft_pgsql_start(void)
{
	globals = weft_extension_globals("pgsql", sizeof(*globals));
	if (!globals) {
		return;
	}
	weft_wrap(NULL, "pg_connect", connect_own, NULL, &stock_connect);
}
