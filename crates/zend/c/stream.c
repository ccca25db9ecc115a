/* The functions behind Weft\Tcp, where they differ from those behind Weft\WebSocket.
 *
 * Must not know what a service is: numbers and names pass through here. Invariant: what is declared has been checked by
 * Weft\Tcp\Framing. */
#include "websocket.h"
#include "weft_arginfo.h"

ZEND_FUNCTION(Weft_Internal_stream_declare)
{
	zend_string *path, *delimiter;
	zend_long service, manner, prefix_bytes;
	bool is_little_endian, counts_itself;
	ZEND_PARSE_PARAMETERS_START(7, 7)
		Z_PARAM_STR(path)
		Z_PARAM_LONG(service)
		Z_PARAM_LONG(manner)
		Z_PARAM_STR(delimiter)
		Z_PARAM_LONG(prefix_bytes)
		Z_PARAM_BOOL(is_little_endian)
		Z_PARAM_BOOL(counts_itself)
	ZEND_PARSE_PARAMETERS_END();
	const weft_framing framing = {weft_slice_of(delimiter), (uint32_t) prefix_bytes, is_little_endian, counts_itself};
	weft_host_stream_declare(weft_slice_of(path), (uint32_t) service, (uint32_t) manner, &framing);
}

ZEND_FUNCTION(Weft_Internal_connection_client)
{
	zend_string *name;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	weft_slice client = weft_host_connection_client(weft_slice_of(name));
	if (!client.bytes) {
		RETURN_NULL();
	}
	RETURN_STRINGL(client.bytes, client.length);
}

ZEND_FUNCTION(Weft_Internal_connection_service)
{
	zend_string *name;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	int64_t service = weft_host_connection_service(weft_slice_of(name));
	if (service < 0) {
		RETURN_NULL();
	}
	RETURN_LONG(service);
}

ZEND_FUNCTION(Weft_Internal_stream_give_back)
{
	zend_string *name, *bytes;
	zend_long wanted;
	ZEND_PARSE_PARAMETERS_START(3, 3)
		Z_PARAM_STR(name)
		Z_PARAM_STR(bytes)
		Z_PARAM_LONG(wanted)
	ZEND_PARSE_PARAMETERS_END();
	weft_host_stream_give_back(weft_slice_of(name), weft_slice_of(bytes), (uint64_t) wanted);
}

ZEND_FUNCTION(Weft_Internal_stream_send_file)
{
	zend_string *name, *path;
	zend_long offset, length = -1;
	bool is_rest;
	ZEND_PARSE_PARAMETERS_START(4, 4)
		Z_PARAM_STR(name)
		Z_PARAM_PATH_STR(path)
		Z_PARAM_LONG(offset)
		Z_PARAM_LONG_OR_NULL(length, is_rest)
	ZEND_PARSE_PARAMETERS_END();
	if (offset < 0 || (!is_rest && length < 0)) {
		zend_value_error("Offset and length of what is sent of a file are 0 or more");
		RETURN_THROWS();
	}
	switch (weft_host_stream_send_file(weft_slice_of(name), weft_slice_of(path), (uint64_t) offset, is_rest ? -1 : length)) {
		case WEFT_FILE_QUEUED:
			RETURN_TRUE;
		case WEFT_FILE_MISSING:
			zend_value_error("There is no regular file %s", ZSTR_VAL(path));
			RETURN_THROWS();
		case WEFT_FILE_UNREADABLE:
			zend_value_error("The file %s cannot be read", ZSTR_VAL(path));
			RETURN_THROWS();
		case WEFT_FILE_RANGE:
			zend_value_error("The file %s has fewer bytes than are to be sent", ZSTR_VAL(path));
			RETURN_THROWS();
		case WEFT_FILE_TOO_LONG:
			zend_value_error("The length of a message does not fit the bytes of its prefix");
			RETURN_THROWS();
		default:
			RETURN_FALSE;
	}
}
