/* `weft php`: one script, run as the php command would (sapi/cli/php_cli.c, do_cli), on a coroutine.
 *
 * The coroutine is a bare context: the script finds no Fiber around its {main}. */
#include "script.h"
#include "context.h"
#include "coroutine.h"
#include "failure.h"
#include "outcome.h"
#include "script_main.h"
#include "task.h"
#include "wait.h"
#include "ext/standard/info.h"
#include "zend_extensions.h"
#include "zend_stream.h"

#include <sys/stat.h>
#include <unistd.h>

static weft_script_kind kind;
static const char *source; /* a path ("-" or NULL: standard input) or code */
static int status;

void weft_script_prepare(weft_script_kind what, const char *of)
{
	kind = what;
	source = of;
}

int weft_script_status(void)
{
	return status;
}

/* STDIN, STDOUT and STDERR, as in cli_register_file_handles. Closing the constants must not close the descriptors of
 * the process while PHP still writes output. */
static void register_handle(const char *name, const char *path, const char *mode)
{
	php_stream *stream = php_stream_open_wrapper_ex((char *) path, (char *) mode, 0, NULL, NULL);
	if (!stream) {
		return;
	}
	zend_constant constant;
	php_stream_to_zval(stream, &constant.value);
	Z_CONSTANT_FLAGS(constant.value) = 0;
	constant.name = zend_string_init_interned(name, strlen(name), 0);
	zend_register_constant(&constant);
	stream->flags |= PHP_STREAM_FLAG_NO_RSCR_DTOR_CLOSE;
}

static void register_handles(void)
{
	register_handle("STDIN", "php://stdin", "rb");
	register_handle("STDOUT", "php://stdout", "wb");
	register_handle("STDERR", "php://stderr", "wb");
}

static int compare_modules(Bucket *a, Bucket *b)
{
	return strcasecmp(((zend_module_entry *) Z_PTR(a->val))->name, ((zend_module_entry *) Z_PTR(b->val))->name);
}

static void print_modules(void)
{
	HashTable sorted;
	zend_module_entry *module;
	zend_hash_init(&sorted, 64, NULL, NULL, 0);
	zend_hash_copy(&sorted, &module_registry, NULL);
	zend_hash_sort(&sorted, compare_modules, 0);
	php_printf("[PHP Modules]\n");
	ZEND_HASH_FOREACH_PTR(&sorted, module) {
		php_printf("%s\n", module->name);
	} ZEND_HASH_FOREACH_END();
	php_printf("\n[Zend Modules]\n");
	for (zend_llist_element *element = zend_extensions.head; element; element = element->next) {
		php_printf("%s\n", ((zend_extension *) element->data)->name);
	}
	php_printf("\n");
	zend_hash_destroy(&sorted);
}

static void open_source(zend_file_handle *file)
{
	struct stat found;
	FILE *opened;
	if (!source || !strcmp(source, "-")) {
		zend_stream_init_fp(file, stdin, "Standard input code");
	} else if (stat(source, &found) == 0 && !S_ISDIR(found.st_mode) && (opened = fopen(source, "rb"))) {
		/* As in cli_seek_file_begin: no stream, which would be a resource with a number, and no open_basedir for the
		 * script itself. It may be a pipe, such as the shell's <(…), which include refuses. */
		zend_stream_init_fp(file, opened, source);
	} else {
		zend_stream_init_filename(file, source);
	}
	file->primary_script = 1;
}

/* The functions that run return whether the script completed: not ended by exit(), an exception or an error. */
static bool run_file(void)
{
	zend_file_handle file;
	open_source(&file);
	CG(skip_shebang) = 1;
	/* Without this, the script's directory becomes the current one, as under a web server. */
	SG(options) |= SAPI_OPTION_NO_CHDIR;
	register_handles();
	bool in_order = php_execute_script(&file);
	status = EG(exit_status);
	zend_destroy_file_handle(&file);
	return in_order;
}

static bool run_code(void)
{
	register_handles();
	bool in_order = zend_eval_string_ex((char *) source, NULL, "Command line code", 1) == SUCCESS;
	if (!in_order && !EG(exit_status)) {
		EG(exit_status) = 254;
	}
	status = EG(exit_status);
	return in_order;
}

static void lint_file(void)
{
	zend_file_handle file;
	open_source(&file);
	CG(skip_shebang) = 1;
	if (php_lint_script(&file) == SUCCESS) {
		php_printf("No syntax errors detected in %s\n", source);
		status = 0;
	} else {
		php_printf("Errors parsing %s\n", source);
		status = 255;
	}
	zend_destroy_file_handle(&file);
}

static bool run(void)
{
	switch (kind) {
		case WEFT_SCRIPT_FILE:
			return run_file();
		case WEFT_SCRIPT_CODE:
			return run_code();
		case WEFT_SCRIPT_LINT:
			lint_file();
			break;
		case WEFT_SCRIPT_INFO:
			php_print_info(PHP_INFO_ALL & ~PHP_INFO_CREDITS);
			break;
		case WEFT_SCRIPT_MODULES:
			print_modules();
			break;
	}
	return true;
}

/* {main} has ended; the script ends when its tasks have. If not in order, they end now. */
static void wait_for_tasks(bool in_order)
{
	while (weft_tasks_are_alive()) {
		if (!in_order) {
			weft_tasks_cancel_for_good();
		}
		in_order &= weft_main_wait() == WEFT_WOKEN;
		if (weft_wait_slot(weft_main)->deadlocked) { /* this has been reported */
			weft_wait_slot(weft_main)->deadlocked = false;
			weft_main_failed();
		}
	}
	if (EG(exit_status)) {
		status = EG(exit_status);
	}
}

/* Shutdown functions, destructors and output handlers may wait as well, so they run here, on the coroutine; the
 * request's own shutdown then finds nothing left to do. */
void weft_script_run(weft_coroutine *coroutine)
{
	volatile bool in_order = false;
	weft_main = coroutine;
	weft_errors_start();
	/* Messages of PHP's start wait in stdio's buffer; the script's output does not pass through it. */
	fflush(stdout);
	zend_try {
		in_order = run();
	} zend_catch {
		status = EG(exit_status) ? EG(exit_status) : 255;
	} zend_end_try();
	/* As in php_request_shutdown (main/main.c): after a bailout the frames are invalid. */
	EG(current_execute_data) = NULL;
	weft_take_out_of_memory();
	while (zend_fiber_switch_blocked()) { /* by a destructor that is gone */
		zend_fiber_switch_unblock();
	}
	zend_try {
		weft_run_deferred(coroutine);
	} zend_end_try();
	zend_try {
		wait_for_tasks(in_order);
	} zend_catch {
		status = 255;
	} zend_end_try();
	zend_try {
		php_call_shutdown_functions();
		php_free_shutdown_functions();
		if (EG(exit_status)) {
			status = EG(exit_status);
		}
	} zend_end_try();
	zend_try {
		zend_call_destructors();
	} zend_end_try();
	zend_try {
		php_output_end_all();
	} zend_end_try();
	if (EG(exit_status)) {
		status = EG(exit_status);
	}
}
