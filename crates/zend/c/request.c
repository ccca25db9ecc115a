/* Weft\Http\Request: each method reads the request's bytes from the server when it is called.
 *
 * One object per coroutine is used again as long as nobody has kept it. A kept one goes on answering from a copy of the
 * head that the host makes when the request ends. */
#include "weft.h"
#include "weft_arginfo.h"

zend_class_entry *weft_request_class;
static zend_object_handlers handlers;

typedef struct {
	uint64_t request;
	bool detached; /* the request has ended; the host keeps a copy of its head for this object */
	bool form_read;
	zval query;    /* parsed once, UNDEF until then */
	zval cookies;
	zval fields;
	zval files;
	zend_object std;
} request_object;

static request_object *object_of(zend_object *object)
{
	return (request_object *) ((char *) object - XtOffsetOf(request_object, std));
}

#define THIS object_of(Z_OBJ_P(ZEND_THIS))

static zend_object *create(zend_class_entry *class)
{
	request_object *object = zend_object_alloc(sizeof(request_object), class);
	memset(object, 0, XtOffsetOf(request_object, std));
	zend_object_std_init(&object->std, class);
	object_properties_init(&object->std, class);
	object->std.handlers = &handlers;
	return &object->std;
}

static void forget_parsed(request_object *object)
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
	request_object *object = object_of(std);
	if (object->detached) {
		weft_host_release(object->request);
	}
	forget_parsed(object);
	zend_object_std_dtor(std);
}

/* The Request of a coroutine's next request: the last one again, if nobody has kept it. */
void weft_request_open(weft_coroutine *coroutine)
{
	if (UNEXPECTED(Z_TYPE(coroutine->request_object) != IS_OBJECT)) {
		object_init_ex(&coroutine->request_object, weft_request_class);
	}
	object_of(Z_OBJ(coroutine->request_object))->request = coroutine->request;
}

/* Before the response ends, and the request's bytes with it: somebody else holds the object, so its head is copied. */
void weft_request_keep(weft_coroutine *coroutine)
{
	request_object *object = object_of(Z_OBJ(coroutine->request_object));
	if (UNEXPECTED(GC_REFCOUNT(&object->std) > 1) && !object->detached) {
		weft_host_detach(object->request);
		object->detached = true;
	}
}

void weft_request_close(weft_coroutine *coroutine)
{
	request_object *object = object_of(Z_OBJ(coroutine->request_object));
	if (UNEXPECTED(GC_REFCOUNT(&object->std) > 1 || object->detached)) {
		object->detached = true;
		zval_ptr_dtor(&coroutine->request_object);
		ZVAL_UNDEF(&coroutine->request_object);
	} else if (UNEXPECTED(object->form_read || Z_TYPE(object->query) || Z_TYPE(object->cookies))) {
		forget_parsed(object);
	}
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
	for (uint32_t i = 0; weft_host_header_at(THIS->request, i, &name, &value); i++) {
		if (name.length != ZSTR_LEN(wanted) || strncasecmp(name.bytes, ZSTR_VAL(wanted), name.length)) {
			continue;
		}
		if (joined.s) {
			smart_str_appends(&joined, ", ");
		}
		smart_str_appendl(&joined, value.bytes, value.length);
		if (!joined.s) {
			smart_str_alloc(&joined, 0, 0);
			ZSTR_LEN(joined.s) = 0;
		}
	}
	if (joined.s) {
		smart_str_0(&joined);
		RETURN_NEW_STR(joined.s);
	}
	if (fallback) {
		RETURN_STR_COPY(fallback);
	}
}

typedef bool (*line_at)(uint64_t request, uint32_t index, weft_slice *name, weft_slice *value);

static void collect_lines(zval *array, uint64_t request, line_at next)
{
	weft_slice name, value;
	array_init(array);
	for (uint32_t i = 0; next(request, i, &name, &value); i++) {
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
	collect_lines(return_value, THIS->request, weft_host_header_at);
}

ZEND_METHOD(Weft_Http_Request, trailers)
{
	ZEND_PARSE_PARAMETERS_NONE();
	weft_host_body_wait(THIS->request);
	collect_lines(return_value, THIS->request, weft_host_trailer_at);
}

/* ---- query and cookies ---- */

/* One field of a parsed array, or the array. */
static void pick(zval *return_value, zval *array, zend_string *name, zval *fallback)
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

#define NAME_AND_DEFAULT(name, fallback) \
	zend_string *name = NULL; \
	zval *fallback = NULL; \
	ZEND_PARSE_PARAMETERS_START(0, 2) \
		Z_PARAM_OPTIONAL \
		Z_PARAM_STR_OR_NULL(name) \
		Z_PARAM_ZVAL(fallback) \
	ZEND_PARSE_PARAMETERS_END()

ZEND_METHOD(Weft_Http_Request, query)
{
	NAME_AND_DEFAULT(name, fallback);
	request_object *object = THIS;
	if (Z_TYPE(object->query) == IS_UNDEF) {
		weft_slice query = weft_host_field(object->request, WEFT_FIELD_QUERY);
		char *copy = query.length ? estrndup(query.bytes, query.length) : NULL;
		array_init(&object->query);
		if (copy) {
			sapi_module.treat_data(PARSE_STRING, copy, &object->query);
		}
	}
	pick(return_value, &object->query, name, fallback);
}

ZEND_METHOD(Weft_Http_Request, cookie)
{
	NAME_AND_DEFAULT(name, fallback);
	request_object *object = THIS;
	if (Z_TYPE(object->cookies) == IS_UNDEF) {
		weft_cookie_variables(object->request, &object->cookies);
	}
	pick(return_value, &object->cookies, name, fallback);
}

/* ---- body ---- */

/* The whole body as a string; NULL with an exception when it did not arrive. */
static zend_string *read_body(uint64_t request)
{
	int64_t length = weft_host_body_wait(request);
	if (length < 0) {
		weft_throw_body(length);
		return NULL;
	}
	if (length == 0) {
		return ZSTR_EMPTY_ALLOC();
	}
	zend_string *body = zend_string_alloc((size_t) length, 0);
	size_t filled = 0;
	while (filled < (size_t) length) {
		int64_t n = weft_host_body_read(request, filled, ZSTR_VAL(body) + filled, (size_t) length - filled);
		if (n <= 0) {
			break;
		}
		filled += (size_t) n;
	}
	ZSTR_VAL(body)[filled] = 0;
	ZSTR_LEN(body) = filled;
	return body;
}

ZEND_METHOD(Weft_Http_Request, body)
{
	ZEND_PARSE_PARAMETERS_NONE();
	zend_string *body = read_body(THIS->request);
	if (!body) {
		RETURN_THROWS();
	}
	RETURN_STR(body);
}

ZEND_METHOD(Weft_Http_Request, json)
{
	zend_long depth = 512;
	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(depth)
	ZEND_PARSE_PARAMETERS_END();
	zend_string *body = read_body(THIS->request);
	if (!body) {
		RETURN_THROWS();
	}
	zend_long options = PHP_JSON_OBJECT_AS_ARRAY | PHP_JSON_THROW_ON_ERROR;
	php_json_decode_ex(return_value, ZSTR_VAL(body), ZSTR_LEN(body), options, depth);
	zend_string_release(body);
}

/* ---- the body as a stream ---- */

typedef struct {
	uint64_t request;
	uint64_t offset;
} body_stream;

static ssize_t body_stream_read(php_stream *stream, char *buffer, size_t size)
{
	body_stream *body = stream->abstract;
	int64_t n = weft_host_body_read(body->request, body->offset, buffer, size);
	if (n <= 0) {
		stream->eof = 1;
		return n;
	}
	body->offset += (uint64_t) n;
	return (ssize_t) n;
}

static ssize_t body_stream_write(php_stream *stream, const char *buffer, size_t size)
{
	(void) stream, (void) buffer, (void) size;
	return -1;
}

static int body_stream_close(php_stream *stream, int handle)
{
	(void) handle;
	efree(stream->abstract);
	return 0;
}

static int body_stream_seek(php_stream *stream, zend_off_t offset, int whence, zend_off_t *now)
{
	body_stream *body = stream->abstract;
	if (whence == SEEK_CUR) {
		offset += (zend_off_t) body->offset;
	} else if (whence == SEEK_END) {
		int64_t length = weft_host_body_wait(body->request);
		if (length < 0) {
			return -1;
		}
		offset += length;
	}
	if (offset < 0) {
		return -1;
	}
	body->offset = (uint64_t) offset;
	stream->eof = 0;
	*now = offset;
	return 0;
}

static const php_stream_ops body_stream_ops = {
	.write = body_stream_write,
	.read = body_stream_read,
	.close = body_stream_close,
	.label = "weft request body",
	.seek = body_stream_seek,
};

ZEND_METHOD(Weft_Http_Request, stream)
{
	ZEND_PARSE_PARAMETERS_NONE();
	body_stream *body = emalloc(sizeof(*body));
	*body = (body_stream){THIS->request, 0};
	php_stream *stream = php_stream_alloc(&body_stream_ops, body, NULL, "rb");
	php_stream_to_zval(stream, return_value);
}

/* A form is parsed once: $_POST and $_FILES have it already when the application mentions them. */
static bool read_form(request_object *object)
{
	if (object->form_read) {
		return true;
	}
	if (Z_TYPE(PG(http_globals)[TRACK_VARS_POST]) == IS_ARRAY && weft_current && weft_current->request == object->request) {
		ZVAL_COPY(&object->fields, &PG(http_globals)[TRACK_VARS_POST]);
		ZVAL_COPY(&object->files, &PG(http_globals)[TRACK_VARS_FILES]);
		object->form_read = true;
	} else {
		object->form_read = weft_request_form(object->request, &object->fields, &object->files);
		if (!object->form_read) {
			forget_parsed(object);
		}
	}
	return object->form_read;
}

ZEND_METHOD(Weft_Http_Request, form)
{
	NAME_AND_DEFAULT(name, fallback);
	request_object *object = THIS;
	if (!read_form(object)) {
		RETURN_THROWS();
	}
	pick(return_value, &object->fields, name, fallback);
}

/* Weft\Http\UploadedFile::fromGlobals() makes objects of what $_FILES would hold. */
ZEND_METHOD(Weft_Http_Request, files)
{
	ZEND_PARSE_PARAMETERS_NONE();
	request_object *object = THIS;
	if (!read_form(object)) {
		RETURN_THROWS();
	}
	zval callable, files;
	ZVAL_COPY(&files, &object->files);
	ZVAL_STRING(&callable, "Weft\\Http\\UploadedFile::fromGlobals");
	call_user_function(NULL, NULL, &callable, return_value, 1, &files);
	zval_ptr_dtor(&callable);
	zval_ptr_dtor(&files);
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
	weft_request_class = register_class_Weft_Http_Request();
	weft_request_class->create_object = create;
	memcpy(&handlers, &std_object_handlers, sizeof(handlers));
	handlers.offset = XtOffsetOf(request_object, std);
	handlers.free_obj = free_object;
	handlers.clone_obj = NULL;
}
