/* Environment variables that a request sets with putenv() are its own: removed while it is parked, undone at its end.
 *
 * The process has one environment, which PHP and libraries read without calling us; so the variables themselves are
 * exchanged. ext/standard keeps a table of what was set, to undo it at the end of its request, which in a worker never
 * comes: so an entry is removed when its coroutine parks or ends. A request that never calls putenv() pays nothing. */
#include "environment.h"
#include "coroutine.h"
#include "variables.h"
#include "wrap.h"

#include <stdlib.h>
#include <time.h>

/* One variable that a coroutine has changed. */
typedef struct weft_variable {
	struct weft_variable *next;
	zend_string *name;
	zend_string *before;       /* its value for everybody else; NULL: none */
	char *own;                 /* "name=value" when it was removed, which the environment holds again when the coroutine resumes; NULL: none */
} weft_variable;

static zif_handler stock_putenv;

/* The variables that the coroutine has set. */
WEFT_SLOT(environment, weft_variable *)

static void zone_changed(const zend_string *name)
{
	if (zend_string_equals_literal(name, "TZ")) {
		tzset();
	}
}

static void note(weft_coroutine *coroutine, const char *setting)
{
	size_t length = strcspn(setting, "=");
	weft_variable *known = *weft_environment_slot(coroutine);
	while (known && !zend_string_equals_cstr(known->name, setting, length)) {
		known = known->next;
	}
	if (known || length == 0) {
		return;
	}
	weft_variable *variable = emalloc(sizeof(*variable));
	variable->name = zend_string_init(setting, length, 0);
	const char *value = getenv(ZSTR_VAL(variable->name));
	variable->before = value ? zend_string_init(value, strlen(value), 0) : NULL;
	variable->own = NULL;
	variable->next = *weft_environment_slot(coroutine);
	*weft_environment_slot(coroutine) = variable;
}

static ZEND_NAMED_FUNCTION(putenv_own)
{
	const zval *setting = ZEND_NUM_ARGS() > 0 ? ZEND_CALL_ARG(execute_data, 1) : NULL;
	if (weft_current && weft_current->isolated && setting && Z_TYPE_P(setting) == IS_STRING) {
		note(weft_current, Z_STRVAL_P(setting));
	}
	stock_putenv(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* Restores the common value. The few such values come from the boot; setenv() keeps each forever (variables.c). */
static void restore(weft_variable *variable)
{
	zend_hash_del(&BG(putenv_ht), variable->name); /* this undoes what it knows of */
	if (variable->before) {
		setenv(ZSTR_VAL(variable->name), ZSTR_VAL(variable->before), 1);
	} else {
		unsetenv(ZSTR_VAL(variable->name));
	}
	zone_changed(variable->name);
	if (variable->own) {
		weft_variable_let_go(variable->own);
		variable->own = NULL;
	}
}

void weft_environment_out(weft_coroutine *coroutine)
{
	for (weft_variable *variable = *weft_environment_slot(coroutine); variable; variable = variable->next) {
		const char *value = getenv(ZSTR_VAL(variable->name));
		char *own = value ? weft_variable_text(ZSTR_VAL(variable->name), value) : NULL;
		restore(variable);
		variable->own = own;
	}
}

void weft_environment_in(weft_coroutine *coroutine)
{
	for (weft_variable *variable = *weft_environment_slot(coroutine); variable; variable = variable->next) {
		if (variable->own) {
			putenv(variable->own);
		} else {
			unsetenv(ZSTR_VAL(variable->name));
		}
		zone_changed(variable->name);
	}
}

void weft_environment_end(weft_coroutine *coroutine)
{
	weft_variable *variable;
	while ((variable = *weft_environment_slot(coroutine))) {
		*weft_environment_slot(coroutine) = variable->next;
		restore(variable);
		zend_string_release(variable->name);
		if (variable->before) {
			zend_string_release(variable->before);
		}
		efree(variable);
	}
}

void weft_environment_forget(weft_coroutine *coroutine)
{
	*weft_environment_slot(coroutine) = NULL;
}

/* The process's own variables, if there are no instances. */
static weft_variables of_process;

void weft_environment_start(void)
{
	weft_variables_start();
	weft_variables_use(&of_process);
	weft_wrap(NULL, "putenv", putenv_own, NULL, &stock_putenv);
}
