/* src/topic.rs: the questions of the C side about topics. */
#ifndef WEFT_TOPIC_H
#define WEFT_TOPIC_H

#include "weft.h"

typedef struct {
	weft_slice topic;
	weft_slice message;
	weft_slice except;
	weft_slice key;
	bool is_binary;
} weft_publication;

/* said: the id of the message, or what is wrong. Parks while there is no room. */
uint32_t weft_host_topic_publish(const weft_publication *publication, weft_slice *said);
typedef struct {
	weft_slice connection;
	weft_slice topic;
	weft_slice after;
	uint32_t recent;
	bool is_labelled;
} weft_subscription;

/* Parks, if after is given, until what was delivered before it elsewhere is delivered here. */
uint32_t weft_host_topic_subscribe(const weft_subscription *subscription);
uint32_t weft_host_topic_attend(weft_slice connection, weft_slice topic, weft_slice name);

typedef struct {
	const weft_slice *topics;
	const weft_slice *names;
	size_t count;
	weft_slice after;
	uint32_t recent;
	bool is_labelled;
	uint32_t overflow;
	uint32_t heartbeat_ms;
	uint32_t retry_ms;
} weft_bound;

/* Binds the response of a request, whose head was sent, to topics: then the request has ended. */
uint32_t weft_host_topic_stream(uint64_t request, const weft_bound *bound);
weft_slice weft_host_topic_position(void);
bool weft_host_topic_unsubscribe(weft_slice connection, weft_slice topic);
/* rows: each behind its length in four bytes. Parks. */
uint32_t weft_host_topic_ask(uint32_t what, weft_slice subject, weft_slice *rows);
weft_slice weft_host_topic_list(weft_slice connection);

#endif
