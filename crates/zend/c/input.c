/* php://input beyond its request: PHP closes all streams with a request, whose end in a worker never comes. A handle
 * that code has kept would read from the freed body and take the next visitor's body from the server.
 *
 * Invariant: when a request's body is freed, no stream refers to it. */
#include "input.h"

/* ext/standard/php_fopen_wrapper.c */
typedef struct {
	php_stream *body;
	zend_off_t position;
} input;

static bool reads(const php_stream *stream, const php_stream *body)
{
	return strcmp(stream->ops->label, "Input") == 0 && ((const input *) stream->abstract)->body == body;
}

/* Handles come after their body in the list of resources. So the search ends at the body, and is short if no handle is
 * left. */
static void close_handles(const php_stream *body)
{
	zend_ulong handle;
	zend_resource *resource;
	ZEND_HASH_REVERSE_FOREACH_NUM_KEY_PTR(&EG(regular_list), handle, resource) {
		if ((zend_long) handle <= (zend_long) body->res->handle) {
			break;
		}
		if (resource->type == php_file_le_stream() && resource->ptr && reads(resource->ptr, body)) {
			zend_list_close(resource);
		}
	} ZEND_HASH_FOREACH_END();
}

void weft_input_end(void)
{
	php_stream *body = SG(request_info).request_body;
	if (body) {
		SG(request_info).request_body = NULL;
		close_handles(body);
		php_stream_close(body);
	}
}
