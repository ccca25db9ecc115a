/* Generated from php/stubs/weft.php by php/stubs/generate.php: do not edit. */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Weft_Http_Request___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, __construct);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_method, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, method);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_target, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, target);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_path, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, path);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_queryString, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, queryString);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_query, 0, 0, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_MASK(0, default, MAY_BE_ANY, "null")
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, query);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_version, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, version);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_scheme, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, scheme);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_host, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, host);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_header, 0, 1, MAY_BE_STRING|MAY_BE_NULL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, default, MAY_BE_STRING|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, header);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_headers, 0, 0, MAY_BE_ARRAY)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, headers);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_trailers, 0, 0, MAY_BE_ARRAY)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, trailers);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_cookie, 0, 0, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_MASK(0, default, MAY_BE_ANY, "null")
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, cookie);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_body, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, body);

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Weft_Http_Request_stream, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, stream);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_json, 0, 0, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, depth, MAY_BE_LONG, "512")
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, json);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_form, 0, 0, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_MASK(0, default, MAY_BE_ANY, "null")
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, form);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_files, 0, 0, MAY_BE_ARRAY)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, files);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_client, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, client);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_peer, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, peer);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_id, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, id);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_time, 0, 0, MAY_BE_DOUBLE)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, time);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_aborted, 0, 0, MAY_BE_BOOL)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, aborted);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Request_sendEarlyHints, 0, 1, MAY_BE_VOID)
	ZEND_ARG_TYPE_MASK(0, headers, MAY_BE_ARRAY, NULL)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Request, sendEarlyHints);

static const zend_function_entry class_Weft_Http_Request_methods[] = {
	ZEND_ME(Weft_Http_Request, __construct, arginfo_class_Weft_Http_Request___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Weft_Http_Request, method, arginfo_class_Weft_Http_Request_method, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, target, arginfo_class_Weft_Http_Request_target, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, path, arginfo_class_Weft_Http_Request_path, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, queryString, arginfo_class_Weft_Http_Request_queryString, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, query, arginfo_class_Weft_Http_Request_query, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, version, arginfo_class_Weft_Http_Request_version, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, scheme, arginfo_class_Weft_Http_Request_scheme, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, host, arginfo_class_Weft_Http_Request_host, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, header, arginfo_class_Weft_Http_Request_header, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, headers, arginfo_class_Weft_Http_Request_headers, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, trailers, arginfo_class_Weft_Http_Request_trailers, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, cookie, arginfo_class_Weft_Http_Request_cookie, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, body, arginfo_class_Weft_Http_Request_body, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, stream, arginfo_class_Weft_Http_Request_stream, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, json, arginfo_class_Weft_Http_Request_json, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, form, arginfo_class_Weft_Http_Request_form, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, files, arginfo_class_Weft_Http_Request_files, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, client, arginfo_class_Weft_Http_Request_client, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, peer, arginfo_class_Weft_Http_Request_peer, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, id, arginfo_class_Weft_Http_Request_id, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, time, arginfo_class_Weft_Http_Request_time, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, aborted, arginfo_class_Weft_Http_Request_aborted, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Http_Request, sendEarlyHints, arginfo_class_Weft_Http_Request_sendEarlyHints, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_Http_Request(void)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft\\Http", "Request", class_Weft_Http_Request_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, NULL);
	registered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	return registered;
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Weft_Http_Writer___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Writer, __construct);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Http_Writer_write, 0, 1, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, chunk, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()

ZEND_METHOD(Weft_Http_Writer, write);

static const zend_function_entry class_Weft_Http_Writer_methods[] = {
	ZEND_ME(Weft_Http_Writer, __construct, arginfo_class_Weft_Http_Writer___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Weft_Http_Writer, write, arginfo_class_Weft_Http_Writer_write, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_Http_Writer(void)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft\\Http", "Writer", class_Weft_Http_Writer_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, NULL);
	registered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	return registered;
}
