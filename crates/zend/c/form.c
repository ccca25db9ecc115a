/* Form fields and uploads, read by PHP's own parsers: $_POST and $_FILES hold here what they hold under FPM.
 *
 * The body is complete before a parser starts, so a parser never parks while it uses the globals it borrows. */
#include "form.h"
#include "coroutine.h"
#include "host.h"
#include "lines.h"
#include "rfc1867.h"

/* sapi_module.read_post: php://input and PHP's form parsers continue to read at SG(read_post_bytes). */
size_t weft_read_post(char *buffer, size_t size)
{
	uint64_t request = weft_current ? weft_current->request : 0;
	size_t filled = 0;
	while (request && filled < size) {
		int64_t n = weft_host_body_read(request, (uint64_t) SG(read_post_bytes) + filled, buffer + filled, size - filled);
		if (n <= 0) {
			break;
		}
		filled += (size_t) n;
	}
	return filled;
}

/* The body has failed: throws Weft\Http\BodyException, whose code is the status to answer with. */
void weft_throw_body(int64_t failure)
{
	zend_string *name = zend_string_init(ZEND_STRL("Weft\\Http\\BodyException"), 0);
	zend_class_entry *class = zend_lookup_class(name);
	zend_string_release(name);
	const char *why = failure == -413 ? "it is larger than body_bytes_max" : failure == -408 ? "it stalled for body_timeout_ms, or was slower than body_rate_bytes_min"
		: failure == -400 ? "it is malformed" : "the client has gone";
	zend_throw_exception_ex(class ? class : zend_ce_exception, (zend_long) -failure, "The body of the request did not arrive: %s", why);
}

static void urlencoded(uint64_t request, int64_t length, zval *fields)
{
	char *body = emalloc((size_t) length + 1);
	int64_t filled = 0, n;
	while (filled < length && (n = weft_host_body_read(request, filled, body + filled, length - filled)) > 0) {
		filled += n;
	}
	body[filled] = 0;
	sapi_module.treat_data(PARSE_STRING, body, fields);
}

/* rfc1867_post_handler (main/rfc1867.c) reads through sapi_module.read_post and leaves fields and files in
 * PG(http_globals): during the call these are ours. */
static void multipart(int64_t length, char *content_type, zval *fields, zval *files)
{
	zval *slot = &PG(http_globals)[TRACK_VARS_FILES], kept;
	zval *post = &PG(http_globals)[TRACK_VARS_POST], kept_post;
	HashTable *earlier = SG(rfc1867_uploaded_files);
	ZVAL_COPY_VALUE(&kept, slot);
	ZVAL_UNDEF(slot);
	ZVAL_COPY_VALUE(&kept_post, post);
	ZVAL_COPY_VALUE(post, fields);
	SG(rfc1867_uploaded_files) = NULL;
	int64_t read_before = SG(read_post_bytes);
	unsigned char done_before = SG(post_read);
	SG(request_info).content_length = (zend_long) length;
	SG(read_post_bytes) = 0;
	SG(post_read) = 0;
	rfc1867_post_handler(content_type, post);
	ZVAL_COPY_VALUE(fields, post);
	ZVAL_COPY_VALUE(post, &kept_post);
	SG(read_post_bytes) = read_before; /* php://input starts where it was */
	SG(post_read) = done_before;
	if (Z_TYPE_P(slot) == IS_ARRAY) {
		zval_ptr_dtor(files);
		ZVAL_COPY_VALUE(files, slot);
	}
	ZVAL_COPY_VALUE(slot, &kept);
	if (earlier) { /* read twice, for $_FILES and for Request::files(): the coroutine keeps all of them */
		zend_string *path;
		if (SG(rfc1867_uploaded_files)) {
			void *value;
			ZEND_HASH_MAP_FOREACH_STR_KEY_PTR(SG(rfc1867_uploaded_files), path, value) {
				zend_hash_add_ptr(earlier, path, value);
			} ZEND_HASH_FOREACH_END();
			SG(rfc1867_uploaded_files)->pDestructor = NULL;
			zend_hash_destroy(SG(rfc1867_uploaded_files));
			FREE_HASHTABLE(SG(rfc1867_uploaded_files));
		}
		SG(rfc1867_uploaded_files) = earlier;
	}
}

/* Both arrays, which are empty if the body is not a form. Parks until the body is complete. */
bool weft_request_form(uint64_t request, zval *fields, zval *files)
{
	array_init(fields);
	array_init(files);
	weft_slice type = weft_first_header(request, "content-type");
	if (!type.bytes) {
		return true;
	}
	char *content_type = estrndup(type.bytes, type.length);
	bool arrived = true;
	size_t length = strcspn(content_type, ";, ");
	bool is_urlencoded = length == 33 && !strncasecmp(content_type, "application/x-www-form-urlencoded", 33);
	bool is_multipart = length == 19 && !strncasecmp(content_type, "multipart/form-data", 19);
	if (is_urlencoded || is_multipart) {
		int64_t body = weft_host_body_wait(request);
		arrived = body >= 0;
		if (!arrived) {
			weft_throw_body(body);
		} else if (body > 0 && is_urlencoded) {
			urlencoded(request, body, fields);
		} else if (body > 0) {
			multipart(body, content_type, fields, files);
		}
	}
	efree(content_type);
	return arrived;
}
