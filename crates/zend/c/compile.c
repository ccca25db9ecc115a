/* Compiling is one step: no other coroutine runs during it.
 *
 * The compiler, its scanner and opcache keep their state in globals that belong to no coroutine, and reading a source
 * file that is not in memory could park. So during that time the hooks count as outside of any coroutine and make the
 * plain calls. This does not count as blocking, because a file is compiled once. The same applies to eval(), because a
 * deprecation in it may call an error handler, and to array_multisort(), which keeps its comparison in a global that
 * nothing exports. */
#include "compile.h"
#include "schedule.h"
#include "wrap.h"

static zend_op_array *(*next_compile_file)(zend_file_handle *file, int type);

static zend_op_array *compile_whole(zend_file_handle *file, int type)
{
	zend_op_array *volatile script = NULL;
	volatile bool bailed_out = false;
	uint64_t coroutine = weft_host_step_out();
	zend_try {
		script = next_compile_file(file, type);
	} zend_catch {
		bailed_out = true;
	} zend_end_try();
	weft_host_step_in(coroutine);
	if (bailed_out) {
		zend_bailout();
	}
	return script;
}

static zend_op_array *(*next_compile_string)(zend_string *source, const char *name, zend_compile_position position);

static zend_op_array *compile_string_whole(zend_string *source, const char *name, zend_compile_position position)
{
	zend_op_array *volatile code = NULL;
	volatile bool bailed_out = false;
	uint64_t coroutine = weft_host_step_out();
	zend_try {
		code = next_compile_string(source, name, position);
	} zend_catch {
		bailed_out = true;
	} zend_end_try();
	weft_host_step_in(coroutine);
	if (bailed_out) {
		zend_bailout();
	}
	return code;
}

static zif_handler stock_multisort;

static ZEND_NAMED_FUNCTION(multisort_whole)
{
	volatile bool bailed_out = false;
	uint64_t coroutine = weft_host_step_out();
	zend_try {
		stock_multisort(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	} zend_catch {
		bailed_out = true;
	} zend_end_try();
	weft_host_step_in(coroutine);
	if (bailed_out) {
		zend_bailout();
	}
}

/* Called when the modules have started. */
void weft_compile_prepare(void)
{
	weft_wrap(NULL, "array_multisort", multisort_whole, NULL, &stock_multisort);
}

/* Called once, when PHP and with it opcache have started. */
void weft_compile_start(void)
{
	if (zend_compile_file != compile_whole) {
		next_compile_file = zend_compile_file;
		zend_compile_file = compile_whole;
		next_compile_string = zend_compile_string;
		zend_compile_string = compile_string_whole;
	}
}
