/* Weft\Http\Request: each method reads the request's bytes from the server when it is called.
 *
 * Each coroutine reuses one object as long as no code has kept it or has a weak reference to it. A kept object
 * continues to answer from a copy of the head, which the host makes when the request ends. Invariant: no key that
 * outlives a request (a reference, a WeakMap's entry, a WeakReference) leads to the next one. */
#include "request.h"
#include "contain.h"
#include "coroutine.h"
#include "host.h"
#include "lines.h"
#include "request_object.h"
#include "superglobals.h"
#include "task.h"

zend_class_entry *weft_request_class;
static zend_object_handlers handlers;

static zend_object *create(zend_class_entry *class)
{
	weft_request_object *object = zend_object_alloc(sizeof(weft_request_object), class);
	memset(object, 0, offsetof(weft_request_object, std));
	zend_object_std_init(&object->std, class);
	object_properties_init(&object->std, class);
	object->std.handlers = &handlers;
	return &object->std;
}

void weft_request_forget(weft_request_object *object)
{
	zval *parsed[] = {&object->query, &object->cookies, &object->fields, &object->files};
	for (size_t i = 0; i < sizeof(parsed) / sizeof(*parsed); i++) {
		zval_ptr_dtor(parsed[i]);
		ZVAL_UNDEF(parsed[i]);
	}
	object->form_read = false;
}

static void free_object(zend_object *std)
{
	weft_request_object *object = weft_request_of(std);
	if (object->detached) {
		weft_host_release(object->request);
	}
	weft_request_forget(object);
	zend_object_std_dtor(std);
}

/* The Request of a coroutine's next request: the last object again, unless code has kept it. */
void weft_request_open(weft_coroutine *coroutine)
{
	if (UNEXPECTED(Z_TYPE_P(weft_request_slot(coroutine)) != IS_OBJECT)) {
		object_init_ex(weft_request_slot(coroutine), weft_request_class);
	}
	weft_request_of(Z_OBJ_P(weft_request_slot(coroutine)))->request = coroutine->request;
}

/* Before the response ends, and with it the request's bytes: other code holds the object, so its head is copied. */
void weft_request_keep(weft_coroutine *coroutine)
{
	weft_request_object *object = weft_request_of(Z_OBJ_P(weft_request_slot(coroutine)));
	if (UNEXPECTED(GC_REFCOUNT(&object->std) > 1) && !object->detached) {
		weft_host_detach(object->request);
		object->detached = true;
	}
}

ZEND_FUNCTION(Weft_Internal_running_request)
{
	ZEND_PARSE_PARAMETERS_NONE();
	if (!weft_current || !weft_current->request) {
		zend_throw_error(NULL, "No request is running");
		RETURN_THROWS();
	}
	weft_request_open(weft_current);
	RETURN_COPY(weft_request_slot(weft_current));
}

ZEND_FUNCTION(Weft_traceparent)
{
	ZEND_PARSE_PARAMETERS_NONE();
	uint64_t origin = weft_current ? weft_task_origin(weft_current) : 0;
	weft_slice value = {0};
	if (origin) {
		value = weft_host_field(origin, WEFT_FIELD_TRACEPARENT);
	}
	if (value.bytes && value.length) {
		RETURN_STRINGL(value.bytes, value.length);
	}
}

static void let_go(weft_coroutine *coroutine)
{
	zval object;
	ZVAL_COPY_VALUE(&object, weft_request_slot(coroutine));
	ZVAL_UNDEF(weft_request_slot(coroutine));
	zval_ptr_dtor(&object);
}

/* true: code has kept the object, which will tell the host itself when it is freed. Otherwise the next request reuses
 * it, unless a WeakMap or WeakReference refers to it: then it is destroyed like any object, which notifies them and
 * frees what they stored under it. */
bool weft_request_close(weft_coroutine *coroutine)
{
	weft_request_object *object = weft_request_of(Z_OBJ_P(weft_request_slot(coroutine)));
	bool kept = GC_REFCOUNT(&object->std) > 1 || object->detached;
	if (UNEXPECTED(kept)) {
		object->detached = true;
		let_go(coroutine);
	} else if (UNEXPECTED(GC_FLAGS(&object->std) & IS_OBJ_WEAKLY_REFERENCED)) {
		weft_contained_last(let_go, coroutine);
	} else if (UNEXPECTED(object->form_read || Z_TYPE(object->query) || Z_TYPE(object->cookies))) {
		weft_request_forget(object);
	}
	return kept;
}

static void return_slice(zval *return_value, weft_slice slice)
{
	if (!slice.bytes || !slice.length) {
		RETURN_EMPTY_STRING();
	}
	RETURN_STRINGL_FAST(slice.bytes, slice.length);
}

#define FIELD(method, field) \
	ZEND_METHOD(Weft_Http_Request, method) \
	{ \
		ZEND_PARSE_PARAMETERS_NONE(); \
		return_slice(return_value, weft_host_field(THIS->request, field)); \
	}

FIELD(method, WEFT_FIELD_METHOD)
FIELD(target, WEFT_FIELD_TARGET)
FIELD(path, WEFT_FIELD_PATH)
FIELD(queryString, WEFT_FIELD_QUERY)
FIELD(version, WEFT_FIELD_VERSION)
FIELD(scheme, WEFT_FIELD_SCHEME)
FIELD(host, WEFT_FIELD_HOST)
FIELD(client, WEFT_FIELD_CLIENT)
FIELD(peer, WEFT_FIELD_PEER)
FIELD(id, WEFT_FIELD_ID)

ZEND_METHOD(Weft_Http_Request, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

ZEND_METHOD(Weft_Http_Request, time)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_DOUBLE(weft_host_time(THIS->request));
}

ZEND_METHOD(Weft_Http_Request, aborted)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(weft_host_aborted(THIS->request));
}

/* ---- headers ---- */

ZEND_METHOD(Weft_Http_Request, header)
{
	zend_string *wanted, *fallback = NULL;
	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_STR(wanted)
		Z_PARAM_OPTIONAL
		Z_PARAM_STR_OR_NULL(fallback)
	ZEND_PARSE_PARAMETERS_END();
	weft_slice name, value;
	smart_str joined = {0};
	for (uint32_t at = 0; weft_host_next_header(THIS->request, &at, &name, &value);) {
		if (name.length != ZSTR_LEN(wanted) || strncasecmp(name.bytes, ZSTR_VAL(wanted), name.length)) {
			continue;
		}
		weft_join_line(&joined, value, weft_slice_is(name, "cookie"));
	}
	if (joined.s) {
		RETURN_NEW_STR(joined.s);
	}
	if (fallback) {
		RETURN_STR_COPY(fallback);
	}
}

typedef bool (*next_line)(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);

static void collect_lines(zval *array, uint64_t request, next_line next)
{
	weft_slice name, value;
	array_init(array);
	for (uint32_t at = 0; next(request, &at, &name, &value);) {
		zend_string *key = zend_string_alloc(name.length, 0);
		zend_str_tolower_copy(ZSTR_VAL(key), name.bytes, name.length);
		zval *list = zend_hash_lookup(Z_ARRVAL_P(array), key);
		zend_string_release(key);
		if (Z_TYPE_P(list) != IS_ARRAY) {
			array_init(list);
		}
		/* The allocations above do not move the server's bytes: only parking and the host do. */
		add_next_index_stringl(list, value.bytes ? value.bytes : "", value.length);
	}
}

ZEND_METHOD(Weft_Http_Request, headers)
{
	ZEND_PARSE_PARAMETERS_NONE();
	collect_lines(return_value, THIS->request, weft_host_next_header);
}

ZEND_METHOD(Weft_Http_Request, trailers)
{
	ZEND_PARSE_PARAMETERS_NONE();
	weft_host_body_wait(THIS->request);
	collect_lines(return_value, THIS->request, weft_host_next_trailer);
}

/* ---- query and cookies ---- */

/* One field of a parsed array, or the array. */
void weft_request_pick(zval *return_value, zval *array, zend_string *name, zval *fallback)
{
	if (!name) {
		RETURN_COPY(array);
	}
	zval *value = zend_symtable_find(Z_ARRVAL_P(array), name);
	if (value) {
		RETURN_COPY_DEREF(value);
	}
	if (fallback) {
		RETURN_COPY(fallback);
	}
}

ZEND_METHOD(Weft_Http_Request, query)
{
	NAME_AND_DEFAULT(name, fallback);
	weft_request_object *object = THIS;
	if (Z_TYPE(object->query) == IS_UNDEF) {
		weft_slice query = weft_host_field(object->request, WEFT_FIELD_QUERY);
		char *copy = query.length ? estrndup(query.bytes, query.length) : NULL;
		array_init(&object->query);
		if (copy) {
			sapi_module.treat_data(PARSE_STRING, copy, &object->query);
		}
	}
	weft_request_pick(return_value, &object->query, name, fallback);
}

ZEND_METHOD(Weft_Http_Request, cookie)
{
	NAME_AND_DEFAULT(name, fallback);
	weft_request_object *object = THIS;
	if (Z_TYPE(object->cookies) == IS_UNDEF) {
		weft_cookie_variables(object->request, &object->cookies);
	}
	weft_request_pick(return_value, &object->cookies, name, fallback);
}

/* ---- early hints ---- */

#define HINTS_MAX 32

ZEND_METHOD(Weft_Http_Request, sendEarlyHints)
{
	zval *lines, *value, *item;
	zend_string *name;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ARRAY(lines)
	ZEND_PARSE_PARAMETERS_END();
	weft_header list[HINTS_MAX];
	size_t count = 0;
	ZEND_HASH_FOREACH_STR_KEY_VAL(Z_ARRVAL_P(lines), name, value) {
		HashTable *values = Z_TYPE_P(value) == IS_ARRAY ? Z_ARRVAL_P(value) : NULL;
		if (!name || (!values && Z_TYPE_P(value) != IS_STRING)) {
			zend_argument_type_error(1, "must map header names to strings or lists of strings");
			RETURN_THROWS();
		}
		if (!values) {
			if (count < HINTS_MAX) {
				list[count++] = (weft_header){weft_slice_of(name), weft_slice_of(Z_STR_P(value))};
			}
			continue;
		}
		ZEND_HASH_FOREACH_VAL(values, item) {
			if (Z_TYPE_P(item) == IS_STRING && count < HINTS_MAX) {
				list[count++] = (weft_header){weft_slice_of(name), weft_slice_of(Z_STR_P(item))};
			}
		} ZEND_HASH_FOREACH_END();
	} ZEND_HASH_FOREACH_END();
	if (!weft_host_early_hints(THIS->request, list, count)) {
		zend_argument_value_error(1, "must hold valid header names and values, and come before the response");
	}
}

void weft_request_register(void)
{
	weft_request_class = register_class_Weft_Http_Request(NULL);
	weft_request_class->create_object = create;
	memcpy(&handlers, &std_object_handlers, sizeof(handlers));
	handlers.offset = offsetof(weft_request_object, std);
	handlers.free_obj = free_object;
	handlers.clone_obj = NULL;
}
