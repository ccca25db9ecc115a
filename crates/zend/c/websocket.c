/* The functions behind Weft\WebSocket: a request becomes a connection, and a connection is used by its name.
 *
 * Must not know what a service is: numbers and names pass through here. Invariant: the name of a connection that has ended
 * is no error; the functions say that it has. */
#include "websocket.h"
#include "coroutine.h"
#include "host.h"
#include "request.h"
#include "weft_arginfo.h"

ZEND_FUNCTION(Weft_Internal_websocket_asked)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG(weft_current && weft_current->request ? weft_host_websocket_asked(weft_current->request) : WEFT_ASKED_NO);
}

/* Names and texts of an array that Weft\WebSocket\Accept has checked. */
static size_t collect(HashTable *array, weft_header *list)
{
	size_t count = 0;
	zend_string *name;
	zval *value;
	ZEND_HASH_FOREACH_STR_KEY_VAL(array, name, value) {
		if (name && Z_TYPE_P(value) == IS_STRING) {
			list[count++] = (weft_header){weft_slice_of(name), weft_slice_of(Z_STR_P(value))};
		}
	} ZEND_HASH_FOREACH_END();
	return count;
}

ZEND_FUNCTION(Weft_Internal_websocket_accept)
{
	zend_long service, manner;
	zend_string *protocol;
	HashTable *headers, *attributes;
	ZEND_PARSE_PARAMETERS_START(5, 5)
		Z_PARAM_LONG(service)
		Z_PARAM_LONG(manner)
		Z_PARAM_STR_OR_NULL(protocol)
		Z_PARAM_ARRAY_HT(headers)
		Z_PARAM_ARRAY_HT(attributes)
	ZEND_PARSE_PARAMETERS_END();
	/* Not on the stack: that of this coroutine will be a conversation's, and keeps what it has touched. */
	const size_t lines_max = zend_hash_num_elements(headers) + zend_hash_num_elements(attributes);
	weft_header *list = safe_emalloc(lines_max, sizeof(*list), 0);
	const size_t headers_count = collect(headers, list);
	const weft_lines lines[2] = {{list, headers_count}, {list + headers_count, collect(attributes, list + headers_count)}};
	weft_slice name = {NULL, 0}, none = {NULL, 0};
	uint64_t request = weft_current ? weft_current->request : 0;
	if (request) {
		weft_request_keep(weft_current); /* the answer ends the request's bytes, and the handler goes on */
	}
	const uint32_t accepted = weft_host_websocket_accept(request, (uint32_t) service, (uint32_t) manner,
		protocol ? weft_slice_of(protocol) : none, lines, &name);
	efree(list);
	switch (accepted) {
		case WEFT_ACCEPTED_OPEN:
			RETURN_STRINGL(name.bytes, name.length);
		case WEFT_ACCEPTED_PROTOCOL:
			zend_value_error("The client does not offer this subprotocol");
			RETURN_THROWS();
		case WEFT_ACCEPTED_ATTRIBUTES:
			zend_value_error("The attributes of a connection have at most 16 names and 1024 bytes");
			RETURN_THROWS();
		case WEFT_ACCEPTED_HEADER:
			zend_value_error("A header of the handshake must not be sent");
			RETURN_THROWS();
		default:
			RETURN_NULL();
	}
}

static void return_sent(zval *return_value, uint32_t sent)
{
	if (sent == WEFT_MESSAGE_NO_TEXT) {
		zend_value_error("A text message is UTF-8; other bytes are sent as a binary message");
		RETURN_THROWS();
	}
	if (sent == WEFT_MESSAGE_HAS_DELIMITER) {
		zend_value_error("A message contains the delimiter that ends it");
		RETURN_THROWS();
	}
	if (sent == WEFT_MESSAGE_TOO_LONG) {
		zend_value_error("The length of a message does not fit the bytes of its prefix");
		RETURN_THROWS();
	}
	if (sent == WEFT_MESSAGE_KEY) {
		zend_value_error("The key of a message has at most 255 bytes");
		RETURN_THROWS();
	}
	RETURN_BOOL(sent == WEFT_MESSAGE_QUEUED);
}

ZEND_FUNCTION(Weft_Internal_websocket_send)
{
	zend_string *name, *message, *key;
	bool is_binary;
	ZEND_PARSE_PARAMETERS_START(4, 4)
		Z_PARAM_STR(name)
		Z_PARAM_STR(message)
		Z_PARAM_BOOL(is_binary)
		Z_PARAM_STR(key)
	ZEND_PARSE_PARAMETERS_END();
	return_sent(return_value,
		weft_host_websocket_send(weft_slice_of(name), is_binary, weft_slice_of(message), weft_slice_of(key)));
}

ZEND_FUNCTION(Weft_Internal_websocket_close)
{
	zend_string *name, *reason;
	zend_long code;
	ZEND_PARSE_PARAMETERS_START(3, 3)
		Z_PARAM_STR(name)
		Z_PARAM_LONG(code)
		Z_PARAM_STR(reason)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(weft_host_websocket_close(weft_slice_of(name), (uint32_t) code, weft_slice_of(reason)));
}

ZEND_FUNCTION(Weft_Internal_websocket_waiting)
{
	zend_string *name;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	int64_t bytes = weft_host_websocket_waiting(weft_slice_of(name));
	if (bytes < 0) {
		RETURN_NULL();
	}
	RETURN_LONG(bytes);
}

/* The kind of an event, its data and its code; false: nothing yet; null: nothing any more. */
ZEND_FUNCTION(Weft_Internal_websocket_next)
{
	zend_string *name;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	weft_event event;
	switch (weft_host_websocket_next(weft_slice_of(name), &event)) {
		case WEFT_TAKEN_EVENT:
			array_init_size(return_value, 3);
			add_next_index_long(return_value, event.kind);
			add_next_index_stringl(return_value, event.data.bytes ? event.data.bytes : "", event.data.length);
			add_next_index_long(return_value, event.code);
			return;
		case WEFT_TAKEN_NOTHING:
			RETURN_FALSE;
		default:
			RETURN_NULL();
	}
}

ZEND_FUNCTION(Weft_Internal_websocket_await)
{
	zend_string *name;
	zend_long wait;
	bool drained;
	ZEND_PARSE_PARAMETERS_START(3, 3)
		Z_PARAM_STR(name)
		Z_PARAM_LONG(wait)
		Z_PARAM_BOOL(drained)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(weft_host_websocket_await(weft_slice_of(name), (uint64_t) wait, drained));
}

ZEND_FUNCTION(Weft_Internal_websocket_disown)
{
	zend_string *name;
	zend_long code;
	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_STR(name)
		Z_PARAM_LONG(code)
	ZEND_PARSE_PARAMETERS_END();
	weft_host_websocket_disown(weft_slice_of(name), (uint32_t) code);
}

ZEND_FUNCTION(Weft_Internal_websocket_attribute)
{
	zend_string *name, *attribute;
	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_STR(name)
		Z_PARAM_STR(attribute)
	ZEND_PARSE_PARAMETERS_END();
	weft_slice value = weft_host_websocket_attribute(weft_slice_of(name), weft_slice_of(attribute));
	if (!value.bytes) {
		RETURN_NULL();
	}
	RETURN_STRINGL(value.bytes, value.length);
}

ZEND_FUNCTION(Weft_Internal_websocket_remember)
{
	zend_string *name, *attribute, *value;
	ZEND_PARSE_PARAMETERS_START(3, 3)
		Z_PARAM_STR(name)
		Z_PARAM_STR(attribute)
		Z_PARAM_STR_OR_NULL(value)
	ZEND_PARSE_PARAMETERS_END();
	weft_slice none = {NULL, 0};
	uint32_t remembered = weft_host_websocket_remember(weft_slice_of(name), weft_slice_of(attribute), value ? weft_slice_of(value) : none);
	if (remembered == WEFT_REMEMBERED_FULL) {
		zend_value_error("The attributes of a connection have at most 16 names and 1024 bytes");
		RETURN_THROWS();
	}
	RETURN_BOOL(remembered == WEFT_REMEMBERED_YES);
}
