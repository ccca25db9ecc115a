/* Weft\Mutex and Weft\Semaphore.
 *
 * Invariants: a lock or a permit is handed over, and never set free while a coroutine waits for it, so that none overtakes; who
 * is interrupted after it was given one hands it to the next. */
#include "lock.h"
#include "coroutine.h"
#include "once.h"
#include "queue.h"
#include "wait.h"
#include "weft_arginfo.h"
#include "ext/spl/spl_exceptions.h"

typedef struct {
	bool locked;
	uint64_t owner; /* the coroutine that holds it */
	weft_queue waiters;
	zend_object std;
} mutex;

typedef struct {
	zend_long permits, free;
	weft_queue waiters;
	zend_object std;
} semaphore;

static zend_object_handlers mutex_handlers, semaphore_handlers;

static mutex *mutex_of(zend_object *object)
{
	return (mutex *) ((char *) object - offsetof(mutex, std));
}

static semaphore *semaphore_of(zend_object *object)
{
	return (semaphore *) ((char *) object - offsetof(semaphore, std));
}

static zend_object *create_mutex(zend_class_entry *class)
{
	mutex *self = zend_object_alloc(sizeof(mutex), class);
	memset(self, 0, offsetof(mutex, std));
	zend_object_std_init(&self->std, class);
	object_properties_init(&self->std, class);
	self->std.handlers = &mutex_handlers;
	return &self->std;
}

static zend_object *create_semaphore(zend_class_entry *class)
{
	semaphore *self = zend_object_alloc(sizeof(semaphore), class);
	memset(self, 0, offsetof(semaphore, std));
	zend_object_std_init(&self->std, class);
	object_properties_init(&self->std, class);
	self->std.handlers = &semaphore_handlers;
	return &self->std;
}

/* An optional number of seconds to wait. */
typedef struct {
	double seconds;
	bool for_ever;
} patience;

#define PATIENCE_PARAMETER(patience)                                                                                  \
	patience patience = {0, true};                                                                                    \
	ZEND_PARSE_PARAMETERS_START(0, 1)                                                                                 \
		Z_PARAM_OPTIONAL                                                                                              \
		Z_PARAM_DOUBLE_OR_NULL(patience.seconds, patience.for_ever)                                                   \
	ZEND_PARSE_PARAMETERS_END()

static bool is_none(patience patience)
{
	return !patience.for_ever && patience.seconds <= 0;
}

/* Waits in a queue. *served: what was waited for is ours. false: an exception says why the wait was cut short; it may be ours
 * all the same. */
static bool wait_in(weft_queue *queue, zend_object *object, patience patience, bool *served)
{
	zval on;
	weft_waiter *waiter = weft_queue_waiter(1);
	*served = false;
	if (!waiter) {
		return false;
	}
	ZVAL_OBJ(&on, object);
	weft_queue_add(queue, waiter, 0, NULL);
	weft_queue_end end = weft_queue_park(waiter, &on, weft_wait_deadline(patience.seconds, patience.for_ever));
	*served = waiter->served != NULL;
	weft_queue_free(waiter);
	return end != WEFT_QUEUE_CUT_SHORT;
}

/* Calls $work for a method that holds something meanwhile. */
static void call_work(zend_fcall_info *call, zend_fcall_info_cache *cache, zval *return_value)
{
	call->retval = return_value;
	zend_call_function(call, cache);
}

/* What was held could not be given back, and an exception says why: there is no result. */
static void drop_result(zval *return_value)
{
	zval_ptr_dtor(return_value);
	ZVAL_NULL(return_value);
}

/* ---- Weft\Mutex ---- */

static uint64_t self_id(void)
{
	return weft_current ? weft_current->serial : 0;
}

/* To the coroutine that has waited longest. */
static void hand_over(mutex *self)
{
	const weft_place *place = weft_queue_serve(&self->waiters, NULL);
	self->locked = place != NULL;
	self->owner = place ? place->waiter->coroutine : 0;
}

/* false: the time has passed, or an exception says why not. */
static bool lock(mutex *self, patience patience)
{
	uint64_t id = self_id();
	if (EXPECTED(!self->locked)) {
		self->locked = true;
		self->owner = id;
		return true;
	}
	if (self->owner == id) {
		zend_throw_exception(spl_ce_LogicException, "Mutex::lock(): this coroutine holds it already and would wait for itself", 0);
		return false;
	}
	bool served;
	if (is_none(patience)) {
		return false;
	}
	if (wait_in(&self->waiters, &self->std, patience, &served)) {
		return served;
	}
	if (served) {
		hand_over(self);
	}
	return false;
}

static void unlock(mutex *self)
{
	uint64_t id = self_id();
	if (UNEXPECTED(!self->locked)) {
		zend_throw_exception_ex(spl_ce_LogicException, 0, "Mutex::unlock(): coroutine " ZEND_ULONG_FMT " does not hold it, nobody does",
			(zend_ulong) id);
	} else if (UNEXPECTED(self->owner != id)) {
		zend_throw_exception_ex(spl_ce_LogicException, 0, "Mutex::unlock(): coroutine " ZEND_ULONG_FMT " does not hold it, coroutine "
			ZEND_ULONG_FMT " does", (zend_ulong) id, (zend_ulong) self->owner);
	} else {
		hand_over(self);
	}
}

ZEND_METHOD(Weft_Mutex, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

ZEND_METHOD(Weft_Mutex, lock)
{
	PATIENCE_PARAMETER(patience);
	RETURN_BOOL(lock(mutex_of(Z_OBJ_P(ZEND_THIS)), patience));
}

ZEND_METHOD(Weft_Mutex, unlock)
{
	ZEND_PARSE_PARAMETERS_NONE();
	unlock(mutex_of(Z_OBJ_P(ZEND_THIS)));
}

ZEND_METHOD(Weft_Mutex, synchronized)
{
	patience patience = {0, true};
	zend_fcall_info call;
	zend_fcall_info_cache cache;
	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_FUNC(call, cache)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(patience.seconds, patience.for_ever)
	ZEND_PARSE_PARAMETERS_END();
	mutex *self = mutex_of(Z_OBJ_P(ZEND_THIS));
	if (!lock(self, patience)) {
		if (!EG(exception)) {
			zend_string *seconds = weft_wait_seconds(patience.seconds);
			zend_throw_exception_ex(weft_timeout_class, 0, "The mutex was not free within %s seconds; coroutine " ZEND_ULONG_FMT " holds it",
				ZSTR_VAL(seconds), (zend_ulong) self->owner);
			zend_string_release(seconds);
		}
		RETURN_THROWS();
	}
	call_work(&call, &cache, return_value);
	if (UNEXPECTED(!self->locked || self->owner != self_id()) && EG(exception) && zend_is_unwind_exit(EG(exception))) {
		return; /* exit() goes on, whatever the work has done to the mutex */
	}
	unlock(self);
	if (UNEXPECTED(EG(exception) != NULL)) {
		drop_result(return_value);
	}
}

ZEND_METHOD(Weft_Mutex, locked)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(mutex_of(Z_OBJ_P(ZEND_THIS))->locked);
}

/* ---- Weft\Semaphore ---- */

static void give_back(semaphore *self)
{
	if (EXPECTED(weft_queue_is_empty(&self->waiters)) || !weft_queue_serve(&self->waiters, NULL)) {
		self->free++;
	}
}

/* false: the time has passed, or an exception says why not. */
static bool acquire(semaphore *self, patience patience)
{
	bool served;
	if (EXPECTED(self->free > 0)) {
		self->free--;
		return true;
	}
	if (is_none(patience)) {
		return false;
	}
	if (wait_in(&self->waiters, &self->std, patience, &served)) {
		return served;
	}
	if (served) {
		give_back(self);
	}
	return false;
}

static void release(semaphore *self)
{
	if (UNEXPECTED(self->free == self->permits)) {
		zend_throw_exception(spl_ce_LogicException, "Semaphore::release() was called more often than acquire()", 0);
		return;
	}
	give_back(self);
}

ZEND_METHOD(Weft_Semaphore, __construct)
{
	zend_long permits;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(permits)
	ZEND_PARSE_PARAMETERS_END();
	semaphore *self = semaphore_of(Z_OBJ_P(ZEND_THIS));
	if (permits < 1) {
		zend_value_error("Weft\\Semaphore: there must be at least 1 permit, not " ZEND_LONG_FMT, permits);
		RETURN_THROWS();
	}
	if (!weft_set_once(&self->std, permits)) {
		RETURN_THROWS();
	}
	self->permits = self->free = permits;
}

ZEND_METHOD(Weft_Semaphore, acquire)
{
	PATIENCE_PARAMETER(patience);
	RETURN_BOOL(acquire(semaphore_of(Z_OBJ_P(ZEND_THIS)), patience));
}

ZEND_METHOD(Weft_Semaphore, release)
{
	ZEND_PARSE_PARAMETERS_NONE();
	release(semaphore_of(Z_OBJ_P(ZEND_THIS)));
}

ZEND_METHOD(Weft_Semaphore, with)
{
	patience patience = {0, true};
	zend_fcall_info call;
	zend_fcall_info_cache cache;
	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_FUNC(call, cache)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(patience.seconds, patience.for_ever)
	ZEND_PARSE_PARAMETERS_END();
	semaphore *self = semaphore_of(Z_OBJ_P(ZEND_THIS));
	if (!acquire(self, patience)) {
		if (!EG(exception)) {
			zend_string *seconds = weft_wait_seconds(patience.seconds);
			zend_throw_exception_ex(weft_timeout_class, 0, "None of " ZEND_LONG_FMT " permits became free within %s seconds", self->permits,
				ZSTR_VAL(seconds));
			zend_string_release(seconds);
		}
		RETURN_THROWS();
	}
	call_work(&call, &cache, return_value);
	if (UNEXPECTED(self->free == self->permits) && EG(exception) && zend_is_unwind_exit(EG(exception))) {
		return; /* exit() goes on, whatever the work has done to the semaphore */
	}
	release(self);
	if (UNEXPECTED(EG(exception) != NULL)) {
		drop_result(return_value);
	}
}

ZEND_METHOD(Weft_Semaphore, free)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG(semaphore_of(Z_OBJ_P(ZEND_THIS))->free);
}

static void set_handlers(zend_object_handlers *handlers, int offset)
{
	memcpy(handlers, &std_object_handlers, sizeof(*handlers));
	handlers->offset = offset;
	handlers->clone_obj = NULL;
}

void weft_lock_register(void)
{
	zend_class_entry *class = register_class_Weft_Mutex(NULL);
	class->create_object = create_mutex;
	set_handlers(&mutex_handlers, offsetof(mutex, std));
	class = register_class_Weft_Semaphore(NULL);
	class->create_object = create_semaphore;
	weft_declare_once(class, "permits");
	set_handlers(&semaphore_handlers, offsetof(semaphore, std));
}
