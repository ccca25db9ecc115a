/* The functions behind Weft\Topic, and behind the topics of a Weft\WebSocket\Connection.
 *
 * Must not know what a topic is: names and bytes pass through here. Invariant: what is wrong is said by the host; only the
 * classes of the exceptions are chosen here. */
#include "topic.h"
#include "coroutine.h"
#include "weft_arginfo.h"

static weft_slice slice_or_none(const zend_string *text)
{
	return text ? weft_slice_of(text) : (weft_slice){NULL, 0};
}

ZEND_FUNCTION(Weft_Internal_topic_publish)
{
	zend_string *topic, *message, *except;
	bool is_binary;
	ZEND_PARSE_PARAMETERS_START(4, 4)
		Z_PARAM_STR(topic)
		Z_PARAM_STR(message)
		Z_PARAM_BOOL(is_binary)
		Z_PARAM_STR_OR_NULL(except)
	ZEND_PARSE_PARAMETERS_END();
	const weft_publication publication = {weft_slice_of(topic), weft_slice_of(message), slice_or_none(except), is_binary};
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

ZEND_FUNCTION(Weft_Internal_topic_subscribe)
{
	zend_string *connection, *topic, *after;
	bool is_labelled;
	ZEND_PARSE_PARAMETERS_START(4, 4)
		Z_PARAM_STR(connection)
		Z_PARAM_STR(topic)
		Z_PARAM_BOOL(is_labelled)
		Z_PARAM_STR_OR_NULL(after)
	ZEND_PARSE_PARAMETERS_END();
	switch (weft_host_topic_subscribe(weft_slice_of(connection), weft_slice_of(topic), is_labelled, slice_or_none(after))) {
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
