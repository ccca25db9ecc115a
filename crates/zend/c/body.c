/* The body of Weft\Http\Request: as a string, as JSON, as a stream, as a form. Each waits for the parts that have not
 * arrived. */
#include "coroutine.h"
#include "form.h"
#include "host.h"
#include "request_object.h"

/* The whole body as a string; NULL with an exception if it did not arrive. */
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

/* A form is parsed once: $_POST and $_FILES already have it if the application mentions them. */
static bool read_form(weft_request_object *object)
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
			weft_request_forget(object);
		}
	}
	return object->form_read;
}

ZEND_METHOD(Weft_Http_Request, form)
{
	NAME_AND_DEFAULT(name, fallback);
	weft_request_object *object = THIS;
	if (!read_form(object)) {
		RETURN_THROWS();
	}
	weft_request_pick(return_value, &object->fields, name, fallback);
}

/* Weft\Http\UploadedFile::fromGlobals() makes objects of the data that $_FILES would hold. */
ZEND_METHOD(Weft_Http_Request, files)
{
	ZEND_PARSE_PARAMETERS_NONE();
	weft_request_object *object = THIS;
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
