/* Generated from php/stubs/weft.php and locks.php by php/stubs/generate.php: do not edit. */

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_TYPE_MASK_EX(arginfo_Weft_go, 0, 1, Weft\\Task, 0)
	ZEND_ARG_TYPE_MASK(0, work, MAY_BE_CALLABLE, NULL)
	ZEND_ARG_VARIADIC_TYPE_INFO(0, arguments, IS_MIXED, 0)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_go);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_defer, 0, 1, MAY_BE_VOID)
	ZEND_ARG_TYPE_MASK(0, work, MAY_BE_CALLABLE, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_defer);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_timeout, 0, 2, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, seconds, MAY_BE_DOUBLE, NULL)
	ZEND_ARG_TYPE_MASK(0, work, MAY_BE_CALLABLE, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_timeout);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_parallel, 0, 1, MAY_BE_ARRAY)
	ZEND_ARG_OBJ_TYPE_MASK(0, works, Traversable, MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_MASK(0, concurrency, MAY_BE_LONG|MAY_BE_NULL, "null")
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_parallel);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_race, 0, 1, MAY_BE_ANY)
	ZEND_ARG_OBJ_TYPE_MASK(0, works, Traversable, MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_race);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_traceparent, 0, 0, MAY_BE_STRING|MAY_BE_NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_traceparent);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_end_with_parent, 0, 1, MAY_BE_VOID)
	ZEND_ARG_TYPE_MASK(0, parent, MAY_BE_LONG, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_end_with_parent);

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_TYPE_MASK_EX(arginfo_Weft_Internal_running_request, 0, 0, Weft\\Http\\Request, 0)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_running_request);

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_TYPE_MASK_EX(arginfo_Weft_Internal_response_writer, 0, 0, Weft\\Http\\Writer, 0)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_response_writer);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_response_file, 0, 1, MAY_BE_VOID)
	ZEND_ARG_TYPE_MASK(0, path, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_response_file);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_websocket_asked, 0, 0, MAY_BE_LONG)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_websocket_asked);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_websocket_accept, 0, 5, MAY_BE_STRING|MAY_BE_NULL)
	ZEND_ARG_TYPE_MASK(0, service, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, manner, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, protocol, MAY_BE_STRING|MAY_BE_NULL, NULL)
	ZEND_ARG_TYPE_MASK(0, headers, MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_MASK(0, attributes, MAY_BE_ARRAY, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_websocket_accept);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_websocket_send, 0, 4, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, message, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, binary, MAY_BE_BOOL, NULL)
	ZEND_ARG_TYPE_MASK(0, key, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_websocket_send);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_websocket_close, 0, 3, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, code, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, reason, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_websocket_close);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_websocket_waiting, 0, 1, MAY_BE_LONG|MAY_BE_NULL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_websocket_waiting);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_websocket_next, 0, 1, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_websocket_next);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_websocket_await, 0, 3, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, wait, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, drained, MAY_BE_BOOL, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_websocket_await);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_websocket_disown, 0, 2, MAY_BE_VOID)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, code, MAY_BE_LONG, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_websocket_disown);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_stream_declare, 0, 7, MAY_BE_VOID)
	ZEND_ARG_TYPE_MASK(0, path, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, service, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, manner, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, delimiter, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, prefixBytes, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, littleEndian, MAY_BE_BOOL, NULL)
	ZEND_ARG_TYPE_MASK(0, inclusive, MAY_BE_BOOL, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_stream_declare);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_service_receives, 0, 4, MAY_BE_VOID)
	ZEND_ARG_TYPE_MASK(0, service, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, receiver, MAY_BE_OBJECT, NULL)
	ZEND_ARG_TYPE_MASK(0, connection, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, told, MAY_BE_BOOL, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_service_receives);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_stream_give_back, 0, 3, MAY_BE_VOID)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, bytes, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, wanted, MAY_BE_LONG, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_stream_give_back);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_stream_send_file, 0, 4, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, path, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, offset, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, length, MAY_BE_LONG|MAY_BE_NULL, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_stream_send_file);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_connection_client, 0, 1, MAY_BE_STRING|MAY_BE_NULL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_connection_client);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_connection_service, 0, 1, MAY_BE_LONG|MAY_BE_NULL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_connection_service);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_websocket_attribute, 0, 2, MAY_BE_STRING|MAY_BE_NULL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, attribute, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_websocket_attribute);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_websocket_remember, 0, 3, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, attribute, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, value, MAY_BE_STRING|MAY_BE_NULL, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_websocket_remember);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_topic_publish, 0, 5, MAY_BE_STRING|MAY_BE_BOOL|MAY_BE_NULL)
	ZEND_ARG_TYPE_MASK(0, topic, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, message, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, binary, MAY_BE_BOOL, NULL)
	ZEND_ARG_TYPE_MASK(0, except, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, key, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_topic_publish);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_topic_subscribe, 0, 5, MAY_BE_BOOL|MAY_BE_NULL)
	ZEND_ARG_TYPE_MASK(0, connection, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, topic, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, labelled, MAY_BE_BOOL, NULL)
	ZEND_ARG_TYPE_MASK(0, after, MAY_BE_STRING|MAY_BE_NULL, NULL)
	ZEND_ARG_TYPE_MASK(0, recent, MAY_BE_LONG, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_topic_subscribe);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_topic_attend, 0, 3, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, connection, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, topic, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, name, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_topic_attend);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_topic_stream, 0, 7, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, topics, MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_MASK(0, names, MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_MASK(0, after, MAY_BE_STRING|MAY_BE_NULL, NULL)
	ZEND_ARG_TYPE_MASK(0, recent, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, manner, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, heartbeatMs, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, retryMs, MAY_BE_LONG, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_topic_stream);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_topic_position, 0, 0, MAY_BE_STRING)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_topic_position);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_topic_unsubscribe, 0, 2, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, connection, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, topic, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_topic_unsubscribe);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_topic_ask, 0, 2, MAY_BE_ARRAY|MAY_BE_BOOL|MAY_BE_NULL)
	ZEND_ARG_TYPE_MASK(0, what, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, subject, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_topic_ask);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_Weft_Internal_topic_list, 0, 1, MAY_BE_STRING)
	ZEND_ARG_TYPE_MASK(0, connection, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_FUNCTION(Weft_Internal_topic_list);

static const zend_function_entry weft_functions[] = {
	ZEND_NS_FALIAS("Weft", go, Weft_go, arginfo_Weft_go)
	ZEND_NS_FALIAS("Weft", defer, Weft_defer, arginfo_Weft_defer)
	ZEND_NS_FALIAS("Weft", timeout, Weft_timeout, arginfo_Weft_timeout)
	ZEND_NS_FALIAS("Weft", parallel, Weft_parallel, arginfo_Weft_parallel)
	ZEND_NS_FALIAS("Weft", race, Weft_race, arginfo_Weft_race)
	ZEND_NS_FALIAS("Weft", traceparent, Weft_traceparent, arginfo_Weft_traceparent)
	ZEND_NS_FALIAS("Weft\\Internal", end_with_parent, Weft_Internal_end_with_parent, arginfo_Weft_Internal_end_with_parent)
	ZEND_NS_FALIAS("Weft\\Internal", running_request, Weft_Internal_running_request, arginfo_Weft_Internal_running_request)
	ZEND_NS_FALIAS("Weft\\Internal", response_writer, Weft_Internal_response_writer, arginfo_Weft_Internal_response_writer)
	ZEND_NS_FALIAS("Weft\\Internal", response_file, Weft_Internal_response_file, arginfo_Weft_Internal_response_file)
	ZEND_NS_FALIAS("Weft\\Internal", websocket_asked, Weft_Internal_websocket_asked, arginfo_Weft_Internal_websocket_asked)
	ZEND_NS_FALIAS("Weft\\Internal", websocket_accept, Weft_Internal_websocket_accept, arginfo_Weft_Internal_websocket_accept)
	ZEND_NS_FALIAS("Weft\\Internal", websocket_send, Weft_Internal_websocket_send, arginfo_Weft_Internal_websocket_send)
	ZEND_NS_FALIAS("Weft\\Internal", websocket_close, Weft_Internal_websocket_close, arginfo_Weft_Internal_websocket_close)
	ZEND_NS_FALIAS("Weft\\Internal", websocket_waiting, Weft_Internal_websocket_waiting, arginfo_Weft_Internal_websocket_waiting)
	ZEND_NS_FALIAS("Weft\\Internal", websocket_next, Weft_Internal_websocket_next, arginfo_Weft_Internal_websocket_next)
	ZEND_NS_FALIAS("Weft\\Internal", websocket_await, Weft_Internal_websocket_await, arginfo_Weft_Internal_websocket_await)
	ZEND_NS_FALIAS("Weft\\Internal", websocket_disown, Weft_Internal_websocket_disown, arginfo_Weft_Internal_websocket_disown)
	ZEND_NS_FALIAS("Weft\\Internal", stream_declare, Weft_Internal_stream_declare, arginfo_Weft_Internal_stream_declare)
	ZEND_NS_FALIAS("Weft\\Internal", service_receives, Weft_Internal_service_receives, arginfo_Weft_Internal_service_receives)
	ZEND_NS_FALIAS("Weft\\Internal", stream_give_back, Weft_Internal_stream_give_back, arginfo_Weft_Internal_stream_give_back)
	ZEND_NS_FALIAS("Weft\\Internal", stream_send_file, Weft_Internal_stream_send_file, arginfo_Weft_Internal_stream_send_file)
	ZEND_NS_FALIAS("Weft\\Internal", connection_client, Weft_Internal_connection_client, arginfo_Weft_Internal_connection_client)
	ZEND_NS_FALIAS("Weft\\Internal", connection_service, Weft_Internal_connection_service, arginfo_Weft_Internal_connection_service)
	ZEND_NS_FALIAS("Weft\\Internal", websocket_attribute, Weft_Internal_websocket_attribute, arginfo_Weft_Internal_websocket_attribute)
	ZEND_NS_FALIAS("Weft\\Internal", websocket_remember, Weft_Internal_websocket_remember, arginfo_Weft_Internal_websocket_remember)
	ZEND_NS_FALIAS("Weft\\Internal", topic_publish, Weft_Internal_topic_publish, arginfo_Weft_Internal_topic_publish)
	ZEND_NS_FALIAS("Weft\\Internal", topic_subscribe, Weft_Internal_topic_subscribe, arginfo_Weft_Internal_topic_subscribe)
	ZEND_NS_FALIAS("Weft\\Internal", topic_attend, Weft_Internal_topic_attend, arginfo_Weft_Internal_topic_attend)
	ZEND_NS_FALIAS("Weft\\Internal", topic_stream, Weft_Internal_topic_stream, arginfo_Weft_Internal_topic_stream)
	ZEND_NS_FALIAS("Weft\\Internal", topic_position, Weft_Internal_topic_position, arginfo_Weft_Internal_topic_position)
	ZEND_NS_FALIAS("Weft\\Internal", topic_unsubscribe, Weft_Internal_topic_unsubscribe, arginfo_Weft_Internal_topic_unsubscribe)
	ZEND_NS_FALIAS("Weft\\Internal", topic_ask, Weft_Internal_topic_ask, arginfo_Weft_Internal_topic_ask)
	ZEND_NS_FALIAS("Weft\\Internal", topic_list, Weft_Internal_topic_list, arginfo_Weft_Internal_topic_list)
	ZEND_FE_END
};

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Weft_Task___construct, 0, 0, 0)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Task, __construct);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Task_id, 0, 0, MAY_BE_LONG)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Task, id);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Task_await, 0, 0, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Task, await);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Task_cancel, 0, 0, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, reason, MAY_BE_STRING, "''")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Task, cancel);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Task_ended, 0, 0, MAY_BE_BOOL)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Task, ended);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Task_failed, 0, 0, MAY_BE_BOOL)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Task, failed);

static const zend_function_entry class_Weft_Task_methods[] = {
	ZEND_ME(Weft_Task, __construct, arginfo_class_Weft_Task___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Weft_Task, id, arginfo_class_Weft_Task_id, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Task, await, arginfo_class_Weft_Task_await, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Task, cancel, arginfo_class_Weft_Task_cancel, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Task, ended, arginfo_class_Weft_Task_ended, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Task, failed, arginfo_class_Weft_Task_failed, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_Task(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "Task", class_Weft_Task_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	return registered;
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Weft_Coroutine___construct, 0, 0, 0)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Coroutine, __construct);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Coroutine_id, 0, 0, MAY_BE_LONG)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Coroutine, id);

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_TYPE_MASK_EX(arginfo_class_Weft_Coroutine_current, 0, 0, Weft\\Task, MAY_BE_NULL)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Coroutine, current);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Coroutine_prepare, 0, 1, MAY_BE_LONG)
	ZEND_ARG_TYPE_MASK(0, on, MAY_BE_OBJECT|MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, external, MAY_BE_BOOL, "false")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Coroutine, prepare);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Coroutine_park, 0, 1, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, wait, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Coroutine, park);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Coroutine_parkOn, 0, 3, MAY_BE_ARRAY)
	ZEND_ARG_TYPE_MASK(0, wait, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, read, MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_MASK(0, write, MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Coroutine, parkOn);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Coroutine_wake, 0, 1, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, wait, MAY_BE_LONG, NULL)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Coroutine, wake);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Coroutine_interrupt, 0, 1, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, id, MAY_BE_LONG, NULL)
	ZEND_ARG_TYPE_MASK(0, reason, MAY_BE_STRING, "''")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Coroutine, interrupt);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Coroutine_yield, 0, 0, MAY_BE_VOID)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Coroutine, yield);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Coroutine_list, 0, 0, MAY_BE_ARRAY)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Coroutine, list);

static const zend_function_entry class_Weft_Coroutine_methods[] = {
	ZEND_ME(Weft_Coroutine, __construct, arginfo_class_Weft_Coroutine___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Weft_Coroutine, id, arginfo_class_Weft_Coroutine_id, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Coroutine, current, arginfo_class_Weft_Coroutine_current, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Coroutine, prepare, arginfo_class_Weft_Coroutine_prepare, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Coroutine, park, arginfo_class_Weft_Coroutine_park, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Coroutine, parkOn, arginfo_class_Weft_Coroutine_parkOn, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Coroutine, wake, arginfo_class_Weft_Coroutine_wake, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Coroutine, interrupt, arginfo_class_Weft_Coroutine_interrupt, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Coroutine, yield, arginfo_class_Weft_Coroutine_yield, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Coroutine, list, arginfo_class_Weft_Coroutine_list, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_Coroutine(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "Coroutine", class_Weft_Coroutine_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	return registered;
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Weft_Context___construct, 0, 0, 0)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Context, __construct);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Context_get, 0, 1, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, key, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, default, MAY_BE_ANY, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Context, get);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Context_set, 0, 2, MAY_BE_VOID)
	ZEND_ARG_TYPE_MASK(0, key, MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_MASK(0, value, MAY_BE_ANY, NULL)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Context, set);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Context_has, 0, 1, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, key, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Context, has);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Context_delete, 0, 1, MAY_BE_VOID)
	ZEND_ARG_TYPE_MASK(0, key, MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Context, delete);

static const zend_function_entry class_Weft_Context_methods[] = {
	ZEND_ME(Weft_Context, __construct, arginfo_class_Weft_Context___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Weft_Context, get, arginfo_class_Weft_Context_get, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Context, set, arginfo_class_Weft_Context_set, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Context, has, arginfo_class_Weft_Context_has, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Context, delete, arginfo_class_Weft_Context_delete, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_Context(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "Context", class_Weft_Context_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	return registered;
}

static const zend_function_entry class_Weft_CancelledError_methods[] = {
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_CancelledError(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "CancelledError", class_Weft_CancelledError_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= 0;
	return registered;
}

static const zend_function_entry class_Weft_TimeoutException_methods[] = {
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_TimeoutException(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "TimeoutException", class_Weft_TimeoutException_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= 0;
	return registered;
}

static const zend_function_entry class_Weft_DeadlockError_methods[] = {
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_DeadlockError(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "DeadlockError", class_Weft_DeadlockError_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= 0;
	return registered;
}

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

static inline zend_class_entry *register_class_Weft_Http_Request(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft\\Http", "Request", class_Weft_Http_Request_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
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

static inline zend_class_entry *register_class_Weft_Http_Writer(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft\\Http", "Writer", class_Weft_Http_Writer_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	return registered;
}

static const zend_function_entry class_Weft_ChannelClosed_methods[] = {
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_ChannelClosed(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "ChannelClosed", class_Weft_ChannelClosed_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= 0;
	return registered;
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Weft_Channel___construct, 0, 0, 0)
	ZEND_ARG_TYPE_MASK(0, capacity, MAY_BE_LONG, "0")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Channel, __construct);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Channel_send, 0, 1, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, value, MAY_BE_ANY, NULL)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Channel, send);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Channel_receive, 0, 0, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Channel, receive);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Channel_select, 0, 1, MAY_BE_ARRAY|MAY_BE_NULL)
	ZEND_ARG_TYPE_MASK(0, cases, MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Channel, select);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Channel_close, 0, 0, MAY_BE_VOID)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Channel, close);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Channel_closed, 0, 0, MAY_BE_BOOL)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Channel, closed);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Channel_count, 0, 0, MAY_BE_LONG)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Channel, count);

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_TYPE_MASK_EX(arginfo_class_Weft_Channel_getIterator, 0, 0, Iterator, 0)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Channel, getIterator);

static const zend_function_entry class_Weft_Channel_methods[] = {
	ZEND_ME(Weft_Channel, __construct, arginfo_class_Weft_Channel___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Channel, send, arginfo_class_Weft_Channel_send, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Channel, receive, arginfo_class_Weft_Channel_receive, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Channel, select, arginfo_class_Weft_Channel_select, ZEND_ACC_PUBLIC|ZEND_ACC_STATIC)
	ZEND_ME(Weft_Channel, close, arginfo_class_Weft_Channel_close, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Channel, closed, arginfo_class_Weft_Channel_closed, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Channel, count, arginfo_class_Weft_Channel_count, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Channel, getIterator, arginfo_class_Weft_Channel_getIterator, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_Channel(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "Channel", class_Weft_Channel_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	return registered;
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Weft_Mutex___construct, 0, 0, 0)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Mutex, __construct);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Mutex_lock, 0, 0, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Mutex, lock);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Mutex_unlock, 0, 0, MAY_BE_VOID)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Mutex, unlock);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Mutex_synchronized, 0, 1, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, work, MAY_BE_CALLABLE, NULL)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Mutex, synchronized);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Mutex_locked, 0, 0, MAY_BE_BOOL)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Mutex, locked);

static const zend_function_entry class_Weft_Mutex_methods[] = {
	ZEND_ME(Weft_Mutex, __construct, arginfo_class_Weft_Mutex___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Mutex, lock, arginfo_class_Weft_Mutex_lock, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Mutex, unlock, arginfo_class_Weft_Mutex_unlock, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Mutex, synchronized, arginfo_class_Weft_Mutex_synchronized, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Mutex, locked, arginfo_class_Weft_Mutex_locked, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_Mutex(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "Mutex", class_Weft_Mutex_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	return registered;
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Weft_Semaphore___construct, 0, 0, 1)
	ZEND_ARG_TYPE_MASK(0, permits, MAY_BE_LONG, NULL)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Semaphore, __construct);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Semaphore_acquire, 0, 0, MAY_BE_BOOL)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Semaphore, acquire);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Semaphore_release, 0, 0, MAY_BE_VOID)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Semaphore, release);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Semaphore_with, 0, 1, MAY_BE_ANY)
	ZEND_ARG_TYPE_MASK(0, work, MAY_BE_CALLABLE, NULL)
	ZEND_ARG_TYPE_MASK(0, timeout, MAY_BE_DOUBLE|MAY_BE_NULL, "null")
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Semaphore, with);

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Weft_Semaphore_free, 0, 0, MAY_BE_LONG)
ZEND_END_ARG_INFO()
ZEND_METHOD(Weft_Semaphore, free);

static const zend_function_entry class_Weft_Semaphore_methods[] = {
	ZEND_ME(Weft_Semaphore, __construct, arginfo_class_Weft_Semaphore___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Semaphore, acquire, arginfo_class_Weft_Semaphore_acquire, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Semaphore, release, arginfo_class_Weft_Semaphore_release, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Semaphore, with, arginfo_class_Weft_Semaphore_with, ZEND_ACC_PUBLIC)
	ZEND_ME(Weft_Semaphore, free, arginfo_class_Weft_Semaphore_free, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

static inline zend_class_entry *register_class_Weft_Semaphore(zend_class_entry *parent)
{
	zend_class_entry entry;
	INIT_NS_CLASS_ENTRY(entry, "Weft", "Semaphore", class_Weft_Semaphore_methods);
	zend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);
	registered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	return registered;
}
