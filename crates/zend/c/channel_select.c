/* Weft\Channel::select(): the first of several channels that can be used.
 *
 * Invariants: one case at most is carried out; a value that was given to a select that is interrupted goes back to its channel. */
#include "channel.h"
#include "schedule.h"
#include "wait.h"
#include "weft_arginfo.h"

/* A case of select(): to receive from a channel, or to send to it. It has references of its own: what a case refers to by a
 * PHP reference may be replaced while select() waits. */
typedef struct {
	weft_channel *channel;
	zval sent; /* UNDEF: it receives */
	zend_string *text; /* the key: a text, or else a number */
	zend_ulong number;
} select_case;

typedef struct {
	select_case *cases; /* those whose channels are not closed */
	uint32_t count;
} select_cases;

static bool sends(const select_case *one)
{
	return Z_TYPE(one->sent) != IS_UNDEF;
}

static void key_of(zval *key, const select_case *one)
{
	if (one->text) {
		ZVAL_STR_COPY(key, one->text);
	} else {
		ZVAL_LONG(key, (zend_long) one->number);
	}
}

/* Reads a case without taking references. false: it is none, and an exception says so. */
static bool read_case(zval *value, select_case *one)
{
	ZVAL_DEREF(value);
	ZVAL_UNDEF(&one->sent);
	if (weft_is_channel(value)) {
		one->channel = weft_channel_of(Z_OBJ_P(value));
		return true;
	}
	bool is_pair = Z_TYPE_P(value) == IS_ARRAY && zend_hash_num_elements(Z_ARRVAL_P(value)) == 2;
	zval *channel = is_pair ? zend_hash_index_find(Z_ARRVAL_P(value), 0) : NULL;
	zval *sent = is_pair ? zend_hash_index_find(Z_ARRVAL_P(value), 1) : NULL;
	if (channel && sent) {
		ZVAL_DEREF(channel);
		ZVAL_DEREF(sent);
		if (weft_is_channel(channel)) {
			one->channel = weft_channel_of(Z_OBJ_P(channel));
			ZVAL_COPY_VALUE(&one->sent, sent);
			return true;
		}
	}
	zval key;
	key_of(&key, one);
	zend_string *name = zval_get_string(&key);
	zend_type_error("Channel::select(): case \"%s\" must be a Channel to receive from, or [Channel, value to send]", ZSTR_VAL(name));
	zend_string_release(name);
	zval_ptr_dtor(&key);
	return false;
}

/* The result: the key of the case, and the value received. */
static void answer(zval *return_value, const select_case *one, zval *received)
{
	zval key;
	key_of(&key, one);
	array_init_size(return_value, 2);
	zend_hash_next_index_insert_new(Z_ARRVAL_P(return_value), &key);
	zend_hash_next_index_insert_new(Z_ARRVAL_P(return_value), received);
}

static void keep(select_cases *open, const select_case *one)
{
	select_case *kept = &open->cases[open->count++];
	*kept = *one;
	GC_ADDREF(&kept->channel->std);
	Z_TRY_ADDREF(kept->sent);
}

static void forget(select_cases *open)
{
	while (open->count) {
		const select_case *one = &open->cases[--open->count];
		zval sent = one->sent;
		OBJ_RELEASE(&one->channel->std);
		zval_ptr_dtor(&sent);
	}
}

/* Does what can be done at once. false: it is done, or an exception says why nothing can be. */
static bool nothing_at_once(HashTable *cases, select_cases *open, zval *return_value)
{
	select_case one;
	zval *value, received;
	ZEND_HASH_FOREACH_KEY_VAL(cases, one.number, one.text, value) {
		if (!read_case(value, &one)) {
			return false;
		}
		ZVAL_NULL(&received);
		if (sends(&one) ? !one.channel->closed && weft_channel_offer(one.channel, &one.sent) : weft_channel_take(one.channel, &received)) {
			answer(return_value, &one, &received);
			return false;
		}
		if (!one.channel->closed) {
			keep(open, &one);
		}
	} ZEND_HASH_FOREACH_END();
	if (open->count == 0) {
		weft_throw_closed("Nothing will come: all channels of Channel::select() are closed");
	}
	return open->count != 0;
}

/* Waits in the queues of all. true: no case was carried out, and there is no exception. */
static bool wait_for_any(select_cases *open, uint64_t deadline, zval *return_value)
{
	zval on, received;
	weft_waiter *waiter = weft_queue_waiter(open->count);
	if (!waiter) {
		return false;
	}
	for (uint32_t i = 0; i < open->count; i++) {
		select_case *one = &open->cases[i];
		weft_queue_add(sends(one) ? &one->channel->senders : &one->channel->receivers, waiter, i, &one->sent);
	}
	ZVAL_STR(&on, zend_string_init(ZEND_STRL("Channel::select()"), 0));
	weft_queue_end end = weft_queue_park(waiter, &on, deadline);
	zval_ptr_dtor(&on);
	const select_case *chosen = waiter->served ? &open->cases[waiter->served - waiter->places] : NULL;
	ZVAL_NULL(&received);
	if (chosen && !sends(chosen)) {
		ZVAL_COPY_VALUE(&received, &waiter->value);
		ZVAL_UNDEF(&waiter->value);
	}
	weft_queue_free(waiter);
	if (end == WEFT_QUEUE_CUT_SHORT) {
		if (chosen && !sends(chosen)) {
			weft_channel_give_back(chosen->channel, &received);
		}
		return false;
	}
	if (chosen) {
		answer(return_value, chosen, &received);
	}
	return !chosen;
}

ZEND_METHOD(Weft_Channel, select)
{
	HashTable *cases;
	double seconds = 0;
	bool for_ever = true;
	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_ARRAY_HT(cases)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, for_ever)
	ZEND_PARSE_PARAMETERS_END();
	uint64_t deadline = weft_wait_deadline(seconds, for_ever);
	uint32_t all = zend_hash_num_elements(cases);
	select_cases open = {.cases = safe_emalloc(all ? all : 1, sizeof(select_case), 0)};
	ZVAL_NULL(return_value);
	while (nothing_at_once(cases, &open, return_value) && (deadline == WEFT_NEVER || deadline > weft_host_now())
			&& wait_for_any(&open, deadline, return_value)) {
		forget(&open);
	}
	forget(&open);
	efree(open.cases);
}
