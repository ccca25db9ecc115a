/* Weft\Http\Writer: the body of a response, written piece by piece at the client's pace. */
#include "writer.h"
#include "classic_response.h"
#include "coroutine.h"
#include "host.h"
#include "weft_arginfo.h"

static zend_class_entry *weft_writer_class;
static zend_object_handlers handlers;

typedef struct {
	uint64_t request; /* 0 once the response has ended */
	zend_object std;
} writer_object;

static writer_object *writer_of(zend_object *object)
{
	return (writer_object *) ((char *) object - offsetof(writer_object, std));
}

static zend_object *create(zend_class_entry *class)
{
	writer_object *writer = zend_object_alloc(sizeof(writer_object), class);
	writer->request = 0;
	zend_object_std_init(&writer->std, class);
	object_properties_init(&writer->std, class);
	writer->std.handlers = &handlers;
	return &writer->std;
}

void weft_writer_open(zval *writer, uint64_t request)
{
	object_init_ex(writer, weft_writer_class);
	writer_of(Z_OBJ_P(writer))->request = request;
}

/* The response has ended: a Writer that was kept has nothing to write to. */
void weft_writer_close(zval *writer)
{
	writer_of(Z_OBJ_P(writer))->request = 0;
	zval_ptr_dtor(writer);
}

ZEND_FUNCTION(Weft_Internal_response_writer)
{
	ZEND_PARSE_PARAMETERS_NONE();
	if (!weft_current || !weft_current->request) {
		zend_throw_error(NULL, "No request is running");
		RETURN_THROWS();
	}
	if (weft_classic_of(weft_current)) {
		weft_classic_send_head(); /* what is written is the body */
	}
	weft_writer_open(return_value, weft_current->request);
}

ZEND_METHOD(Weft_Http_Writer, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

ZEND_METHOD(Weft_Http_Writer, write)
{
	zend_string *chunk;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(chunk)
	ZEND_PARSE_PARAMETERS_END();
	uint64_t request = writer_of(Z_OBJ_P(ZEND_THIS))->request;
	if (!request) {
		zend_throw_error(NULL, "The response has ended; there is nothing to write to");
		RETURN_THROWS();
	}
	if (ZSTR_LEN(chunk) == 0) {
		RETURN_BOOL(!weft_host_aborted(request));
	}
	RETURN_BOOL(weft_host_stream_write(request, weft_slice_of(chunk)));
}

void weft_writer_register(void)
{
	weft_writer_class = register_class_Weft_Http_Writer(NULL);
	weft_writer_class->create_object = create;
	memcpy(&handlers, &std_object_handlers, sizeof(handlers));
	handlers.offset = offsetof(writer_object, std);
	handlers.clone_obj = NULL;
}
