/* The class Weft\Channel: its methods, and its iterator.
 *
 * Must not know how values are passed on. Invariant: what it holds is visible to PHP's garbage collector. */
#include "channel.h"
#include "once.h"
#include "wait.h"
#include "weft_arginfo.h"
#include "ext/spl/spl_exceptions.h"
#include "zend_interfaces.h"

static zend_class_entry *channel_class, *closed_class;
static zend_object_handlers handlers;

bool weft_is_channel(const zval *value)
{
	return Z_TYPE_P(value) == IS_OBJECT && Z_OBJCE_P(value) == channel_class;
}

void weft_throw_closed(const char *message)
{
	zend_throw_exception(closed_class, message, 0);
}

/* ---- the object ---- */

static zend_object *create(zend_class_entry *class)
{
	weft_channel *channel = zend_object_alloc(sizeof(weft_channel), class);
	memset(channel, 0, offsetof(weft_channel, std));
	zend_object_std_init(&channel->std, class);
	object_properties_init(&channel->std, class);
	channel->std.handlers = &handlers;
	return &channel->std;
}

static void free_object(zend_object *object)
{
	weft_channel_free(weft_channel_of(object));
	zend_object_std_dtor(object);
}

static HashTable *get_gc(zend_object *object, zval **table, int *count)
{
	const weft_channel *channel = weft_channel_of(object);
	zend_get_gc_buffer *buffer = zend_get_gc_buffer_create();
	for (size_t i = 0; i < channel->held; i++) {
		zend_get_gc_buffer_add_zval(buffer, &channel->values[(channel->first + i) & (channel->size - 1)]);
	}
	zend_get_gc_buffer_use(buffer, table, count);
	return zend_std_get_properties(object);
}

/* ---- the methods ---- */

ZEND_METHOD(Weft_Channel, __construct)
{
	zend_long capacity = 0;
	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(capacity)
	ZEND_PARSE_PARAMETERS_END();
	weft_channel *channel = weft_channel_of(Z_OBJ_P(ZEND_THIS));
	if (capacity < 0) {
		zend_value_error("Weft\\Channel: the capacity must be at least 0, not " ZEND_LONG_FMT, capacity);
		RETURN_THROWS();
	}
	if (weft_set_once(&channel->std, capacity)) {
		channel->capacity = capacity;
	}
}

ZEND_METHOD(Weft_Channel, send)
{
	zval *value;
	double seconds = 0;
	bool for_ever = true;
	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_ZVAL(value)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, for_ever)
	ZEND_PARSE_PARAMETERS_END();
	weft_channel *channel = weft_channel_of(Z_OBJ_P(ZEND_THIS));
	if (UNEXPECTED(channel->closed)) {
		weft_throw_closed("Nothing can be sent: the channel is closed");
		RETURN_THROWS();
	}
	switch (weft_channel_send(channel, value, seconds, for_ever)) {
		case WEFT_CHANNEL_DONE:
			RETURN_TRUE;
		case WEFT_CHANNEL_CLOSED:
			weft_throw_closed("The value was not sent: the channel was closed while it waited");
			RETURN_THROWS();
		case WEFT_CHANNEL_FAILED:
			RETURN_THROWS();
		default:
			RETURN_FALSE;
	}
}

static void throw_late(double seconds)
{
	zend_string *text = weft_wait_seconds(seconds);
	zend_throw_exception_ex(weft_timeout_class, 0, "Nothing was received within %s seconds", ZSTR_VAL(text));
	zend_string_release(text);
}

ZEND_METHOD(Weft_Channel, receive)
{
	double seconds = 0;
	bool for_ever = true;
	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, for_ever)
	ZEND_PARSE_PARAMETERS_END();
	switch (weft_channel_receive(weft_channel_of(Z_OBJ_P(ZEND_THIS)), return_value, seconds, for_ever)) {
		case WEFT_CHANNEL_DONE:
			return;
		case WEFT_CHANNEL_CLOSED:
			weft_throw_closed("Nothing will come: the channel is closed and empty");
			RETURN_THROWS();
		case WEFT_CHANNEL_LATE:
			throw_late(seconds);
			RETURN_THROWS();
		default:
			RETURN_THROWS();
	}
}

ZEND_METHOD(Weft_Channel, close)
{
	ZEND_PARSE_PARAMETERS_NONE();
	weft_channel_close(weft_channel_of(Z_OBJ_P(ZEND_THIS)));
}

ZEND_METHOD(Weft_Channel, closed)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(weft_channel_of(Z_OBJ_P(ZEND_THIS))->closed);
}

ZEND_METHOD(Weft_Channel, count)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG((zend_long) weft_channel_of(Z_OBJ_P(ZEND_THIS))->held);
}

ZEND_METHOD(Weft_Channel, getIterator)
{
	ZEND_PARSE_PARAMETERS_NONE();
	zend_create_internal_iterator_zval(return_value, ZEND_THIS);
}

/* ---- the iterator: receives until the channel is closed and empty ---- */

typedef struct {
	zend_object_iterator iterator; /* its data is the channel */
	zval value;                    /* UNDEF: there is none */
	zend_long key;
} receiving;

static void receive_next(receiving *at)
{
	zval_ptr_dtor(&at->value);
	ZVAL_UNDEF(&at->value);
	if (weft_channel_receive(weft_channel_of(Z_OBJ(at->iterator.data)), &at->value, 0, true) != WEFT_CHANNEL_DONE) {
		ZVAL_UNDEF(&at->value);
	}
}

static void iterator_free(zend_object_iterator *iterator)
{
	zval_ptr_dtor(&((receiving *) iterator)->value);
	ZVAL_UNDEF(&((receiving *) iterator)->value);
	zval_ptr_dtor(&iterator->data);
}

static int iterator_valid(zend_object_iterator *iterator)
{
	return Z_TYPE(((receiving *) iterator)->value) == IS_UNDEF ? FAILURE : SUCCESS;
}

static zval *iterator_value(zend_object_iterator *iterator)
{
	return &((receiving *) iterator)->value;
}

static void iterator_key(zend_object_iterator *iterator, zval *key)
{
	ZVAL_LONG(key, ((receiving *) iterator)->key);
}

static void iterator_next(zend_object_iterator *iterator)
{
	((receiving *) iterator)->key++;
	receive_next((receiving *) iterator);
}

/* What has been received is not received again: an iterator that has begun stays where it is. */
static void iterator_rewind(zend_object_iterator *iterator)
{
	receiving *at = (receiving *) iterator;
	if (at->key < 0) {
		at->key = 0;
		receive_next(at);
	}
}

static HashTable *iterator_gc(zend_object_iterator *iterator, zval **table, int *count)
{
	zend_get_gc_buffer *buffer = zend_get_gc_buffer_create();
	zend_get_gc_buffer_add_zval(buffer, &iterator->data);
	zend_get_gc_buffer_add_zval(buffer, &((receiving *) iterator)->value);
	zend_get_gc_buffer_use(buffer, table, count);
	return NULL;
}

static const zend_object_iterator_funcs iterator_functions = {
	.dtor = iterator_free,
	.valid = (void *) iterator_valid, /* its type differs between versions of PHP, not its result */
	.get_current_data = iterator_value,
	.get_current_key = iterator_key,
	.move_forward = iterator_next,
	.rewind = iterator_rewind,
	.get_gc = iterator_gc,
};

static zend_object_iterator *iterate(zend_class_entry *class, zval *object, int by_reference)
{
	(void) class;
	if (by_reference) {
		zend_throw_error(NULL, "An iterator cannot be used with foreach by reference");
		return NULL;
	}
	receiving *at = emalloc(sizeof(*at));
	zend_iterator_init(&at->iterator);
	ZVAL_OBJ_COPY(&at->iterator.data, Z_OBJ_P(object));
	at->iterator.funcs = &iterator_functions;
	ZVAL_UNDEF(&at->value);
	at->key = -1;
	return &at->iterator;
}

void weft_channel_register(void)
{
	closed_class = register_class_Weft_ChannelClosed(spl_ce_RuntimeException);
	channel_class = register_class_Weft_Channel(NULL);
	channel_class->create_object = create;
	channel_class->get_iterator = iterate;
	zend_class_implements(channel_class, 2, zend_ce_aggregate, zend_ce_countable);
	weft_declare_once(channel_class, "capacity");
	memcpy(&handlers, &std_object_handlers, sizeof(handlers));
	handlers.offset = offsetof(weft_channel, std);
	handlers.free_obj = free_object;
	handlers.get_gc = get_gc;
	handlers.clone_obj = NULL;
}
