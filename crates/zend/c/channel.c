/* What a Weft\Channel does: it passes values between coroutines, in order, each to one receiver.
 *
 * Must not know the class. Invariants: a value is held here, or belongs to one sender that waits or to one receiver; neither a
 * timeout nor a cancellation loses one; while there is room no sender waits, and while a value is here no receiver does. */
#include "channel.h"
#include "wait.h"

/* ---- the values that it holds ---- */

static zval *value_at(const weft_channel *channel, size_t index)
{
	return &channel->values[(channel->first + index) & (channel->size - 1)];
}

static void grow(weft_channel *channel)
{
	const size_t smallest = 8;
	size_t size = channel->size ? channel->size * 2 : smallest;
	zval *values = safe_emalloc(size, sizeof(zval), 0);
	for (size_t i = 0; i < channel->held; i++) {
		ZVAL_COPY_VALUE(&values[i], value_at(channel, i));
	}
	if (channel->values) {
		efree(channel->values);
	}
	channel->values = values;
	channel->size = size;
	channel->first = 0;
}

/* Puts a value at the end, which takes over the reference. */
static void append(weft_channel *channel, zval *value)
{
	if (UNEXPECTED(channel->held == channel->size)) {
		grow(channel);
	}
	ZVAL_COPY_VALUE(value_at(channel, channel->held), value);
	channel->held++;
}

static void append_copy(weft_channel *channel, zval *value)
{
	zval copy;
	ZVAL_COPY(&copy, value);
	append(channel, &copy);
}

static void take_first(weft_channel *channel, zval *value)
{
	ZVAL_COPY_VALUE(value, value_at(channel, 0));
	channel->first = (channel->first + 1) & (channel->size - 1);
	channel->held--;
}

static bool has_room(const weft_channel *channel)
{
	return (zend_long) channel->held < channel->capacity;
}

void weft_channel_free(weft_channel *channel)
{
	while (channel->held) {
		zval value;
		take_first(channel, &value); /* its destructor may use the channel */
		zval_ptr_dtor(&value);
	}
	if (channel->values) {
		efree(channel->values);
		channel->values = NULL;
		channel->size = 0;
	}
}

/* ---- without waiting ---- */

bool weft_channel_offer(weft_channel *channel, zval *value)
{
	if (!weft_queue_is_empty(&channel->receivers) && weft_queue_serve(&channel->receivers, value)) {
		return true;
	}
	if (!has_room(channel)) {
		return false;
	}
	append_copy(channel, value);
	return true;
}

bool weft_channel_take(weft_channel *channel, zval *value)
{
	const weft_place *sender = NULL;
	if (channel->held == 0) {
		sender = weft_queue_is_empty(&channel->senders) ? NULL : weft_queue_serve(&channel->senders, NULL);
		if (sender) {
			ZVAL_COPY(value, sender->offered);
		}
		return sender != NULL;
	}
	take_first(channel, value);
	if (!weft_queue_is_empty(&channel->senders) && has_room(channel)) {
		sender = weft_queue_serve(&channel->senders, NULL);
		if (sender) {
			append_copy(channel, sender->offered);
		}
	}
	return true;
}

void weft_channel_give_back(weft_channel *channel, zval *value)
{
	if (weft_queue_serve(&channel->receivers, value)) {
		zval_ptr_dtor(value);
		return;
	}
	if (channel->held == channel->size) {
		grow(channel);
	}
	channel->first = (channel->first + channel->size - 1) & (channel->size - 1);
	channel->held++;
	ZVAL_COPY_VALUE(value_at(channel, 0), value);
}

void weft_channel_close(weft_channel *channel)
{
	channel->closed = true;
	weft_queue_dismiss(&channel->senders);
	weft_queue_dismiss(&channel->receivers);
}

/* ---- waiting ---- */

static void name(weft_channel *channel, zval *on)
{
	ZVAL_OBJ(on, &channel->std);
}

static weft_channel_end wait_to_receive(weft_channel *channel, zval *value, uint64_t deadline)
{
	zval on;
	weft_waiter *waiter = weft_queue_waiter(1);
	if (!waiter) {
		return WEFT_CHANNEL_FAILED;
	}
	name(channel, &on);
	weft_queue_add(&channel->receivers, waiter, 0, NULL);
	weft_channel_end end = WEFT_CHANNEL_DONE;
	if (weft_queue_park(waiter, &on, deadline) == WEFT_QUEUE_CUT_SHORT) {
		end = WEFT_CHANNEL_FAILED;
		if (waiter->served) {
			weft_channel_give_back(channel, &waiter->value);
			ZVAL_UNDEF(&waiter->value);
		}
	} else if (waiter->served) {
		ZVAL_COPY_VALUE(value, &waiter->value);
		ZVAL_UNDEF(&waiter->value);
	} else {
		end = channel->closed ? WEFT_CHANNEL_CLOSED : WEFT_CHANNEL_LATE;
	}
	weft_queue_free(waiter);
	return end;
}

weft_channel_end weft_channel_receive(weft_channel *channel, zval *value, double seconds, bool for_ever)
{
	if (weft_channel_take(channel, value)) {
		return WEFT_CHANNEL_DONE;
	}
	if (channel->closed) {
		return WEFT_CHANNEL_CLOSED;
	}
	return for_ever || !(seconds <= 0) ? wait_to_receive(channel, value, weft_wait_deadline(seconds, for_ever)) : WEFT_CHANNEL_LATE;
}

static weft_channel_end wait_to_send(weft_channel *channel, zval *value, uint64_t deadline)
{
	zval on;
	weft_waiter *waiter = weft_queue_waiter(1);
	if (!waiter) {
		return WEFT_CHANNEL_FAILED;
	}
	name(channel, &on);
	weft_queue_add(&channel->senders, waiter, 0, value);
	weft_channel_end end;
	if (weft_queue_park(waiter, &on, deadline) == WEFT_QUEUE_CUT_SHORT) {
		end = WEFT_CHANNEL_FAILED;
	} else if (waiter->dismissed) {
		end = WEFT_CHANNEL_CLOSED;
	} else {
		end = waiter->served ? WEFT_CHANNEL_DONE : WEFT_CHANNEL_LATE;
	}
	weft_queue_free(waiter);
	return end;
}

weft_channel_end weft_channel_send(weft_channel *channel, zval *value, double seconds, bool for_ever)
{
	if (weft_channel_offer(channel, value)) {
		return WEFT_CHANNEL_DONE;
	}
	return for_ever || !(seconds <= 0) ? wait_to_send(channel, value, weft_wait_deadline(seconds, for_ever)) : WEFT_CHANNEL_LATE;
}
