/* Weft\Pool\QuickWaiters: the coroutines that wait for a resource of a pool, in the order of asking, and what their waits have cost.
 *
 * Must not know resources. Invariant: each that is given something is counted out at once; one that has gone is never given
 * anything. php/src/Pool/QuickWaiters.php is this class where no coroutine runs. */
#include "waiters.h"
#include "queue.h"
#include "schedule.h"
#include "wait.h"

typedef struct {
	weft_queue line;
	zend_string *on; /* what they wait for, as reports name it */
	zend_object std;
} waiters;

/* The properties of the class, by their numbers. */
enum { COUNT, WAITS, WAITED_NS, WAITED_MAX_NS };

static zend_object_handlers handlers;

static waiters *of(zend_object *object)
{
	return (waiters *) ((char *) object - offsetof(waiters, std));
}

static zend_object *create(zend_class_entry *class)
{
	waiters *self = zend_object_alloc(sizeof(waiters), class);
	memset(self, 0, offsetof(waiters, std));
	zend_object_std_init(&self->std, class);
	object_properties_init(&self->std, class);
	self->std.handlers = &handlers;
	self->on = ZSTR_EMPTY_ALLOC();
	return &self->std;
}

static void free_waiters(zend_object *object)
{
	zend_string_release(of(object)->on);
	zend_object_std_dtor(object);
}

static void add(zend_object *object, int property, zend_long number)
{
	zval *value = OBJ_PROP_NUM(object, property);
	ZVAL_LONG(value, zval_get_long(value) + number);
}

static void note_time(zend_object *object, zend_long waited)
{
	zval *longest = OBJ_PROP_NUM(object, WAITED_MAX_NS);
	add(object, WAITED_NS, waited);
	if (waited > zval_get_long(longest)) {
		ZVAL_LONG(longest, waited);
	}
}

bool weft_waiters_wait(zend_object *object, double seconds, zval *given)
{
	zval on;
	ZVAL_NULL(given);
	weft_waiter *waiter = weft_queue_waiter(1);
	if (!waiter) {
		return false;
	}
	uint64_t began = weft_host_now();
	ZVAL_STR(&on, of(object)->on);
	GC_ADDREF(object);
	weft_queue_add(&of(object)->line, waiter, 0, NULL);
	add(object, COUNT, 1);
	add(object, WAITS, 1);
	weft_queue_end end = weft_queue_park(waiter, &on, weft_wait_deadline(seconds, false));
	note_time(object, (zend_long) (weft_host_now() - began));
	if (waiter->served) {
		ZVAL_COPY(given, &waiter->value);
	} else {
		add(object, COUNT, -1);
	}
	weft_queue_free(waiter);
	OBJ_RELEASE(object);
	return end != WEFT_QUEUE_CUT_SHORT;
}

bool weft_waiters_hand(zend_object *object, zval *value)
{
	if (!weft_queue_serve(&of(object)->line, value)) {
		return false;
	}
	add(object, COUNT, -1);
	return true;
}

/* ---- Weft\Pool\QuickWaiters ---- */

ZEND_METHOD(Weft_Pool_QuickWaiters, __construct);
ZEND_METHOD(Weft_Pool_QuickWaiters, wait);
ZEND_METHOD(Weft_Pool_QuickWaiters, hand);

ZEND_METHOD(Weft_Pool_QuickWaiters, __construct)
{
	zend_string *on;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(on)
	ZEND_PARSE_PARAMETERS_END();
	waiters *self = of(Z_OBJ_P(ZEND_THIS));
	zend_string_release(self->on);
	self->on = zend_string_copy(on);
}

ZEND_METHOD(Weft_Pool_QuickWaiters, wait)
{
	double seconds;
	zval *into, given;
	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_DOUBLE(seconds)
		Z_PARAM_ZVAL(into)
	ZEND_PARSE_PARAMETERS_END();
	weft_waiters_wait(Z_OBJ_P(ZEND_THIS), seconds, &given);
	ZEND_TRY_ASSIGN_REF_TMP(into, &given);
}

ZEND_METHOD(Weft_Pool_QuickWaiters, hand)
{
	zval *given;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ZVAL(given)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(weft_waiters_hand(Z_OBJ_P(ZEND_THIS), given));
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_construct, 0, 0, 1)
	ZEND_ARG_TYPE_INFO(0, on, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_wait, 0, 2, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, timeout, IS_DOUBLE, 0)
	ZEND_ARG_TYPE_INFO(1, given, IS_MIXED, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_hand, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, given, IS_MIXED, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry methods[] = {
	ZEND_ME(Weft_Pool_QuickWaiters, __construct, arginfo_construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Pool_QuickWaiters, wait, arginfo_wait, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Pool_QuickWaiters, hand, arginfo_hand, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

void weft_waiters_register(void)
{
	zend_class_entry entry, *class;
	INIT_NS_CLASS_ENTRY(entry, "Weft\\Pool", "QuickWaiters", methods);
	class = zend_register_internal_class(&entry);
	class->ce_flags |= ZEND_ACC_EXPLICIT_ABSTRACT_CLASS;
	class->create_object = create;
	static const char *const names[] = {[COUNT] = "count", [WAITS] = "waits", [WAITED_NS] = "waitedNs", [WAITED_MAX_NS] = "waitedMaxNs"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		zend_declare_property_long(class, names[i], strlen(names[i]), 0, ZEND_ACC_PUBLIC);
	}
	memcpy(&handlers, &std_object_handlers, sizeof(handlers));
	handlers.offset = offsetof(waiters, std);
	handlers.free_obj = free_waiters;
	handlers.clone_obj = NULL;
}
