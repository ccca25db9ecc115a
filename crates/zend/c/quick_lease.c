/* A connection of a SharedPdo comes to a coroutine that has to wait for one, and comes back, without PHP code.
 *
 * Must not do anything that php/src/Database/Leases.php, Loose.php and php/src/Pool/Slots.php do not: they say why each step is as it
 * is. Invariant: what is not usual (a connection that must be opened, checked or closed, a transaction) is left to them. */
#include "quick_lease.h"
#include "coroutine.h"
#include "quick_calls.h"
#include "quick_properties.h"
#include "waiters.h"
#include "ext/pdo/php_pdo_driver.h"

static layout loose_layout = {.names = LOOSE}, waiters_layout = {.names = WAITERS}, slots_layout = {.names = SLOTS},
	slot_layout = {.names = SLOT}, places_layout = {.names = PLACES}, limits_layout = {.names = LIMITS};

/* ---- a coroutine waits for a connection ---- */

/* Whether the next thing that Slots::take() would do is to wait: all are in use, and there is room in the line. */
static bool must_wait(const zend_object *slots, const zend_object *waiters, const zend_object *limits)
{
	const zend_object *places = object_in(AT(slots, I_PLACES), &places_layout);
	return places && weft_current && !IS_TRUE_AT(slots, I_CLOSED) && !is_array_with(AT(slots, I_IDLE))
		&& Z_LVAL_P(AT(places, E_OPEN)) >= Z_LVAL_P(AT(limits, M_MAX)) && Z_LVAL_P(AT(waiters, W_COUNT)) < Z_LVAL_P(AT(limits, M_WAITERS_MAX));
}

/* What was given to a coroutine that cannot use it, because of an exception. */
static void refund(zend_object *slots, zval *given)
{
	zval failure;
	if (Z_TYPE_P(given) != IS_NULL && take_exception(&failure)) {
		call(slots, "refund", NULL, 1, given);
		if (EG(exception)) {
			zval_ptr_dtor(&failure);
		} else {
			zend_throw_exception_object(&failure);
		}
	}
}

void weft_quick_lease(zend_object *leases, zend_object *session)
{
	zval arguments[2], leased;
	zend_object *slots = object_in(AT(leases, L_SLOTS), &slots_layout), *waiters = object_in(AT(leases, L_WAITERS), &waiters_layout);
	const zend_object *limits = slots ? object_in(AT(slots, I_LIMITS), &limits_layout) : NULL;
	ZVAL_UNDEF(&leased);
	if (UNEXPECTED(!limits || !waiters || !must_wait(slots, waiters, limits))) {
		ZVAL_OBJ(&arguments[0], session);
		call(leases, "lease", &leased, 1, arguments);
		zval_ptr_dtor(&leased);
		return;
	}
	ZVAL_COPY_VALUE(&arguments[1], AT(limits, M_WAIT_TIMEOUT));
	GC_ADDREF(slots);
	GC_ADDREF(session);
	if (UNEXPECTED(!weft_waiters_wait(waiters, zval_get_double(&arguments[1]), &arguments[0]))) {
		refund(slots, &arguments[0]);
	} else if (EXPECTED(object_in(&arguments[0], &slot_layout))) {
		ZVAL_COPY(&leased, &arguments[0]);
	} else {
		call(slots, "received", &leased, 2, arguments);
	}
	if (Z_TYPE(leased) == IS_OBJECT) {
		set(AT(session, N_SLOT), &leased);
	}
	zval_ptr_dtor(&arguments[0]);
	OBJ_RELEASE(session);
	OBJ_RELEASE(slots);
}

/* ---- a connection comes back ---- */

/* Whether Slots::give() would close neither this one nor the one that has been idle for longest. Not asked twice at the same time, by
 * the clock's ticks: as long as that either may stay. */
static bool none_is_to_close(const zend_object *slots, const HashTable *idle, const zend_object *slot, zend_long now)
{
	if (EXPECTED(now == Z_LVAL_P(AT(slot, T_USED)))) {
		return true;
	}
	const zval *first = element(idle, 0);
	const zend_object *oldest = first ? object_in(first, &slot_layout) : slot;
	return now - Z_LVAL_P(AT(slot, T_OPENED)) <= Z_LVAL_P(AT(slots, I_AGE_NS)) && oldest
		&& now - Z_LVAL_P(AT(oldest, T_USED)) <= Z_LVAL_P(AT(slots, I_IDLE_NS));
}

void weft_quick_give(zend_object *slots, zend_object *waiters, zend_object *slot)
{
	zval argument;
	zend_long now = weft_quick_now();
	HashTable *idle = array_at(AT(slots, I_IDLE));
	ZVAL_OBJ(&argument, slot);
	if (UNEXPECTED(!IS_TRUE_AT(slot, T_HELD) || IS_TRUE_AT(slots, I_CLOSED) || !none_is_to_close(slots, idle, slot, now))) {
		call(slots, "give", NULL, 1, &argument);
		zval_ptr_dtor(&argument);
		return;
	}
	ZVAL_LONG(AT(slot, T_USED), now);
	if (Z_LVAL_P(AT(waiters, W_COUNT)) > 0 && weft_waiters_hand(waiters, &argument)) {
		zval_ptr_dtor(&argument); /* it belongs to a waiter */
	} else {
		ZVAL_FALSE(AT(slot, T_HELD));
		push(idle, &argument);
	}
}

bool weft_quick_in_transaction(const zend_object *connection)
{
	pdo_dbh_t *dbh = php_pdo_dbh_fetch_inner(Z_OBJ_P(AT(connection, C_PDO)));
	return dbh->methods && (dbh->methods->in_transaction ? dbh->methods->in_transaction(dbh) : dbh->in_txn);
}

/* Loose::add() */
static void keep_loosely(zend_object *leases, zend_object *session)
{
	zval argument;
	zend_object *loose = object_in(AT(leases, L_LOOSE), &loose_layout);
	ZVAL_OBJ(&argument, session);
	if (EXPECTED(loose && is_array_with(AT(loose, O_SESSIONS)))) {
		ZVAL_TRUE(AT(session, N_LOOSE));
		GC_ADDREF(session);
		push(array_at(AT(loose, O_SESSIONS)), &argument);
	} else { /* it begins a task */
		call(Z_OBJ_P(AT(leases, L_LOOSE)), "add", NULL, 1, &argument);
	}
}

void weft_quick_settle(zend_object *leases, zend_object *session, zend_object *slot, zend_object *connection)
{
	zend_object *slots = object_in(AT(leases, L_SLOTS), &slots_layout);
	zend_object *waiters = object_in(AT(leases, L_WAITERS), &waiters_layout);
	if (UNEXPECTED(!slots || !waiters || weft_quick_in_transaction(connection))) {
		zval argument;
		ZVAL_OBJ(&argument, session);
		call(leases, "settle", NULL, 1, &argument);
		return;
	}
	ZVAL_FALSE(AT(session, N_TRANSACTION));
	if (Z_TYPE_P(AT(session, N_CURSOR)) != IS_NULL || is_array_with(AT(session, N_CURSORS)) || Z_LVAL_P(AT(session, N_HOLDS)) != 0
			|| IS_TRUE_AT(session, N_CHANGED)) {
		return;
	}
	if (Z_LVAL_P(AT(waiters, W_COUNT)) > 0 && ++Z_LVAL_P(AT(session, N_STREAK)) < STREAK_MAX) {
		keep_loosely(leases, session);
		return;
	}
	ZVAL_LONG(AT(session, N_STREAK), 0);
	ZVAL_NULL(AT(session, N_SLOT)); /* its reference is ours now */
	weft_quick_give(slots, waiters, slot);
}
