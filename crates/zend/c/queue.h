/* queue.c: coroutines that wait for the same thing, first come, first served.
 *
 * A waiter is one wait of one coroutine. It stands in several queues at once with a place in each (Channel::select()); the first
 * to serve it wins. */
#ifndef WEFT_QUEUE_H
#define WEFT_QUEUE_H

#include "weft.h"

typedef struct weft_place weft_place;
typedef struct weft_waiter weft_waiter;

typedef struct {
	weft_place *first, *last;
} weft_queue;

struct weft_place {
	weft_waiter *waiter;
	zval *offered;              /* what a sender sends: borrowed, valid while the sender waits; NULL: nothing */
	weft_queue *queue;          /* NULL: in none any more */
	weft_place *before, *behind;
};

struct weft_waiter {
	uint64_t wait;
	uint64_t coroutine;         /* its number, as Weft\Coroutine::id() tells it */
	weft_place *served;         /* the place through which it was served; NULL while it waits, and when nothing came */
	zval value;                 /* what it was served with, until somebody takes it */
	bool dismissed;             /* its queue was closed: nothing will come */
	uint32_t count;
	weft_place places[];
};

/* How a wait in queues has ended: served or dismissed; with its deadline; cut short, and an exception says why. One that was cut
 * short may have been served all the same. */
typedef enum { WEFT_QUEUE_ENDED, WEFT_QUEUE_LATE, WEFT_QUEUE_CUT_SHORT } weft_queue_end;

/* Opens a wait with so many places; weft_queue_park() must follow, with nothing in between that waits. NULL: an exception says
 * why nothing can wait here. */
weft_waiter *weft_queue_waiter(uint32_t places);
void weft_queue_add(weft_queue *queue, weft_waiter *waiter, uint32_t place, zval *offered);
/* Parks until it is served or dismissed, or the time has passed; then it is in no queue. `on`: what reports name. */
weft_queue_end weft_queue_park(weft_waiter *waiter, zval *on, uint64_t deadline);
void weft_queue_free(weft_waiter *waiter);
/* Serves the first that still waits with a copy of the value, if there is one. NULL: none waits, and nothing has happened. */
weft_place *weft_queue_serve(weft_queue *queue, zval *value);
/* Sends all away with nothing. */
void weft_queue_dismiss(weft_queue *queue);

static inline bool weft_queue_is_empty(const weft_queue *queue)
{
	return queue->first == NULL;
}

#endif
