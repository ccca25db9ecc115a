/* Fiber's own methods on the pooled Fiber of a coroutine.
 *
 * A library such as Revolt suspends the Fiber in which it runs and lets other code resume it. The pooled Fiber belongs
 * to the scheduler: suspending it parks the coroutine, resuming it wakes it. Fibers that user code creates are left to
 * the engine. */
#include "fiber.h"
#include "coroutine.h"
#include "schedule.h"
#include "zend_extensions.h"

/* State between Fiber::suspend() and resume(). */
typedef struct {
	uint64_t wait;             /* set while it is inside Fiber::suspend() of the pooled Fiber itself */
	zval value;                /* the value passed by Fiber::resume() or throw() */
	bool throw;
} suspension;

WEFT_SLOT(fiber, suspension)

static int reserved; /* our index in zend_fiber_context.reserved */
static zif_handler stock_suspend, stock_resume, stock_throw, stock_is_suspended;

/* The coroutine whose pooled Fiber this is, if it is one. */
static weft_coroutine *coroutine_of(zend_object *fiber)
{
	return ((zend_fiber *) fiber)->context.reserved[reserved];
}

void weft_fiber_mark(zend_object *fiber, weft_coroutine *coroutine)
{
	((zend_fiber *) fiber)->context.reserved[reserved] = coroutine;
}

static ZEND_NAMED_FUNCTION(fiber_suspend)
{
	weft_coroutine *coroutine = weft_current;
	if (!coroutine || !coroutine->fiber || EG(active_fiber) != (zend_fiber *) coroutine->fiber) {
		stock_suspend(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	if (zend_fiber_switch_blocked()) {
		zend_throw_error(NULL, "Cannot switch fibers in current execution context");
		RETURN_THROWS();
	}
	suspension *own = weft_fiber_slot(coroutine);
	ZVAL_NULL(&own->value);
	own->throw = false;
	own->wait = weft_host_wait_begin();
	weft_wait_end end = weft_host_wait(own->wait, WEFT_NEVER);
	own->wait = 0;
	if (end != WEFT_WOKEN) {
		RETURN_THROWS();
	}
	zval value;
	ZVAL_COPY_VALUE(&value, &own->value);
	ZVAL_UNDEF(&own->value);
	if (own->throw) {
		zend_throw_exception_object(&value);
		RETURN_THROWS();
	}
	RETURN_COPY_VALUE(&value);
}

static void resume(INTERNAL_FUNCTION_PARAMETERS, bool throw, zif_handler stock)
{
	weft_coroutine *target = coroutine_of(Z_OBJ_P(ZEND_THIS));
	if (!target) {
		stock(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	zval *value = NULL;
	ZEND_PARSE_PARAMETERS_START(throw ? 1 : 0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(value)
	ZEND_PARSE_PARAMETERS_END();
	suspension *its = weft_fiber_slot(target);
	if (!its->wait) {
		zend_throw_error(NULL, "Cannot resume a fiber that is not suspended");
		RETURN_THROWS();
	}
	if (value) {
		ZVAL_COPY(&its->value, value);
	}
	its->throw = throw;
	weft_host_wake(its->wait);
	its->wait = 0;
	if (weft_current && weft_coroutine_may_leave()) {
		weft_host_yield(); /* the resumed coroutine runs first, as with any Fiber */
	}
}

static ZEND_NAMED_FUNCTION(fiber_resume)
{
	resume(INTERNAL_FUNCTION_PARAM_PASSTHRU, false, stock_resume);
}

static ZEND_NAMED_FUNCTION(fiber_throw)
{
	resume(INTERNAL_FUNCTION_PARAM_PASSTHRU, true, stock_throw);
}

static ZEND_NAMED_FUNCTION(fiber_is_suspended)
{
	weft_coroutine *coroutine = coroutine_of(Z_OBJ_P(ZEND_THIS));
	if (!coroutine) {
		stock_is_suspended(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(weft_fiber_slot(coroutine)->wait != 0);
}

static zif_handler replace(const char *name, zif_handler with)
{
	zend_internal_function *method = zend_hash_str_find_ptr(&zend_ce_fiber->function_table, name, strlen(name));
	zif_handler stock = method->handler;
	method->handler = with;
	return stock;
}

void weft_fiber_methods_start(void)
{
	reserved = zend_get_resource_handle("weft");
	stock_suspend = replace("suspend", fiber_suspend);
	stock_resume = replace("resume", fiber_resume);
	stock_throw = replace("throw", fiber_throw);
	stock_is_suspended = replace("issuspended", fiber_is_suspended);
}
