/* The functions that a worker script calls besides frankenphp_handle_request(): FrankenPHP's, by their documented
 * behaviour. */
#include "classic.h"
#include "classic_response.h"
#include "classic_state.h"
#include "coroutine.h"
#include "host.h"
#include "resident.h"
#include "ext/json/php_json.h"

/* Sends the headers so far with a status: 103 at once (RFC 8297), otherwise the head of the response. */
static ZEND_FUNCTION(headers_send)
{
	zend_long status = 200;
	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(status)
	ZEND_PARSE_PARAMETERS_END();
	weft_coroutine *coroutine = weft_current;
	if (!coroutine || !weft_classic_of(coroutine) || weft_classic_of(coroutine)->sent) {
		RETURN_LONG(SAPI_HEADER_SEND_FAILED);
	}
	if (status < 200) {
		RETURN_LONG(weft_classic_hint(coroutine) ? SAPI_HEADER_SENT_SUCCESSFULLY : SAPI_HEADER_SEND_FAILED);
	}
	SG(sapi_headers).http_response_code = (int) status;
	weft_classic_send_head();
	RETURN_LONG(SAPI_HEADER_SENT_SUCCESSFULLY);
}

static ZEND_FUNCTION(frankenphp_response_headers)
{
	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	zend_llist_position position;
	sapi_header_struct *line = zend_llist_get_first_ex(&SG(sapi_headers).headers, &position);
	for (; line; line = zend_llist_get_next_ex(&SG(sapi_headers).headers, &position)) {
		const char *colon = memchr(line->header, ':', line->header_len);
		if (colon) {
			const char *value = colon + 1 + strspn(colon + 1, " ");
			add_assoc_stringl_ex(return_value, line->header, (size_t) (colon - line->header), value,
				line->header_len - (size_t) (value - line->header));
		}
	}
}

/* Levels are those of FrankenPHP: -4 debug, 0 information, 4 warning, 8 error. */
static ZEND_FUNCTION(frankenphp_log)
{
	zend_string *message;
	zend_long level = 0;
	zval *context = NULL;
	ZEND_PARSE_PARAMETERS_START(1, 3)
		Z_PARAM_STR(message)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(level)
		Z_PARAM_ARRAY(context)
	ZEND_PARSE_PARAMETERS_END();
	smart_str line = {0};
	smart_str_append(&line, message);
	if (context && zend_hash_num_elements(Z_ARRVAL_P(context))) {
		smart_str_appendc(&line, ' ');
		php_json_encode(&line, context, PHP_JSON_UNESCAPED_SLASHES | PHP_JSON_PARTIAL_OUTPUT_ON_ERROR);
	}
	smart_str_0(&line);
	uint32_t gravity = level >= 8 ? WEFT_LOG_ERROR : level >= 4 ? WEFT_LOG_WARNING : WEFT_LOG_NOTICE;
	weft_host_log(gravity, weft_current ? weft_current->request : 0, weft_slice_of(line.s));
	smart_str_free(&line);
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_handle, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, callback, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_finish, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_headers, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_send, 0, 0, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, status, IS_LONG, 0, "200")
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_log, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, message, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, level, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, context, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
	ZEND_FE(frankenphp_handle_request, arginfo_handle)
	ZEND_FALIAS(frankenphp_finish_request, fastcgi_finish_request, arginfo_finish)
	ZEND_FALIAS(frankenphp_request_headers, getallheaders, arginfo_headers)
	ZEND_FE(frankenphp_response_headers, arginfo_headers)
	ZEND_FALIAS(apache_response_headers, frankenphp_response_headers, arginfo_headers)
	ZEND_FE(headers_send, arginfo_send)
	ZEND_FE(frankenphp_log, arginfo_log)
	ZEND_FE_END
};

void weft_resident_register(void)
{
	zend_register_functions(NULL, functions, CG(function_table), MODULE_PERSISTENT);
}
