/* Resident mode: a worker script stays loaded and handles one request after another, through FrankenPHP's interface.
 *
 * The script is a coroutine's job for as long as it stays loaded, and yet each request is a job of the scheduler:
 *
 *     job ──► script boots ──► frankenphp_handle_request() ──► callback ──► returns true ─┐
 *                                  │      ▲                                             │
 *                        job ended ▼      │ next job                                    │
 *                                loop ────┘          ◄── the script calls it again ◄────┘
 *
 * Between two requests it is suspended inside frankenphp_handle_request(), and to the scheduler its coroutine is idle:
 * queue, deadlines, cancellation and drain are those of classic mode. With instances, a worker has as many scripts,
 * each in its own PHP; this file must not know that, except at the end.
 *
 * Invariant: exit() and exceptions end their request; a fatal error ends the script, which is loaded again; in both
 * cases each request is answered once. */
#include "resident.h"
#include "boot.h"
#include "classic_response.h"
#include "classic_state.h"
#include "context.h"
#include "coroutine.h"
#include "host.h"
#include "native.h"
#include "outcome.h"
#include "php/version.h"
#include "request.h"
#include "zend_closures.h"
#include "zend_stream.h"

static weft_resident_script *scripts; /* by their pools */

weft_resident *weft_residents;
bool weft_resident_any;

bool weft_resident_prepare(const weft_resident_script *given, size_t count)
{
	uint32_t pools = 0;
	for (size_t i = 0; i < count; i++) {
		pools = MAX(pools, given[i].pool + 1);
	}
	scripts = calloc(pools, sizeof(*scripts));
	for (size_t i = 0; scripts && i < count; i++) {
		scripts[given[i].pool] = given[i];
		scripts[given[i].pool].path = strdup(given[i].path);
	}
	weft_resident_any = scripts != NULL;
	return scripts != NULL;
}

/* ---- the callback ---- */

/* exit() is the end of the request; an uncaught exception is a 500 of this request. Exhausted memory unwinds like
 * exit() on Debian's PHP, but it is a fatal error, and the script must end. */
static void settle(weft_resident *resident)
{
	for (int attempts = 0; EG(exception) && attempts < 3; attempts++) {
		zend_object *exception = EG(exception);
		if (zend_is_unwind_exit(exception)) {
			OBJ_RELEASE(exception);
			weft_drop_exception();
			resident->spoilt |= weft_take_out_of_memory();
			continue;
		}
		GC_ADDREF(exception);
		zend_clear_exception();
		if (attempts == 0 && weft_call_exception_handler(exception, false)) {
			OBJ_RELEASE(exception);
		} else {
			zend_exception_error(exception, E_ERROR); /* reports it, and does not end the script */
		}
	}
	EG(exit_status) = 0;
}

static void call(weft_resident *resident, zend_fcall_info *info, zend_fcall_info_cache *cache)
{
	zval result;
	ZVAL_UNDEF(&result);
	info->retval = &result;
	zend_call_function(info, cache);
	zval_ptr_dtor(&result);
	settle(resident);
	weft_run_deferred(resident->coroutine);
	if (BG(user_shutdown_function_names)) {
		weft_run_shutdown_functions();
		settle(resident);
	}
	weft_context_end(resident->coroutine);
}

/* Waits for a request and lets the callback answer it. false: the script must end. */
ZEND_FUNCTION(frankenphp_handle_request)
{
	zend_fcall_info info;
	zend_fcall_info_cache cache;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_FUNC(info, cache)
	ZEND_PARSE_PARAMETERS_END();
	weft_coroutine *coroutine = weft_current;
	weft_resident *resident = coroutine ? weft_resident_of(coroutine) : NULL;
	if (!resident || weft_classic_of(coroutine)) {
		zend_throw_error(NULL, resident ? "frankenphp_handle_request() cannot be called while a request is handled"
			: "frankenphp_handle_request() needs a worker script: see resident mode");
		RETURN_THROWS();
	}
	if (!resident->booted) {
		weft_resident_keep_boot(resident);
	}
	uint64_t requests_max = resident->script->requests_max;
	if (resident->spoilt || (requests_max && resident->handled >= requests_max)) {
		RETURN_FALSE;
	}
	do {
		while (!coroutine->request) {
			zend_unset_timeout();
			if (!weft_native_next(coroutine)) {
				RETURN_FALSE;
			}
		}
	} while (!weft_resident_begin_request(resident));
	call(resident, &info, &cache);
	weft_resident_end_request(resident);
	RETURN_TRUE;
}

/* ---- the job ---- */

static bool run_file(const char *path, bool primary, zval *returned)
{
	zend_file_handle file;
	zend_stream_init_filename(&file, path);
	file.primary_script = primary;
	bool succeeded = zend_execute_scripts(ZEND_REQUIRE, returned, 1, &file) == SUCCESS;
	zend_destroy_file_handle(&file);
	if (EG(exception)) { /* it could not be compiled */
		zend_exception_error(EG(exception), E_ERROR);
	}
	return succeeded;
}

/* A script that has not asked for requests itself has returned the code that handles them:
 * php/src/Internal/Resident.php. */
static void serve_returned(zval *returned)
{
	zval function, result;
	ZVAL_STRING(&function, "Weft\\Internal\\Resident::serve");
	ZVAL_UNDEF(&result);
	call_user_function(NULL, NULL, &function, &result, 1, returned);
	zval_ptr_dtor(&result);
	zval_ptr_dtor(&function);
}

/* Like php_execute_script (main/main.c), but keeps what the script returns. */
static void run_script(weft_resident *resident)
{
	zval returned;
	ZVAL_NULL(&returned);
	PG(during_request_startup) = 0;
	VCWD_CHDIR_FILE(resident->script->path);
	if (PG(auto_prepend_file) && *PG(auto_prepend_file) && !run_file(PG(auto_prepend_file), false, NULL)) {
		return;
	}
	run_file(resident->script->path, true, &returned);
	if (!resident->booted && (Z_TYPE(returned) == IS_OBJECT || Z_TYPE(returned) == IS_ARRAY || Z_TYPE(returned) == IS_STRING)) {
		serve_returned(&returned);
	}
	zval_ptr_dtor(&returned);
}

/* Ends PHP's request: after a fatal error the running request's shutdown functions come first, then the script's own. */
static void end_script(weft_resident *resident)
{
	if (weft_classic_of(resident->coroutine)) {
		zend_try {
			if (BG(user_shutdown_function_names)) {
				php_call_shutdown_functions();
				php_free_shutdown_functions();
			}
			php_output_end_all();
		} zend_end_try();
		BG(user_shutdown_function_names) = resident->shutdown_functions;
	}
	weft_resident_return_boot(resident);
	SG(post_read) = 1;
	zend_try {
		php_request_shutdown(NULL);
	} zend_end_try();
}

static void tell_end(uint64_t request, const weft_resident *resident, const char *how)
{
	char line[MAXPATHLEN + 256]; /* PHP's memory has ended */
	snprintf(line, sizeof(line), "the worker script %s has ended without %s", resident->script->path, how);
	weft_host_log(WEFT_LOG_ERROR, request, weft_slice_text(line));
}

static void answer_what_is_left(weft_coroutine *coroutine, const weft_resident *resident)
{
	if (!coroutine->request && !resident->booted) {
		tell_end(0, resident, "asking for a request; the next request loads it again");
	}
	if (coroutine->request && !weft_classic_of(coroutine)) {
		tell_end(coroutine->request, resident, "taking the request: it must call frankenphp_handle_request() in a loop");
		*weft_classic_slot(coroutine) = calloc(1, sizeof(weft_classic));
	}
	if (weft_classic_of(coroutine)) {
		weft_classic_finish(coroutine);
	}
	weft_resident_forget_request(coroutine);
}

static void link_resident(weft_resident *resident)
{
	*weft_resident_slot(resident->coroutine) = resident;
	resident->next = weft_residents;
	weft_residents = resident;
}

static void unlink_resident(weft_resident *resident)
{
	weft_resident **at = &weft_residents;
	while (*at != resident) {
		at = &(*at)->next;
	}
	*at = resident->next;
	*weft_resident_slot(resident->coroutine) = NULL;
	weft_boot_end(resident->coroutine);
}

void weft_resident_abandon(weft_coroutine *coroutine)
{
	if (weft_resident_of(coroutine)) {
		unlink_resident(weft_resident_of(coroutine));
	}
}

/* Frameworks recognize the mode by a variable. */
static void set_variable(void)
{
	static const char name[] = "FRANKENPHP_WORKER";
	if (!getenv(name)) {
		setenv(name, "1", 1);
	}
}

/* Runs the script from its first line to its end. Returns how many requests it has begun. */
static uint64_t run_once(weft_coroutine *coroutine)
{
	weft_resident resident = {.coroutine = coroutine, .script = &scripts[coroutine->pool]};
	link_resident(&resident);
	set_variable();
	*weft_classic_slot(coroutine) = NULL;
	ZVAL_UNDEF(weft_request_slot(coroutine)); /* the last script's was freed with its heap */
	memset(&SG(request_info), 0, sizeof(SG(request_info)));
	SG(request_info).path_translated = (char *) resident.script->path;
	zend_first_try {
		if (weft_boot_begin(coroutine) && php_request_startup() == SUCCESS) {
			weft_native_limits(coroutine);
			run_script(&resident);
		}
	} zend_end_try();
	weft_take_out_of_memory();
	end_script(&resident);
	ZVAL_UNDEF(weft_request_slot(coroutine));
	answer_what_is_left(coroutine, &resident);
	unlink_resident(&resident);
	return resident.handled;
}

/* The number of the site whose settings the script of a coroutine gets. */
uint32_t weft_resident_site(const weft_coroutine *coroutine)
{
	return scripts[coroutine->pool].site;
}

/* A script that ends after it has handled requests is loaded again at once, so that no request has to wait for it; one
 * that has handled none is loaded again only for the next request. */
void weft_resident_run(weft_coroutine *coroutine)
{
	const uint32_t kind = coroutine->job;
	while (run_once(coroutine) && coroutine->job == kind && !coroutine->cancelled) {
	}
}

/* Loads the script of a pool without a server, and lets it run to its end. false: it has not asked for a request. */
bool weft_resident_try(uint32_t pool)
{
	weft_coroutine *coroutine = weft_native_create(pool);
	if (!coroutine) {
		return false;
	}
	weft_native_enter(coroutine, true, WEFT_JOB_RESIDENT, 0);
	bool asked = weft_resident_of(coroutine) && weft_resident_of(coroutine)->booted;
	weft_resident_end();
	weft_native_destroy(coroutine);
	return asked;
}
