/* The part of PHP's globals that a coroutine owns, exchanged when it parks and when it resumes.
 *
 * The table is WEFT_OWNED in owned.h. Ini changes, superglobals and uploads cost nothing until they are used.
 * Invariant: the loop runs no PHP code, so the contents of the globals do not matter meanwhile; every request starts
 * from `base`, the state of the booted application. */
#include "isolate.h"
#include "boot.h"
#include "contain.h"
#include "context.h"
#include "coroutine.h"
#include "directories.h"
#include "environment.h"
#include "extensions.h"
#include "filter.h"
#include "input.h"
#include "mongodb.h"
#include "php/owned_edges.h"
#include "persistent.h"
#include "pgsql.h"
#include "process_state.h"
#include "response.h"
#include "session.h"
#include "superglobals.h"
#include "snmp.h"
#include "told.h"
#include "zend_ini.h"
#include "zend_weakrefs.h"
#include "rfc1867.h"

typedef struct {
	weft_owned owned;
	zval ini_values;               /* ini values that it has changed, while it is parked */
	bool ini_parked;               /* they are stored there */
	bool put_aside;                /* its state is in `owned`, not in the globals */
} isolated_state;

WEFT_SLOT(isolate, isolated_state)

WEFT_BOOT bool weft_isolates;
static WEFT_BOOT weft_owned base;

static HashTable *boot_shutdown_functions;

static void save(weft_owned *owned)
{
#define WEFT_SAVE(field, global) memcpy(&owned->field, &(global), sizeof(owned->field));
	WEFT_OWNED(WEFT_SAVE)
	WEFT_OWNED_BY_VERSION(WEFT_SAVE)
#undef WEFT_SAVE
}

static void load(const weft_owned *owned)
{
#define WEFT_LOAD(field, global) memcpy(&(global), &owned->field, sizeof(owned->field));
	WEFT_OWNED(WEFT_LOAD)
	WEFT_OWNED_BY_VERSION(WEFT_LOAD)
#undef WEFT_LOAD
}

int *weft_isolate_exit_status(weft_coroutine *coroutine)
{
	return &weft_isolate_slot(coroutine)->owned.exit_status;
}

static void free_header(void *header)
{
	sapi_free_header((sapi_header_struct *) header);
}

/* The ini values set so far become the values that ini_restore() restores. */
static void keep_ini_changes(void)
{
	if (EG(modified_ini_directives)) {
		zend_ini_entry *entry;
		ZEND_HASH_MAP_FOREACH_PTR(EG(modified_ini_directives), entry) {
			if (entry->orig_value && entry->orig_value != entry->value) {
				zend_string_release(entry->orig_value);
			}
			entry->modified = 0;
			entry->orig_value = NULL;
			entry->orig_modifiable = 0;
		} ZEND_HASH_FOREACH_END();
		zend_hash_destroy(EG(modified_ini_directives));
		FREE_HASHTABLE(EG(modified_ini_directives));
		EG(modified_ini_directives) = NULL;
	}
}

/* The current state becomes the one from which coroutines start, except for what belongs to one run. */
static void set_base(void)
{
	save(&base);
	weft_isolates = true;
	weft_owned_by_version_begin(&base);
	base.classes_to_load = NULL; /* each coroutine creates one when it needs it */
	base.shutdown_functions = NULL;
	base.exit_status = 0;
	base.last_error_message = base.last_error_file = NULL;
	base.strtok_string = NULL;
	base.strtok_last = NULL;
	base.strtok_length = 0;
	base.uploaded_files = NULL;
	base.post_bytes = 0;
	base.post_read = 0;
	base.request_info.request_body = NULL;
	for (int i = 0; i < NUM_TRACK_VARS; i++) {
		ZVAL_UNDEF(&base.http_globals[i]);
	}
	/* Environment variables belong to the process: every request sees them. */
	ZVAL_COPY_VALUE(&base.http_globals[TRACK_VARS_ENV], &PG(http_globals)[TRACK_VARS_ENV]);
}

/* Modules note their present state: a request's end goes back to it. */
static void note_boot(void)
{
	weft_process_state_start();
	weft_told_start();
	weft_snmp_start();
	weft_pgsql_booted();
	weft_extensions_start();
}

/* After the application has booted: each request starts from what it has set up (error handlers, ini values). */
void weft_isolate_start(void)
{
	php_output_end_all();
	php_output_deactivate();
	php_output_activate();
	zend_llist_clean(&SG(sapi_headers).headers);
	SG(sapi_headers).http_response_code = 200;
	SG(headers_sent) = 0;
	/* header() after output stays legal until the response has begun: we hold back the output. */
	SG(request_info).no_headers = 1;
	keep_ini_changes();
	weft_session_start();
	note_boot();
	boot_shutdown_functions = BG(user_shutdown_function_names); /* they run when the worker ends */
	set_base();
}

/* A worker script of resident mode asks for its first request: PHP is between two requests, without output and
 * superglobals. */
void weft_isolate_start_resident(void)
{
	weft_session_start_resident();
	note_boot();
	weft_context_booted(weft_current);
	set_base();
}

/* A worker script has ended, or a fatal error has ended it: undoes what PHP's own end of a request does not
 * undo. */
void weft_isolate_stop_resident(weft_coroutine *coroutine)
{
	zend_try {
		weft_process_state_end(coroutine);
		weft_told_end(coroutine);
		weft_snmp_end(coroutine);
		weft_directories_end(coroutine);
		weft_environment_end(coroutine);
		weft_extensions_end();
	} zend_end_try();
	weft_process_state_stop();
	weft_extensions_stop();
	/* The rest lies in a heap that ends. */
	coroutine->isolated = false;
	weft_process_state_forget(coroutine);
	weft_told_forget(coroutine);
	weft_snmp_forget(coroutine);
	weft_directories_forget(coroutine);
	weft_environment_forget(coroutine);
}

/* A script starts its first task: tasks start from what {main} has set up by now; {main} continues with its own state. */
void weft_isolate_start_script(void)
{
	weft_owned main;
	if (weft_isolates) {
		return;
	}
	keep_ini_changes();
	weft_session_start();
	note_boot();
	save(&main);
	memset(&output_globals, 0, sizeof(output_globals)); /* output buffers are {main}'s */
	php_output_activate();
	EG(user_error_handlers).elements = EG(user_error_handlers_error_reporting).elements = NULL;
	EG(user_exception_handlers).elements = NULL;
	Z_TRY_ADDREF(EG(user_error_handler));
	Z_TRY_ADDREF(EG(user_exception_handler));
	set_base();
	load(&main);
	weft_extensions_begin(); /* for {main}, which continues as it was */
	weft_pgsql_begin();
	if (weft_current != weft_main) { /* a signal's handler starts it, while {main} is parked */
		weft_isolate_slot(weft_main)->owned = main;
		weft_isolate_slot(weft_main)->put_aside = true;
	}
}

/* The state from which a new request starts: that of the booted application, with its own stacks and lists. */
void weft_isolate_begin(weft_coroutine *coroutine)
{
	load(&base);
	Z_TRY_ADDREF(EG(user_error_handler));
	Z_TRY_ADDREF(EG(user_exception_handler));
	zend_stack_init(&EG(user_error_handlers_error_reporting), sizeof(int));
	zend_stack_init(&EG(user_error_handlers), sizeof(zval));
	zend_stack_init(&EG(user_exception_handlers), sizeof(zval));
	zend_llist_init(&SG(sapi_headers).headers, sizeof(sapi_header_struct), free_header, 0);
	SG(sapi_headers).mimetype = NULL;
	SG(sapi_headers).http_status_line = NULL;
	SG(sapi_headers).send_default_content_type = 1;
	coroutine->isolated = true;
	weft_superglobals_slot(coroutine)->filled = 0;
	weft_response_slot(coroutine)->streaming = false;
	weft_pgsql_begin();
	weft_context_begin(coroutine);
	weft_extensions_begin();
}

static void ini_undo(void)
{
	weft_session_settings(true);
	zend_ini_deactivate();
	weft_session_settings(false);
}

/* Saves the ini values that this coroutine has changed, and restores the common ones. */
static void ini_out(weft_coroutine *coroutine)
{
	zend_ini_entry *entry;
	array_init(&weft_isolate_slot(coroutine)->ini_values);
	ZEND_HASH_MAP_FOREACH_PTR(EG(modified_ini_directives), entry) {
		zval value;
		ZVAL_STR_COPY(&value, entry->value ? entry->value : ZSTR_EMPTY_ALLOC());
		zend_hash_add_new(Z_ARRVAL(weft_isolate_slot(coroutine)->ini_values), entry->name, &value);
	} ZEND_HASH_FOREACH_END();
	/* The @ operator marks error_reporting as changed without changing its value: the value in force belongs to the
	 * Fiber. */
	int reporting = EG(error_reporting);
	ini_undo();
	EG(error_reporting) = reporting;
	weft_isolate_slot(coroutine)->ini_parked = true;
}

static void ini_in(weft_coroutine *coroutine)
{
	zend_string *name;
	zval *value;
	int reporting = EG(error_reporting);
	weft_session_settings(true);
	ZEND_HASH_FOREACH_STR_KEY_VAL(Z_ARRVAL(weft_isolate_slot(coroutine)->ini_values), name, value) {
		zend_alter_ini_entry_ex(name, Z_STR_P(value), PHP_INI_USER, PHP_INI_STAGE_RUNTIME, 1);
	} ZEND_HASH_FOREACH_END();
	weft_session_settings(false);
	EG(error_reporting) = reporting;
	zval_ptr_dtor(&weft_isolate_slot(coroutine)->ini_values);
	weft_isolate_slot(coroutine)->ini_parked = false;
}

/* PHP caches the last file it checked for as long as a request lasts. While other requests run, that file may
 * change. */
static void forget_stat(void)
{
	if (UNEXPECTED(BG(CurrentStatFile) || BG(CurrentLStatFile))) {
		php_clear_stat_cache(0, NULL, 0);
	}
}

void weft_isolate_out(weft_coroutine *coroutine)
{
	if (UNEXPECTED(!weft_isolates)) {
		return;
	}
	weft_isolate_slot(coroutine)->put_aside = true;
	weft_session_out(coroutine);
	weft_process_state_out(coroutine);
	weft_told_out(coroutine);
	weft_snmp_out(coroutine);
	weft_extensions_out(coroutine);
	weft_environment_out(coroutine);
	forget_stat();
	weft_pgsql_exchange(coroutine);
	weft_persistent_out(coroutine);
	if (UNEXPECTED(EG(modified_ini_directives) != NULL)) {
		ini_out(coroutine);
	}
	if (UNEXPECTED(weft_superglobals_slot(coroutine)->filled != 0)) {
		weft_superglobals_exchange(coroutine);
	}
	save(&weft_isolate_slot(coroutine)->owned);
}

void weft_isolate_in(weft_coroutine *coroutine)
{
	if (UNEXPECTED(!weft_isolate_slot(coroutine)->put_aside)) {
		return;
	}
	weft_isolate_slot(coroutine)->put_aside = false;
	load(&weft_isolate_slot(coroutine)->owned);
	if (UNEXPECTED(weft_superglobals_slot(coroutine)->filled != 0)) {
		weft_superglobals_exchange(coroutine);
	}
	if (UNEXPECTED(weft_isolate_slot(coroutine)->ini_parked)) {
		ini_in(coroutine);
	}
	weft_persistent_in(coroutine);
	weft_session_in(coroutine);
	weft_process_state_in(coroutine);
	weft_told_in(coroutine);
	weft_snmp_in(coroutine);
	weft_extensions_in(coroutine);
	weft_environment_in(coroutine);
	weft_pgsql_exchange(coroutine);
}

static void free_string(zend_string **string)
{
	if (*string) {
		zend_string_release(*string);
		*string = NULL;
	}
}

/* A user's error or exception handler, and those it has replaced. They are removed first and then freed, because what
 * they hold may have destructors. */
static void free_handler(zval *handler, zend_stack *replaced)
{
	if (UNEXPECTED(Z_REFCOUNTED_P(handler))) {
		zval gone;
		ZVAL_COPY_VALUE(&gone, handler);
		ZVAL_UNDEF(handler);
		zval_ptr_dtor(&gone);
	}
	if (UNEXPECTED(replaced->elements != NULL)) {
		zend_stack_clean(replaced, (void (*)(void *)) ZVAL_PTR_DTOR, 1);
		zend_stack_destroy(replaced);
	}
}

/* The pooled Fiber goes on to other work. But code that has stored something under it (WeakMap, WeakReference) must
 * not find the next request by it, nor the next request what was stored: for them it ends here. Code that keeps the
 * Fiber itself keeps it for good: the coroutine gets another (fiber_switch.c). */
static void forget_fiber(weft_coroutine *coroutine)
{
	GC_DEL_FLAGS(coroutine->fiber, IS_OBJ_WEAKLY_REFERENCED);
	zend_weakrefs_notify(coroutine->fiber);
}

/* A step of the end, which resumes where it stopped if a destructor has bailed out of it: values are removed before
 * they are freed. */
void weft_isolate_free(weft_coroutine *coroutine)
{
	if (coroutine->fiber && UNEXPECTED(GC_FLAGS(coroutine->fiber) & IS_OBJ_WEAKLY_REFERENCED)) {
		weft_contained_last(forget_fiber, coroutine);
	}
	if (UNEXPECTED(CG(delayed_autoloads) != NULL)) {
		zend_hash_destroy(CG(delayed_autoloads));
		FREE_HASHTABLE(CG(delayed_autoloads));
		CG(delayed_autoloads) = NULL;
	}
	weft_session_end();
	weft_pgsql_end();
	weft_mongodb_end(coroutine);
	weft_persistent_end(coroutine);
	weft_context_end(coroutine);
	if (UNEXPECTED(OG(handlers).elements || OG(output_start_filename))) {
		php_output_discard_all();
		php_output_deactivate();
	}
	if (EG(modified_ini_directives)) {
		ini_undo();
	}
	if (weft_superglobals_slot(coroutine)->filled) {
		weft_filter_end();
	}
	weft_superglobals_end(coroutine);
	weft_process_state_end(coroutine);
	weft_told_end(coroutine);
	weft_snmp_end(coroutine);
	weft_directories_end(coroutine);
	weft_extensions_end();
	weft_environment_end(coroutine);
	forget_stat();
	if (SG(rfc1867_uploaded_files)) {
		destroy_uploaded_files_hash();
	}
	if (UNEXPECTED(SG(request_info).request_body != NULL)) {
		weft_input_end();
	}
	if (UNEXPECTED(BG(user_shutdown_function_names) != NULL)) {
		php_free_shutdown_functions();
		if (CG(unclean_shutdown)) {
			zend_bailout(); /* it has caught a bailout, and left the VM as it was */
		}
	}
	if (UNEXPECTED(zend_llist_count(&SG(sapi_headers).headers) > 0)) {
		zend_llist_destroy(&SG(sapi_headers).headers);
	}
	if (SG(sapi_headers).mimetype) {
		efree(SG(sapi_headers).mimetype);
		SG(sapi_headers).mimetype = NULL;
	}
	if (SG(sapi_headers).http_status_line) {
		efree(SG(sapi_headers).http_status_line);
		SG(sapi_headers).http_status_line = NULL;
	}
	free_handler(&EG(user_error_handler), &EG(user_error_handlers));
	free_handler(&EG(user_exception_handler), &EG(user_exception_handlers));
	if (UNEXPECTED(EG(user_error_handlers_error_reporting).elements != NULL)) {
		zend_stack_destroy(&EG(user_error_handlers_error_reporting));
	}
	free_string(&PG(last_error_message));
	free_string(&PG(last_error_file));
	free_string(&BG(strtok_string));
	weft_owned_by_version_end();
}

/* Frees what the request owned. Output and headers have been taken by then. Its values may have destructors: a fatal
 * error in one must not leave this coroutine's base. What remains after too many of them leaks with the worker, which
 * is replaced. */
void weft_isolate_end(weft_coroutine *coroutine)
{
	const int attempts_max = 16;
	for (int i = 0; i < attempts_max && UNEXPECTED(!weft_contained_last(weft_isolate_free, coroutine)); i++) {
	}
}

/* Called before the engine's request ends: its shutdown needs the application's own state. */
void weft_isolate_stop(void)
{
	load(&base);
	BG(user_shutdown_function_names) = boot_shutdown_functions;
}
