/* The functions behind Weft\Topic, behind the topics of a Weft\WebSocket\Connection, and those of a response.
 *
 * Must not know what a topic is: names and bytes pass through here. Invariant: what is wrong is said by the host; only the
 * classes of the exceptions are chosen here. */
#include "topic.h"
#include "classic_response.h"
#include "coroutine.h"
#include "host.h"
#include "request.h"
#include "weft_arginfo.h"

#define TOPICS_MAX 64
/* More than any history keeps. */
#define RECENT_MAX 0x7fffffff

static weft_slice slice_or_none(const zend_string *text)
{
	return text ? weft_slice_of(text) : (weft_slice){NULL, 0};
}

ZEND_FUNCTION(Weft_Internal_topic_publish)
{
	zend_string *topic, *message, *except, *key;
	bool is_binary;
	ZEND_PARSE_PARAMETERS_START(5, 5)
		Z_PARAM_STR(topic)
		Z_PARAM_STR(message)
		Z_PARAM_BOOL(is_binary)
		Z_PARAM_STR(except)
		Z_PARAM_STR(key)
	ZEND_PARSE_PARAMETERS_END();
	const weft_publication publication = {weft_slice_of(topic), weft_slice_of(message), weft_slice_of(except),
		weft_slice_of(key), is_binary};
	weft_slice said = {NULL, 0};
	uint32_t published = weft_host_topic_publish(&publication, &said);
	if (EG(exception)) {
		RETURN_THROWS(); /* cancelled while it waited */
	}
	switch (published) {
		case WEFT_TOPIC_YES:
			RETURN_STRINGL(said.bytes, said.length);
		case WEFT_TOPIC_NAME:
		case WEFT_TOPIC_NO_TEXT:
		case WEFT_TOPIC_TOO_LONG:
			zend_value_error("%.*s", (int) said.length, said.bytes);
			RETURN_THROWS();
		case WEFT_TOPIC_NO_SERVER:
			RETURN_NULL();
		default:
			RETURN_FALSE;
	}
}

/* A number of recent messages; -1 after an exception. */
static int64_t recent_of(zend_long recent)
{
	if (recent < 0) {
		zend_value_error("The number of recent messages is 0 or more");
		return -1;
	}
	return recent < RECENT_MAX ? recent : RECENT_MAX;
}

ZEND_FUNCTION(Weft_Internal_topic_subscribe)
{
	zend_string *connection, *topic, *after;
	bool is_labelled;
	zend_long count;
	ZEND_PARSE_PARAMETERS_START(5, 5)
		Z_PARAM_STR(connection)
		Z_PARAM_STR(topic)
		Z_PARAM_BOOL(is_labelled)
		Z_PARAM_STR_OR_NULL(after)
		Z_PARAM_LONG(count)
	ZEND_PARSE_PARAMETERS_END();
	int64_t recent = recent_of(count);
	if (recent < 0) {
		RETURN_THROWS();
	}
	const weft_subscription subscription = {weft_slice_of(connection), weft_slice_of(topic), slice_or_none(after),
		(uint32_t) recent, is_labelled};
	uint32_t subscribed = weft_host_topic_subscribe(&subscription);
	if (EG(exception)) {
		RETURN_THROWS(); /* cancelled while it waited */
	}
	switch (subscribed) {
		case WEFT_TOPIC_SUBSCRIBED_YES:
			RETURN_TRUE;
		case WEFT_TOPIC_SUBSCRIBED_TOO_LATE:
			RETURN_NULL();
		case WEFT_TOPIC_SUBSCRIBED_NAME:
			zend_value_error("a topic's name is UTF-8, has 1 to 255 bytes, and no control characters");
			RETURN_THROWS();
		case WEFT_TOPIC_SUBSCRIBED_TOO_MANY:
			zend_value_error("A connection has at most 64 topics");
			RETURN_THROWS();
		default:
			RETURN_FALSE;
	}
}

/* Has the head of the running request's response sent, and keeps what the script may still ask for; 0: there is none. */
static uint64_t begin_response(void)
{
	uint64_t request = weft_current ? weft_current->request : 0;
	weft_classic *classic = request ? weft_classic_of(weft_current) : NULL;
	if (classic && classic->finished) {
		return 0;
	}
	if (classic) {
		php_output_end_all();
		weft_classic_send_head();
		weft_host_detach(request);
	} else if (request) {
		weft_request_keep(weft_current);
	}
	return request;
}

ZEND_FUNCTION(Weft_Internal_topic_stream)
{
	HashTable *bound_topics, *bound_names;
	zend_string *after;
	zend_long count_of_recent, manner, heartbeat_ms, retry_ms;
	ZEND_PARSE_PARAMETERS_START(7, 7)
		Z_PARAM_ARRAY_HT(bound_topics)
		Z_PARAM_ARRAY_HT(bound_names)
		Z_PARAM_STR_OR_NULL(after)
		Z_PARAM_LONG(count_of_recent)
		Z_PARAM_LONG(manner)
		Z_PARAM_LONG(heartbeat_ms)
		Z_PARAM_LONG(retry_ms)
	ZEND_PARSE_PARAMETERS_END();
	weft_slice topics[TOPICS_MAX], names[TOPICS_MAX];
	size_t count = 0;
	zval *topic;
	ZEND_HASH_FOREACH_VAL(bound_topics, topic) {
		if (Z_TYPE_P(topic) == IS_STRING && count < TOPICS_MAX) {
			const zval *name = zend_symtable_find(bound_names, Z_STR_P(topic)); /* PHP makes a key of digits an int */
			topics[count] = weft_slice_of(Z_STR_P(topic));
			names[count++] = slice_or_none(name && Z_TYPE_P(name) == IS_STRING ? Z_STR_P(name) : NULL);
		}
	} ZEND_HASH_FOREACH_END();
	int64_t recent = recent_of(count_of_recent);
	if (recent < 0) {
		RETURN_THROWS();
	}
	uint64_t request = begin_response();
	if (!request) {
		zend_throw_error(NULL, "No request is running whose response could be bound to topics");
		RETURN_THROWS();
	}
	const weft_bound bound = {topics, names, count, slice_or_none(after), (uint32_t) recent, (manner & 4) != 0,
		(uint32_t) manner & 3, (uint32_t) heartbeat_ms, (uint32_t) retry_ms};
	uint32_t begun = weft_host_topic_stream(request, &bound);
	switch (begun) {
		case WEFT_EVENTS_NAME:
			zend_value_error("a topic's name is UTF-8, has 1 to 255 bytes, and no control characters");
			RETURN_THROWS();
		case WEFT_EVENTS_TOO_MANY:
			zend_value_error("A connection has at most 64 topics");
			RETURN_THROWS();
		case WEFT_EVENTS_STARTED:
			zend_throw_error(NULL, "The response cannot become a stream of events: it has another length or form already");
			RETURN_THROWS();
	}
	if (weft_classic_of(weft_current)) {
		weft_classic_of(weft_current)->finished = true;
	}
	RETURN_BOOL(begun == WEFT_EVENTS_YES);
}

ZEND_FUNCTION(Weft_Internal_topic_position)
{
	ZEND_PARSE_PARAMETERS_NONE();
	weft_slice position = weft_host_topic_position();
	RETURN_STRINGL(position.bytes ? position.bytes : "", position.length);
}

ZEND_FUNCTION(Weft_Internal_topic_attend)
{
	zend_string *connection, *topic, *name;
	ZEND_PARSE_PARAMETERS_START(3, 3)
		Z_PARAM_STR(connection)
		Z_PARAM_STR(topic)
		Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	uint32_t attends = weft_host_topic_attend(weft_slice_of(connection), weft_slice_of(topic), weft_slice_of(name));
	if (attends == WEFT_TOPIC_SUBSCRIBED_NAME) {
		zend_value_error("The name of a topic with presence has at most 246 bytes, and that of who is there 255, of UTF-8 without control characters");
		RETURN_THROWS();
	}
	RETURN_BOOL(attends == WEFT_TOPIC_SUBSCRIBED_YES);
}

ZEND_FUNCTION(Weft_Internal_topic_unsubscribe)
{
	zend_string *connection, *topic;
	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_STR(connection)
		Z_PARAM_STR(topic)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(weft_host_topic_unsubscribe(weft_slice_of(connection), weft_slice_of(topic)));
}

ZEND_FUNCTION(Weft_Internal_topic_list)
{
	zend_string *connection;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(connection)
	ZEND_PARSE_PARAMETERS_END();
	weft_slice list = weft_host_topic_list(weft_slice_of(connection));
	RETURN_STRINGL(list.bytes ? list.bytes : "", list.length);
}

ZEND_FUNCTION(Weft_Internal_topic_ask)
{
	zend_long what;
	zend_string *subject;
	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_LONG(what)
		Z_PARAM_STR(subject)
	ZEND_PARSE_PARAMETERS_END();
	weft_slice rows = {NULL, 0};
	uint32_t answered = weft_host_topic_ask((uint32_t) what, weft_slice_of(subject), &rows);
	if (EG(exception)) {
		RETURN_THROWS(); /* cancelled while it waited */
	}
	if (answered == WEFT_TOPIC_ANSWERED_NO_SERVER) {
		RETURN_FALSE;
	}
	if (answered == WEFT_TOPIC_ANSWERED_LATE) {
		RETURN_NULL();
	}
	array_init(return_value);
	size_t at = 0;
	uint32_t length;
	while (rows.length - at >= sizeof(length)) {
		memcpy(&length, rows.bytes + at, sizeof(length)); /* both sides are of one process */
		at += sizeof(length);
		if (length > rows.length - at) {
			break;
		}
		add_next_index_stringl(return_value, rows.bytes + at, length);
		at += length;
	}
}
