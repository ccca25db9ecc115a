/* Which coroutines there are, and which one runs.
 *
 * Must not know: how they are switched (fiber_switch.c, native.c), or what modules keep of them (slots.h). */
#include "coroutine.h"

weft_coroutine *weft_current, *weft_coroutines, *weft_main;
bool weft_exchanging;
uint64_t weft_last_serial;

bool weft_coroutine_may_leave(void)
{
	return !weft_exchanging && !zend_fiber_switch_blocked();
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
