/* Coroutines that wait for the same thing: what mutexes, semaphores and channels are made of.
 *
 * Must not know what is waited for. Invariants: a value belongs to the queue's owner until the wait of the one that gets it has
 * been ended, and to that one from then on; a waiter that has been served or dismissed, or has gone, is given nothing.
 *
 * Waiters are not on their coroutines' stacks: a fatal error may remove those stacks' frames while the waiter is in a queue. What
 * remains of it then is passed over, because its wait has ended. */
#include "queue.h"
#include "coroutine.h"
#include "schedule.h"
#include "wait.h"

weft_waiter *weft_queue_waiter(uint32_t places)
{
	weft_waiter *waiter = safe_emalloc(places, sizeof(weft_place), sizeof(*waiter));
	memset(waiter, 0, sizeof(*waiter));
	ZVAL_UNDEF(&waiter->value);
	waiter->count = places;
	for (uint32_t i = 0; i < places; i++) {
		waiter->places[i] = (weft_place) {.waiter = waiter};
	}
	waiter->wait = weft_wait_begin();
	if (!waiter->wait) {
		efree(waiter);
		return NULL;
	}
	waiter->coroutine = weft_current->serial;
	return waiter;
}

void weft_queue_add(weft_queue *queue, weft_waiter *waiter, uint32_t number, zval *offered)
{
	weft_place *place = &waiter->places[number];
	place->queue = queue;
	place->offered = offered;
	place->before = queue->last;
	if (queue->last) {
		queue->last->behind = place;
	} else {
		queue->first = place;
	}
	queue->last = place;
}

static void take_out(weft_place *place)
{
	weft_queue *queue = place->queue;
	if (!queue) {
		return;
	}
	if (place->before) {
		place->before->behind = place->behind;
	} else {
		queue->first = place->behind;
	}
	if (place->behind) {
		place->behind->before = place->before;
	} else {
		queue->last = place->before;
	}
	place->queue = NULL;
	place->before = place->behind = NULL;
}

weft_queue_end weft_queue_park(weft_waiter *waiter, zval *on, uint64_t deadline)
{
	weft_wait_end end = weft_wait_named(waiter->wait, on, deadline);
	for (uint32_t i = 0; i < waiter->count; i++) {
		take_out(&waiter->places[i]);
	}
	if (end == WEFT_WOKEN && !EG(exception)) {
		return WEFT_QUEUE_ENDED;
	}
	return end == WEFT_TIMED_OUT && !EG(exception) ? WEFT_QUEUE_LATE : WEFT_QUEUE_CUT_SHORT;
}

void weft_queue_free(weft_waiter *waiter)
{
	zval_ptr_dtor(&waiter->value);
	efree(waiter);
}

weft_place *weft_queue_serve(weft_queue *queue, zval *value)
{
	weft_place *place;
	while ((place = queue->first)) {
		weft_waiter *waiter = place->waiter;
		take_out(place);
		if (waiter->served || waiter->dismissed || !weft_host_wake(waiter->wait)) {
			continue;
		}
		waiter->served = place;
		if (value) {
			ZVAL_COPY(&waiter->value, value);
		}
		return place;
	}
	return NULL;
}

void weft_queue_dismiss(weft_queue *queue)
{
	weft_place *place;
	while ((place = queue->first)) {
		weft_waiter *waiter = place->waiter;
		take_out(place);
		if (!waiter->served && !waiter->dismissed) {
			waiter->dismissed = weft_host_wake(waiter->wait);
		}
	}
}
