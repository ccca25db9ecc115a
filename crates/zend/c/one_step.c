/* Steps during which no other coroutine runs, because what they work on belongs to no coroutine and is wrong half-way.
 *
 * During a step the hooks count as outside of any coroutine and make the plain calls: a wait in it holds the worker. Compiling is
 * such a step (compile.c), and so are the functions of the table below. Must not know what a step does. */
#include "one_step.h"
#include "schedule.h"
#include "wrap.h"

/* Runs a step. A bailout passes on. */
void weft_one_step(void (*run)(void *call), void *call)
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

/* Functions of PHP that are one step. What `instances` share, too, lies outside of PHP. */
typedef struct {
	const char *name;
	bool instances;
	zif_handler stock;
} function_row;

static function_row functions[] = {
	/* Keeps its comparison in a global that nothing exports, and may call __toString() and error handlers. */
	{"array_multisort", false, NULL},
	/* libuuid counts on in a range that it got from uuidd, in a variable of the thread. While it asks for another range, the
	 * variable says that there is one: two requests, and other processes, would get the same numbers (libuuid/src/gen_uuid.c,
	 * uuid_generate_time_generic). uuidd answers on this machine, in microseconds. */
	{"uuid_create", true, NULL},
};

typedef struct {
	zif_handler stock;
	zend_execute_data *execute_data;
	zval *return_value;
} function_call;

static void run_stock(void *call)
{
	const function_call *of = call;
	of->stock(of->execute_data, of->return_value);
}

static ZEND_NAMED_FUNCTION(as_one_step)
{
	const function_row *row = weft_wrapped_row(execute_data);
	function_call call = {row->stock, execute_data, return_value};
	weft_one_step(run_stock, &call);
}

/* Called when the modules have started. With `instances` each request has a PHP of its own. */
void weft_one_step_prepare(bool instances)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (!instances || functions[i].instances) {
			weft_wrap(NULL, functions[i].name, as_one_step, &functions[i], &functions[i].stock);
		}
	}
}
