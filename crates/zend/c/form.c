/* Form fields and uploads, by PHP's own parsers: what $_POST and $_FILES hold under FPM is what they hold here.
 *
 * The body is complete before a parser starts, so none of this parks in the middle of the globals it borrows. */
#include "weft.h"
#include "rfc1867.h"

static uint64_t reading;         /* the request whose body read_post() gives to a parser */
static uint64_t reading_offset;

/* sapi_module.read_post */
size_t weft_read_post(char *buffer, size_t size)
{
	size_t filled = 0;
	while (reading && filled < size) {
		int64_t n = weft_host_body_read(reading, reading_offset, buffer + filled, size - filled);
		if (n <= 0) {
			break;
		}
		filled += (size_t) n;
		reading_offset += (uint64_t) n;
	}
	return filled;
}

static char *content_type_of(uint64_t request)
{
	weft_slice name, value;
	for (uint32_t i = 0; weft_host_header_at(request, i, &name, &value); i++) {
		if (name.length == 12 && zend_binary_strcasecmp(name.bytes, 12, "content-type", 12) == 0) {
			return estrndup(value.bytes, value.length);
		}
	}
	return NULL;
}

static void urlencoded(uint64_t request, int64_t length, zval *fields)
{
	char *body = emalloc((size_t) length + 1);
	reading = request;
	reading_offset = 0;
	size_t filled = weft_read_post(body, (size_t) length);
	reading = 0;
	body[filled] = 0;
	sapi_module.treat_data(PARSE_STRING, body, fields);
}

/* rfc1867_post_handler (main/rfc1867.c) reads through sapi_module.read_post and leaves the files in PG(http_globals). */
static void multipart(uint64_t request, int64_t length, char *content_type, zval *fields, zval *files)
{
	zval *slot = &PG(http_globals)[TRACK_VARS_FILES], kept;
	HashTable *earlier = SG(rfc1867_uploaded_files);
	ZVAL_COPY_VALUE(&kept, slot);
	ZVAL_UNDEF(slot);
	SG(rfc1867_uploaded_files) = NULL;
	SG(request_info).content_length = (zend_long) length;
	SG(read_post_bytes) = 0;
	SG(post_read) = 0;
	reading = request;
	reading_offset = 0;
	rfc1867_post_handler(content_type, fields);
	reading = 0;
	if (Z_TYPE_P(slot) == IS_ARRAY) {
		zval_ptr_dtor(files);
		ZVAL_COPY_VALUE(files, slot);
	}
	ZVAL_COPY_VALUE(slot, &kept);
	if (earlier) { /* read twice, as $_FILES and as Request::files(): the coroutine keeps all of them */
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

/* Both arrays, empty when the body is no form. Parks until the body is complete. */
void weft_request_form(uint64_t request, zval *fields, zval *files)
{
	array_init(fields);
	array_init(files);
	char *content_type = content_type_of(request);
	if (!content_type) {
		return;
	}
	size_t length = strcspn(content_type, ";, ");
	bool is_urlencoded = length == 33 && !strncasecmp(content_type, "application/x-www-form-urlencoded", 33);
	bool is_multipart = length == 19 && !strncasecmp(content_type, "multipart/form-data", 19);
	if (is_urlencoded || is_multipart) {
		int64_t body = weft_host_body_wait(request);
		if (body > 0 && is_urlencoded) {
			urlencoded(request, body, fields);
		} else if (body > 0) {
			multipart(request, body, content_type, fields, files);
		}
	}
	efree(content_type);
}
