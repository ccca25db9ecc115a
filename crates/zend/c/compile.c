/* Compiling a file is one step: no other coroutine runs while it goes on.
 *
 * The compiler, its scanner and opcache keep what they are doing in globals that are nobody's in particular, and reading a
 * source file that is not in memory could park. So for that time no coroutine runs, as the hooks see it: they are the plain
 * calls. Nor is this counted as blocking: a file is compiled once. */
#include "weft.h"

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

/* Once, when PHP has started and with it opcache. */
void weft_compile_start(void)
{
	if (zend_compile_file != compile_whole) {
		next_compile_file = zend_compile_file;
		zend_compile_file = compile_whole;
	}
}
