/* Sessions: each request has its own, though ext/session keeps one in globals of the process.
 *
 * A request that uses none pays one comparison. One that does takes its session away when it parks and brings it back when
 * it goes on; at its end the session is written and the extension is as after start-up. Two requests of one session wait
 * for each other by the lock of their save handler (flock of the files handler parks).
 *
 * Order matters: ini values of an active session cannot be changed, so the session leaves before ini changes are undone,
 * and returns after they have been made again. */
#include "session.h"
#include "ext/session/php_session.h"

static php_ps_globals base;
static bool auto_start;
static zend_module_entry *extension;
static zend_string *variable;
static zif_handler stock_start;

typedef struct {
	php_ps_globals globals;
	zval variable; /* $_SESSION, a reference to globals.http_session_vars */
} session;

/* session_start() looks for the cookie in $_COOKIE, whether or not the application mentions it. */
static ZEND_NAMED_FUNCTION(session_start)
{
	weft_superglobals_need((1u << WEFT_COOKIE) | (1u << WEFT_GET) | (1u << WEFT_SERVER));
	stock_start(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* session.auto_start is for requests: the one that lasts as long as the worker has none. Before it begins. */
void weft_session_prepare(void)
{
	zend_module_entry *loaded = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("session"));
	if (loaded) {
		auto_start = PS(auto_start);
		PS(auto_start) = 0;
	}
}

/* A request begins. */
void weft_session_begin(void)
{
	if (EXPECTED(!auto_start) || !extension) {
		return;
	}
	zval result;
	zend_function *start = zend_hash_str_find_ptr(EG(function_table), ZEND_STRL("session_start"));
	ZVAL_UNDEF(&result);
	zend_call_known_function(start, NULL, NULL, &result, 0, NULL, NULL);
	zval_ptr_dtor(&result);
}

/* After the application has booted. */
void weft_session_start(void)
{
	extension = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("session"));
	zend_internal_function *start = zend_hash_str_find_ptr(EG(function_table), ZEND_STRL("session_start"));
	if (!extension || !start) {
		extension = NULL;
		return;
	}
	stock_start = start->handler;
	start->handler = session_start;
	variable = zend_string_init_interned(ZEND_STRL("_SESSION"), 1);
	memcpy(&base, &ps_globals, sizeof(base));
}

static bool touched(void)
{
	return extension && (PS(session_status) == php_session_active || PS(id) || Z_TYPE(PS(http_session_vars)) != IS_UNDEF);
}

/* The coroutine parks. */
void weft_session_out(weft_coroutine *coroutine)
{
	if (EXPECTED(!touched())) {
		return;
	}
	session *kept = emalloc(sizeof(*kept));
	memcpy(&kept->globals, &ps_globals, sizeof(base));
	memcpy(&ps_globals, &base, sizeof(base));
	zval *slot = zend_hash_find(&EG(symbol_table), variable);
	ZVAL_UNDEF(&kept->variable);
	if (slot) {
		ZVAL_COPY(&kept->variable, slot);
		zend_hash_del(&EG(symbol_table), variable);
	}
	coroutine->session = kept;
}

/* It goes on. */
void weft_session_in(weft_coroutine *coroutine)
{
	session *kept = coroutine->session;
	if (EXPECTED(!kept)) {
		return;
	}
	memcpy(&ps_globals, &kept->globals, sizeof(base));
	if (Z_TYPE(kept->variable) != IS_UNDEF) {
		zend_hash_update(&EG(symbol_table), variable, &kept->variable);
	}
	efree(kept);
	coroutine->session = NULL;
}

/* The script has ended: what it has left in its session is written, before its client can ask for it again. */
void weft_session_end(void)
{
	if (EXPECTED(!touched())) {
		return;
	}
	extension->request_shutdown_func(extension->type, extension->module_number);
	zend_hash_del(&EG(symbol_table), variable);
	memcpy(&ps_globals, &base, sizeof(base));
}
