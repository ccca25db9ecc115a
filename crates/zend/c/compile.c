/* Compiling is one step: no other coroutine runs during it.
 *
 * The compiler, its scanner and opcache keep their state in globals that belong to no coroutine, and reading a source
 * file that is not in memory could park. This does not count as blocking, because a file is compiled once. The same
 * applies to eval(), because a deprecation in it may call an error handler. */
#include "compile.h"
#include "basedir.h"
#include "one_step.h"
#include "site.h"

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
	if (UNEXPECTED(PG(open_basedir) && *PG(open_basedir)) && weft_site_runs() && !weft_basedir_allows(file, type)) {
		return NULL;
	}
	file_call call = {file, type, NULL};
	weft_one_step(compile_given_file, &call);
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
	weft_one_step(compile_given_text, &call);
	return call.compiled;
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
