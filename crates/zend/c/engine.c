/* Start and stop of PHP under our own SAPI.
 *
 * opcache starts only for SAPIs whose name it knows (ext/opcache/ZendAccelerator.c, accel_startup): so the module
 * starts as "cli-server" and takes its own name afterwards. A worker begins one request at its start, which lasts as
 * long as the worker. */
#include "engine.h"
#include "channel.h"
#include "classic.h"
#include "classic_variables.h"
#include "compile.h"
#include "context.h"
#include "coroutine.h"
#include "failure.h"
#include "form.h"
#include "guard.h"
#include "host.h"
#include "isolate.h"
#include "library.h"
#include "lock.h"
#include "request.h"
#include "resident.h"
#include "response.h"
#include "runtime_cache.h"
#include "session.h"
#include "signals.h"
#include "stack.h"
#include "superglobals.h"
#include "task.h"
#include "wait.h"
#include "waiters.h"
#include "wrap_all.h"
#include "writer.h"
#include "weft_arginfo.h"
#include "withheld.h"
#include "instance/instance.h"
#include "zend_extensions.h"
#include "zend_ini.h"
#include "zend_signal.h"
#include "ext/standard/info.h"

#include <signal.h>
#include <unistd.h>

bool weft_cli;
static bool classic, withholds;
static bool has_residents;
static uint32_t *shared_superglobals;
static char *ini_entries;

static zend_module_entry weft_module;

static int start_module(sapi_module_struct *module)
{
	return php_module_startup(module, &weft_module);
}

static size_t write_output(const char *bytes, size_t length)
{
	weft_coroutine *coroutine = weft_current;
	if (!coroutine || !coroutine->request) {
		weft_host_output((weft_slice){bytes, length});
	} else if (weft_response_slot(coroutine)->streaming) {
		if (!weft_host_stream_write(coroutine->request, (weft_slice){bytes, length})) {
			php_handle_aborted_connection();
		}
	} else {
		smart_str_appendl(&weft_response_slot(coroutine)->output, bytes, length);
	}
	return length;
}

static void flush_output(void *context)
{
	(void) context;
	if (weft_current && weft_current->request) {
		weft_response_flush(weft_current);
	}
}

static int send_headers(sapi_headers_struct *headers)
{
	(void) headers;
	return SAPI_HEADER_SENT_SUCCESSFULLY;
}

/* A script has no headers to send: they are dropped (sapi_cli_header_handler). */
static int ignore_header(sapi_header_struct *header, sapi_header_op_enum op, sapi_headers_struct *headers)
{
	(void) header, (void) op, (void) headers;
	return 0;
}

static void send_header(sapi_header_struct *header, void *context)
{
	(void) header, (void) context;
}

static char *read_cookies(void)
{
	return SG(request_info).cookie_data;
}

static void server_variables(zval *array)
{
	php_import_environment_variables(array);
	const char *script = SG(request_info).path_translated;
	if (script) {
		php_register_variable("PHP_SELF", script, array);
		php_register_variable("SCRIPT_NAME", script, array);
		php_register_variable("SCRIPT_FILENAME", script, array);
		php_register_variable("PATH_TRANSLATED", script, array);
		php_register_variable("DOCUMENT_ROOT", "", array);
	}
}

static void log_message(const char *message, int syslog_type)
{
	uint32_t level = syslog_type <= 3 ? WEFT_LOG_ERROR : syslog_type == 4 ? WEFT_LOG_WARNING : WEFT_LOG_NOTICE;
	weft_host_log(level, weft_current ? weft_current->request : 0, weft_slice_text(message));
}

static sapi_module_struct weft_sapi = {
	.name = "cli-server",
	.pretty_name = "weft coroutine application server",
	.startup = start_module,
	.shutdown = php_module_shutdown_wrapper,
	.ub_write = write_output,
	.flush = flush_output,
	.sapi_error = php_error,
	.send_headers = send_headers,
	.send_header = send_header,
	.read_post = weft_read_post,
	.read_cookies = read_cookies,
	.register_server_variables = server_variables,
	.log_message = log_message,
};

static PHP_MINIT_FUNCTION(weft)
{
	(void) type, (void) module_number;
	weft_interrupts_start();
	weft_request_register();
	weft_writer_register();
	weft_guard_register();
	weft_wait_register();
	weft_lock_register();
	weft_waiters_register();
	weft_channel_register();
	weft_task_register();
	weft_context_register();
	if (classic) {
		weft_classic_register();
	}
	if (withholds) {
		weft_withhold();
	}
	if (has_residents) {
		weft_resident_register();
	}
	weft_wrap_all_prepare(classic, has_residents, weft_cli);
	return SUCCESS;
}

/* Objects can still be destroyed here: PHP's memory ends after this. */
static PHP_RSHUTDOWN_FUNCTION(weft)
{
	(void) type, (void) module_number;
	if (classic && weft_current) { /* after resident.c's, for the script itself */
		weft_context_end(weft_current);
	}
	return SUCCESS;
}

static PHP_MINFO_FUNCTION(weft)
{
	(void) zend_module;
	php_info_print_table_start();
	php_info_print_table_row(2, "weft", WEFT_VERSION);
	php_info_print_table_row(2, "Coroutines", weft_cli ? "the script runs on one"
		: classic ? "each request has one, and PHP to itself" : "each request runs on one");
	php_info_print_table_end();
}

static zend_module_entry weft_module = {
	STANDARD_MODULE_HEADER, "weft", weft_functions, PHP_MINIT(weft), NULL, NULL, PHP_RSHUTDOWN(weft), PHP_MINFO(weft), WEFT_VERSION,
	STANDARD_MODULE_PROPERTIES};

/* opcache has checked the name: from here on PHP_SAPI and php_sapi_name() return our own. */
static void take_name(const char *own)
{
	sapi_module.name = weft_sapi.name = strdup(own);
	zval *constant = zend_get_constant_str(ZEND_STRL("PHP_SAPI"));
	/* Interned by hand: after start-up, the table of interned strings belongs to the running request. */
	zend_string *name = zend_string_init(own, strlen(own), 1);
	zend_string_hash_val(name);
	GC_ADD_FLAGS(name, IS_STR_INTERNED | IS_STR_PERMANENT);
	ZVAL_INTERNED_STR(constant, name);
}

/* Whether the last "name=…" among the lines disables it. */
static bool is_off(const char *lines, const char *name)
{
	const char *last = NULL, *found = lines;
	while ((found = strstr(found, name))) {
		last = found += strlen(name);
	}
	return last && (!strncmp(last, "=0", 2) || !strncasecmp(last, "=off", 4) || !strncasecmp(last, "=no", 3));
}

/* Starts the engine; runs no user code (except opcache.preload). Returns 0, or what failed. */
int weft_engine_start(const weft_engine_options *options)
{
	/* opcache kills a process that has kept it from restarting for force_restart_timeout; a script that stays loaded
	 * does that (accel_is_inactive() in ext/opcache/ZendAccelerator.c). */
	static const char shared[] = "html_errors=0\nregister_argc_argv=1\nimplicit_flush=0\noutput_buffering=0\n"
		"max_execution_time=0\nmax_input_time=-1\nopcache.force_restart_timeout=2147483\n";
	static const char script[] = "display_errors=1\nimplicit_flush=1\nmemory_limit=-1\n";
	static const char loaded[] = "opcache.force_restart_timeout=2147483\n";
	/* The same; and a hard time limit would kill the process with all its instances. */
	static const char many[] = "hard_timeout=0\nopcache.force_restart_timeout=2147483\n";
	/* Last, so that it wins: instances enable it themselves (instance/instance.c). */
	static const char many_at_last[] = "zend.enable_gc=0\n";
	/* Classic mode leaves to php.ini the settings that php-fpm leaves to it. */
	const char *always = !options->classic ? shared : options->instances ? many : options->residents_count ? loaded : "";
	const char *at_last = options->instances ? many_at_last : "";
	weft_collects_garbage = !is_off(options->ini, "zend.enable_gc");
	if (options->instances && weft_arena_open() != 0) {
		return 1;
	}
	weft_cli = options->cli;
	classic = options->classic;
	withholds = options->withholds;
	has_residents = options->residents_count > 0;
	if (has_residents && !weft_resident_prepare(options->residents, options->residents_count)) {
		return 1;
	}
	shared_superglobals = options->superglobals;
	signal(SIGPIPE, SIG_IGN);
	if (!weft_cli) {
		/* A file at its size limit (RLIMIT_FSIZE) makes the write fail, instead of ending the worker. */
		signal(SIGXFSZ, SIG_IGN);
	}
	weft_runtime_cache_start();
	zend_signal_startup();
	sapi_startup(&weft_sapi);
	size_t size = strlen(always) + sizeof(script) + strlen(options->ini) + strlen(at_last) + 1;
	ini_entries = malloc(size);
	snprintf(ini_entries, size, "%s%s%s%s", always, weft_cli ? script : "", options->ini, at_last);
	weft_sapi.ini_entries = ini_entries;
	weft_sapi.php_ini_ignore_cwd = 1;
	weft_sapi.php_ini_ignore = options->ignore_ini;
	weft_sapi.php_ini_path_override = options->ini_path ? strdup(options->ini_path) : NULL;
	weft_sapi.executable_location = strdup(options->executable);
	weft_sapi.phpinfo_as_text = weft_cli;
	if (weft_cli) {
		weft_sapi.name = "cli";
		weft_sapi.header_handler = ignore_header;
	}
	if (classic) {
		weft_classic_prepare(&weft_sapi);
	}
	if (weft_sapi.startup(&weft_sapi) == FAILURE) {
		return 1;
	}
	if (classic) {
		weft_classic_import();
	}
	if (has_residents) {
		weft_session_prepare();
	}
	if (!weft_cli) {
		take_name(options->sapi_name);
	}
	weft_compile_start();
	weft_library_start(options->library ? strdup(options->library) : NULL);
	return 0;
}

/* Begins the request in which the application boots and all coroutines run. */
int weft_engine_begin(const char *script, int argc, char **argv)
{
	SG(request_info).argc = argc;
	SG(request_info).argv = argv;
	SG(request_info).path_translated = (char *) script;
	if (!weft_cli) {
		weft_session_prepare();
		weft_signals_start();
	}
	if (php_request_startup() == FAILURE) {
		return 1;
	}
	PG(during_request_startup) = 0; /* otherwise errors count as start-up errors and are not displayed */
	if (!weft_cli) {
		SG(request_info).no_headers = 1;
		weft_superglobals_start(shared_superglobals);
		weft_failure_start(true);
		weft_stack_start();
	}
	return 0;
}

/* Ends that request: the application's shutdown functions and destructors run now. */
void weft_engine_end(void)
{
	if (!weft_cli) {
		weft_isolate_stop();
	}
	zend_try {
		php_request_shutdown(NULL);
	} zend_end_try();
}

/* The value of the last exit(): the status of a child that a handler has forked. */
int weft_engine_exit_status(void)
{
	return EG(exit_status);
}

/* ---- facts about the engine ---- */

/* The value of an ini setting; 0 if there is none with that name. */
size_t weft_engine_ini(const char *name, char *buffer, size_t size)
{
	const char *value = zend_ini_string((char *) name, strlen(name), 0);
	return value ? (size_t) snprintf(buffer, size, "%s", value) : 0;
}

/* Whether there is an ini setting with that name. */
bool weft_engine_has_ini(const char *name)
{
	return zend_hash_str_exists(EG(ini_directives), name, strlen(name));
}

size_t weft_engine_extensions(char *buffer, size_t size)
{
	zend_module_entry *module;
	size_t used = 0;
	ZEND_HASH_MAP_FOREACH_PTR(&module_registry, module) {
		int n = snprintf(buffer + used, size - used, "%s\n", module->name);
		if (n < 0 || (size_t) n >= size - used) {
			break;
		}
		used += (size_t) n;
	} ZEND_HASH_FOREACH_END();
	return used;
}

static bool opcache_status(bool *jit)
{
	zval status, callable, argument, *part;
	bool on = false;
	ZVAL_STRING(&callable, "opcache_get_status");
	ZVAL_FALSE(&argument);
	ZVAL_UNDEF(&status);
	if (call_user_function(NULL, NULL, &callable, &status, 1, &argument) == SUCCESS && Z_TYPE(status) == IS_ARRAY) {
		part = zend_hash_str_find(Z_ARRVAL(status), ZEND_STRL("opcache_enabled"));
		on = part && zend_is_true(part);
		part = zend_hash_str_find(Z_ARRVAL(status), ZEND_STRL("jit"));
		part = part && Z_TYPE_P(part) == IS_ARRAY ? zend_hash_str_find(Z_ARRVAL_P(part), ZEND_STRL("on")) : NULL;
		*jit = part && zend_is_true(part);
	}
	zval_ptr_dtor(&status);
	zval_ptr_dtor(&callable);
	return on;
}

/* Whether opcache and its JIT are on, according to opcache itself, in a request that runs no code. For the
 * master. */
bool weft_engine_opcache(bool *jit)
{
	bool on = false;
	*jit = false;
	if (php_request_startup() == FAILURE) {
		return false;
	}
	SG(headers_sent) = 1;
	SG(request_info).no_headers = 1;
	if (zend_hash_str_exists(EG(function_table), ZEND_STRL("opcache_get_status"))) {
		/* It may be only for scripts below a path: this is one. */
		SG(request_info).path_translated = (char *) zend_ini_string("opcache.restrict_api", sizeof("opcache.restrict_api") - 1, 0);
		on = opcache_status(jit);
		SG(request_info).path_translated = NULL;
	}
	php_request_shutdown(NULL);
	return on;
}

/* Bytes the Zend memory manager has from the system. */
size_t weft_engine_memory(void)
{
	return zend_memory_usage(1);
}
