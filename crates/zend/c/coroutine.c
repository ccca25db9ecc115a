/* Which coroutines there are, and which one runs.
 *
 * Must not know: how they are switched (fiber_switch.c, native.c), or what modules keep of them (slots.h). */
#include "coroutine.h"
#include "php/version.h"

weft_coroutine *weft_current, *weft_coroutines, *weft_main;
bool weft_exchanging;
uint64_t weft_last_serial;

/* The collector frees what it has found when its destructors have run. Code of another coroutine that runs meanwhile could get
 * such an object out of a weak reference, and would keep it beyond its end. PHP lets a destructor suspend its Fiber since 8.4
 * because the collector goes on at once then; a coroutine that leaves takes the collector with it. The collector runs
 * destructors in a Fiber of its own, or in a {main} that has none. */
static bool collects(void)
{
	bool in_own_fiber = weft_current && weft_current->fiber && EG(active_fiber) == (zend_fiber *) weft_current->fiber;
	return !in_own_fiber && weft_collecting();
}

bool weft_coroutine_may_leave(void)
{
	return !weft_exchanging && !zend_fiber_switch_blocked() && !collects();
}

void weft_coroutine_list(weft_coroutine *coroutine)
{
	coroutine->next = weft_coroutines;
	coroutine->previous = &weft_coroutines;
	if (weft_coroutines) {
		weft_coroutines->previous = &coroutine->next;
	}
	weft_coroutines = coroutine;
}

void weft_coroutine_unlist(weft_coroutine *coroutine)
{
	*coroutine->previous = coroutine->next;
	if (coroutine->next) {
		coroutine->next->previous = coroutine->previous;
	}
}
