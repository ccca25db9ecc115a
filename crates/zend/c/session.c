/* Sessions: each request has its own, although ext/session keeps one in globals of the process.
 *
 * A request without a session pays one comparison. A request with one takes its session away when it parks and
 * restores it when it resumes; at its end the session is written and the extension is as after start-up. Two requests
 * of one session wait for each other through the lock of their save handler (flock of the files handler parks).
 *
 * Order matters: ini values of an active session cannot be changed, so the session leaves before ini changes are
 * undone, and returns after they have been made again. */
#include "session.h"
#include "boot.h"
#include "coroutine.h"
#include "superglobals.h"
#include "php/version.h"
#include "ext/session/php_session.h"

#define IN_FLIGHT (1u << 29) /* more than there will ever be */

static WEFT_BOOT php_ps_globals base;
static WEFT_BOOT bool auto_start;
static WEFT_BOOT zend_module_entry *extension;
static zend_string *variable; /* never freed */
static WEFT_BOOT zval *sid; /* the constant SID, once a session has defined it: the id of the session started last */
static zif_handler stock_start;

typedef struct {
	php_ps_globals globals;
	zval variable; /* $_SESSION, a reference to globals.http_session_vars */
	zval sid;
} session;

/* Its session while it is parked, if it has one. */
WEFT_SLOT(session, session *)

/* A constant keeps its address for as long as the worker lives (php_session_reset_id in ext/session/session.c). */
static void find_sid(void)
{
	if (UNEXPECTED(!sid)) {
		sid = zend_get_constant_str(ZEND_STRL("SID"));
	}
}

/* session_start() looks for the cookie in $_COOKIE, even if the application does not mention that. */
static ZEND_NAMED_FUNCTION(session_start)
{
	weft_superglobals_need((1u << WEFT_COOKIE) | (1u << WEFT_GET) | (1u << WEFT_SERVER));
	stock_start(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	find_sid();
}

/* Whether session.auto_start is on, whatever ext/session was told. */
static bool wants_auto_start(void)
{
	const zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("session.auto_start"));
	return entry && entry->value && zend_ini_parse_bool(entry->value);
}

/* session.auto_start is for requests: one that lasts as long as the worker, or as a script that stays loaded, has no
 * session. Called before it begins. */
void weft_session_prepare(void)
{
	zend_module_entry *loaded = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("session"));
	if (loaded) {
		auto_start = wants_auto_start();
		PS(auto_start) = 0;
	}
}

/* Called before a request of classic mode begins in a PHP that is prepared for scripts that stay loaded. */
void weft_session_return(void)
{
	if (zend_hash_str_exists(&module_registry, ZEND_STRL("session"))) {
		PS(auto_start) = wants_auto_start();
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

static void hold(zend_refcounted *value, uint32_t times)
{
	GC_SET_REFCOUNT(value, GC_REFCOUNT(value) + times);
}

/* A save handler that the application has set during its boot belongs to every request. Each request that has a
 * session releases it once: when it sets another one, or at its end. So it is held as many times as requests can be in
 * flight, and each end holds it again. */
static void hold_booted(uint32_t times)
{
	zval *names = (zval *) &base.mod_user_names;
	for (size_t i = 0; i < sizeof(base.mod_user_names) / sizeof(*names); i++) {
		zval *name = &names[i];
		if (Z_TYPE_P(name) != IS_UNDEF && Z_REFCOUNTED_P(name)) {
			hold(Z_COUNTED_P(name), times);
		}
	}
	zend_string *class_name = WEFT_SESSION_CLASS(base);
	if (class_name && !ZSTR_IS_INTERNED(class_name)) {
		hold((zend_refcounted *) class_name, times);
	}
}

/* The application's settings from its boot apply to every request. */
static void take_base(void)
{
	extension = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("session"));
	if (extension) {
		if (!variable) {
			variable = zend_string_init_interned(ZEND_STRL("_SESSION"), 1);
		}
		memcpy(&base, &ps_globals, sizeof(base));
		hold_booted(IN_FLIGHT);
	}
}

/* After the application has booted. */
void weft_session_start(void)
{
	take_base();
	zend_internal_function *start = zend_hash_str_find_ptr(EG(function_table), ZEND_STRL("session_start"));
	if (extension && start) {
		stock_start = start->handler;
		start->handler = session_start;
	}
}

/* For resident mode. A session that the script has started itself ends here. */
void weft_session_start_resident(void)
{
	zend_module_entry *loaded = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("session"));
	if (loaded && PS(session_status) == php_session_active) {
		loaded->request_shutdown_func(loaded->type, loaded->module_number);
		loaded->request_startup_func(loaded->type, loaded->module_number);
	}
	take_base();
}

void weft_session_end_resident(void)
{
	find_sid();
	weft_session_end();
}

/* The save handler's first function differs: session_set_save_handler() does not need a session. */
static bool has_own_handler(void)
{
	const zval *now = &WEFT_SESSION_OPEN(ps_globals), *booted = &WEFT_SESSION_OPEN(base);
	return Z_TYPE_P(now) != Z_TYPE_P(booted) || Z_PTR_P(now) != Z_PTR_P(booted);
}

static bool touched(void)
{
	return extension && (PS(session_status) == php_session_active || PS(id) || Z_TYPE(PS(http_session_vars)) != IS_UNDEF
		|| has_own_handler() || (sid && Z_STRLEN_P(sid)));
}

/* While ini values are exchanged: only ini_set() refuses "user" for session.save_handler. */
void weft_session_settings(bool exchanged)
{
	if (extension) {
		PS(set_handler) = exchanged;
	}
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
	find_sid();
	ZVAL_UNDEF(&kept->sid);
	if (sid) {
		ZVAL_COPY_VALUE(&kept->sid, sid);
		ZVAL_EMPTY_STRING(sid);
	}
	*weft_session_slot(coroutine) = kept;
}

/* The coroutine resumes. */
void weft_session_in(weft_coroutine *coroutine)
{
	session *kept = *weft_session_slot(coroutine);
	if (EXPECTED(!kept)) {
		return;
	}
	memcpy(&ps_globals, &kept->globals, sizeof(base));
	if (Z_TYPE(kept->variable) != IS_UNDEF) {
		zend_hash_update(&EG(symbol_table), variable, &kept->variable);
	}
	if (Z_TYPE(kept->sid) != IS_UNDEF) {
		ZVAL_COPY_VALUE(sid, &kept->sid); /* it holds an empty string, which has no owner */
	}
	efree(kept);
	*weft_session_slot(coroutine) = NULL;
}

/* The script has ended: its session is written before its client can request it again. */
void weft_session_end(void)
{
	if (EXPECTED(!touched())) {
		return;
	}
	hold_booted(1);
	extension->request_shutdown_func(extension->type, extension->module_number);
	if (sid) {
		zval_ptr_dtor(sid);
		ZVAL_EMPTY_STRING(sid);
	}
	zend_hash_del(&EG(symbol_table), variable);
	memcpy(&ps_globals, &base, sizeof(base));
}
