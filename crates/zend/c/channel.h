/* Weft\Channel: channel.c is its values and those who wait for them, channel_class.c the class, channel_select.c select(). */
#ifndef WEFT_CHANNEL_H
#define WEFT_CHANNEL_H

#include "queue.h"
#include "weft.h"

typedef struct {
	zval *values;      /* a ring */
	size_t size;       /* of the ring: 0 or a power of two */
	size_t first, held;
	zend_long capacity; /* it holds one more only while a value is given back */
	bool closed;
	weft_queue senders, receivers;
	zend_object std;
} weft_channel;

static inline weft_channel *weft_channel_of(zend_object *object)
{
	return (weft_channel *) ((char *) object - offsetof(weft_channel, std));
}

/* What became of an attempt. FAILED: an exception says why. */
typedef enum { WEFT_CHANNEL_DONE, WEFT_CHANNEL_LATE, WEFT_CHANNEL_CLOSED, WEFT_CHANNEL_FAILED } weft_channel_end;

/* Gives a copy of a value to a waiting receiver, or keeps it if there is room. */
bool weft_channel_offer(weft_channel *channel, zval *value);
/* Takes what is here without waiting; a sender that waits moves up. */
bool weft_channel_take(weft_channel *channel, zval *value);
/* A receiver was interrupted after a value had been given to it: the next one gets it. */
void weft_channel_give_back(weft_channel *channel, zval *value);
weft_channel_end weft_channel_receive(weft_channel *channel, zval *value, double seconds, bool for_ever);
weft_channel_end weft_channel_send(weft_channel *channel, zval *value, double seconds, bool for_ever);
void weft_channel_close(weft_channel *channel);
void weft_channel_free(weft_channel *channel);

/* Whether the object is a channel. */
bool weft_is_channel(const zval *value);
void weft_throw_closed(const char *message);
void weft_channel_register(void);

#endif
