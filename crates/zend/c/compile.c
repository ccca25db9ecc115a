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

/* Runs a step during which no coroutine runs, as the hooks see it. A bailout passes on. */
static void whole(void (*run)(void *call), void *call)
{
	volatile bool bailed_out = false;
	uint64_t coroutine = weft_host_step_out();
	zend_try {
		run(call);
	} zend_catch {
		bailed_out = true;
	} zend_end_try();
	weft_host_step_in(coroutine);
	if (bailed_out) {
		zend_bailout();
	}
}

static zend_op_array *(*next_compile_file)(zend_file_handle *file, int type);

typedef struct {
	zend_file_handle *file;
	int type;
	zend_op_array *compiled;
} file_call;

static void compile_given_file(void *call)
{
	file_call *of = call;
	of->compiled = next_compile_file(of->file, of->type);
}

static zend_op_array *compile_whole(zend_file_handle *file, int type)
{
	file_call call = {file, type, NULL};
	whole(compile_given_file, &call);
	return call.compiled;
}

static zend_op_array *(*next_compile_string)(zend_string *source, const char *name, zend_compile_position position);

typedef struct {
	zend_string *source;
	const char *name;
	zend_compile_position position;
	zend_op_array *compiled;
} string_call;

static void compile_given_text(void *call)
{
	string_call *of = call;
	of->compiled = next_compile_string(of->source, of->name, of->position);
}

static zend_op_array *compile_string_whole(zend_string *source, const char *name, zend_compile_position position)
{
	string_call call = {source, name, position, NULL};
	whole(compile_given_text, &call);
	return call.compiled;
}

static zif_handler stock_multisort;

typedef struct {
	zend_execute_data *execute_data;
	zval *return_value;
} sort_call;

static void sort(void *call)
{
	const sort_call *of = call;
	stock_multisort(of->execute_data, of->return_value);
}

static ZEND_NAMED_FUNCTION(multisort_whole)
{
	sort_call call = {execute_data, return_value};
	whole(sort, &call);
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
