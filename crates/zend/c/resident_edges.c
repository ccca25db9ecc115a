/* The edges of a request in resident mode: PHP leaves one request and enters the next, without ending.
 *
 * What a request owns in coroutine mode (WEFT_OWNED, extension_rows.c, process_state.c, environment.c, session.c) it owns
 * here, through the same calls: weft_isolate_begin and weft_isolate_end. This file handles the SAPI's part: output
 * buffers, headers, superglobals, uploads, time limit, and ini values, of which those of the boot remain changed. What
 * the script does between two requests is undone like what a request does. Kept are classes, functions, statics,
 * globals, autoloaders, and connections that code still holds.
 *
 * Invariant: whatever a request has changed of the state that is reset, the next one starts from the state of the
 * boot. When the script ends, PHP finds its own bookkeeping as it left it (weft_resident_return_boot). */
#include "boot.h"
#include "classic_response.h"
#include "classic_state.h"
#include "classic_variables.h"
#include "coroutine.h"
#include "host.h"
#include "input.h"
#include "isolate.h"
#include "persistent.h"
#include "request.h"
#include "resident.h"
#include "schedule.h"
#include "session.h"
#include "wait.h"
#include "zend_ini.h"

#include <dlfcn.h>

/* ---- the state that the boot has left ---- */

static zval *environment_symbol(void)
{
	zval *symbol = zend_hash_find_ind(&EG(symbol_table), ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_ENV));
	return symbol && Z_TYPE_P(symbol) == IS_ARRAY ? symbol : NULL;
}

/* Marks values that the boot has set as unchanged, so that they are what is restored after a request. */
static void keep_ini(weft_resident *resident)
{
	HashTable *changed = EG(modified_ini_directives);
	resident->ini = changed ? malloc(zend_hash_num_elements(changed) * sizeof(*resident->ini)) : NULL;
	if (!resident->ini) {
		return;
	}
	zend_ini_entry *entry;
	ZEND_HASH_MAP_FOREACH_PTR(changed, entry) {
		resident->ini[resident->ini_count++] = (weft_boot_ini){entry, entry->orig_value, entry->orig_modifiable};
		entry->modified = 0;
		entry->orig_value = NULL;
		entry->orig_modifiable = 0;
	} ZEND_HASH_FOREACH_END();
	resident->ini_directives = changed;
	EG(modified_ini_directives) = NULL;
}

static void restore_ini(void)
{
	if (EG(modified_ini_directives)) {
		weft_session_settings(true);
		zend_ini_deactivate();
		weft_session_settings(false);
		EG(modified_ini_directives) = NULL;
	}
}

void weft_resident_return_boot(weft_resident *resident)
{
	zval_ptr_dtor(&resident->environment);
	ZVAL_UNDEF(&resident->environment);
	if (resident->booted) {
		weft_boot_change(resident->coroutine);
		weft_isolate_stop_resident(resident->coroutine);
	}
	if (!resident->ini_directives) {
		return;
	}
	restore_ini();
	for (size_t i = 0; i < resident->ini_count; i++) {
		zend_ini_entry *entry = resident->ini[i].entry;
		entry->modified = 1;
		entry->orig_value = resident->ini[i].original;
		entry->orig_modifiable = resident->ini[i].original_modifiable;
	}
	EG(modified_ini_directives) = resident->ini_directives;
	resident->ini_directives = NULL;
	free(resident->ini);
	resident->ini = NULL;
	resident->ini_count = 0;
}

/* ---- out of a request, into a request ---- */

/* ext/filter records what filter_input() reads, from one end of its request to the next. */
static void filter(bool begin)
{
	zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("filter"));
	zend_result (*function)(int, int) = !module ? NULL : begin ? module->request_startup_func : module->request_shutdown_func;
	if (function) {
		function(module->type, module->module_number);
	}
}

/* libcrypto has its own list, which openssl_error_string() reads as well. */
static void forget_crypto_errors(void)
{
	static void (*clear)(void);
	static bool looked;
	if (!looked) {
		looked = true;
		clear = dlsym(RTLD_DEFAULT, "ERR_clear_error");
	}
	if (clear) {
		clear();
	}
}

static void forget_superglobals(void)
{
	zend_string *session = zend_string_init(ZEND_STRL("_SESSION"), 0);
	zend_delete_global_variable(session);
	zend_string_release(session);
	for (int i = 0; i < NUM_TRACK_VARS; i++) {
		zval_ptr_dtor(&PG(http_globals)[i]);
		ZVAL_UNDEF(&PG(http_globals)[i]);
	}
}

/* Leaves PHP's current request, if any: does what php_request_shutdown (main/main.c) does for output and SAPI. */
static void leave(void)
{
	zend_try {
		php_output_end_all();
	} zend_end_try();
	zend_unset_timeout();
	zend_try {
		weft_session_end_resident();
		filter(false);
	} zend_end_try();
	zend_try {
		php_output_deactivate();
	} zend_end_try();
	forget_superglobals();
	weft_input_end();
	SG(post_read) = 1; /* the server drops the rest of the body */
	sapi_deactivate();
	restore_ini();
}

/* Enters the request that SG(request_info) describes, or none: does what php_request_startup does for output and SAPI. */
static void enter(const weft_resident *resident)
{
	php_output_activate();
	PG(header_is_being_sent) = 0;
	PG(connection_status) = PHP_CONNECTION_NORMAL;
	sapi_activate();
	if (!weft_classic_of(resident->coroutine)) {
		BG(user_shutdown_function_names) = resident->shutdown_functions;
	} else {
		zend_set_timeout(zend_ini_long(ZEND_STRL("max_execution_time"), 0), 1);
	}
	if (PG(expose_php)) {
		sapi_add_header(SAPI_PHP_VERSION_HEADER, sizeof(SAPI_PHP_VERSION_HEADER) - 1, 1);
	}
	if (PG(output_buffering)) {
		php_output_start_user(NULL, PG(output_buffering) > 1 ? PG(output_buffering) : 0, PHP_OUTPUT_HANDLER_STDFLAGS);
	}
	php_hash_environment();
	zend_is_auto_global(ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_SERVER)); /* compiled code does not ask again */
	zend_is_auto_global(ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_ENV));
	zend_is_auto_global(ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_REQUEST));
	if (Z_TYPE(resident->environment) == IS_ARRAY) {
		zval copy;
		ZVAL_COPY(&copy, &resident->environment);
		zend_hash_update_ind(&EG(symbol_table), ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_ENV), &copy);
	}
	filter(true);
	/* A client that disconnects must not end the script: connection_aborted() reports it. */
	PG(ignore_user_abort) = 1;
	if (weft_classic_of(resident->coroutine)) {
		weft_session_begin();
	}
}

/* Restores everything else that a request has changed to the state that the boot has left. */
static void renew(weft_resident *resident)
{
	weft_isolate_end(resident->coroutine);
	forget_crypto_errors();
	weft_isolate_begin(resident->coroutine);
}

void weft_resident_keep_boot(weft_resident *resident)
{
	zval *environment = environment_symbol();
	if (environment) {
		ZVAL_COPY(&resident->environment, environment);
	}
	keep_ini(resident);
	leave();
	resident->booted = true;
	resident->shutdown_functions = BG(user_shutdown_function_names);
	BG(user_shutdown_function_names) = NULL;
	weft_isolate_start_resident();
	weft_boot_keep(resident->coroutine);
	weft_isolate_begin(resident->coroutine);
	enter(resident);
}

void weft_resident_forget_request(weft_coroutine *coroutine)
{
	if (weft_classic_of(coroutine)) {
		weft_classic_free(weft_classic_of(coroutine));
		free(weft_classic_of(coroutine));
		*weft_classic_slot(coroutine) = NULL;
	}
	SG(server_context) = NULL;
	memset(&SG(request_info), 0, sizeof(SG(request_info)));
	if (coroutine->request) {
		bool kept = Z_TYPE_P(weft_request_slot(coroutine)) == IS_OBJECT && weft_request_close(coroutine);
		if (!kept) { /* else the object does it */
			weft_host_release(coroutine->request);
		}
		coroutine->request = 0;
	}
}

bool weft_resident_begin_request(weft_resident *resident)
{
	weft_coroutine *coroutine = resident->coroutine;
	leave();
	resident->shutdown_functions = BG(user_shutdown_function_names);
	BG(user_shutdown_function_names) = NULL;
	renew(resident);
	coroutine->serial = weft_serial_next();
	*weft_classic_slot(coroutine) = calloc(1, sizeof(weft_classic));
	bool arrived = weft_classic_of(coroutine) && weft_classic_tell(coroutine);
	if (!arrived) {
		weft_resident_forget_request(coroutine);
	}
	enter(resident);
	resident->handled += arrived;
	return arrived;
}

/* What the script does between two requests is not the one that has ended: if that was cancelled, the script is not. */
static void go_on(weft_coroutine *coroutine)
{
	coroutine->cancelled = weft_wait_slot(coroutine)->stop = false;
	weft_wait_slot(coroutine)->stopped = 0;
	weft_host_begin_anew();
}

void weft_resident_end_request(weft_resident *resident)
{
	weft_coroutine *coroutine = resident->coroutine;
	if (Z_TYPE_P(weft_request_slot(coroutine)) == IS_OBJECT) {
		weft_request_keep(coroutine);
	}
	leave();
	weft_classic_finish(coroutine);
	weft_resident_forget_request(coroutine);
	renew(resident);
	weft_persistent_settle();
	go_on(coroutine);
	enter(resident);
}
