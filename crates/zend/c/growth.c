/* Finds the statics and globals that grow from request to request.
 *
 * A root is a static property, a static variable of a function or of the handler, or a global. Its size is the number
 * of elements and properties below it, to a limited depth: whatever grows forever shows up there. The first growth
 * after the root was first seen is ignored, because caches fill once. Must not know what a request is. Runs no user
 * code. */
#include "handler.h"
#include "leftover.h"
#include "zend_closures.h"

/* How far below a root, and at how many values, to look. */
#define DEPTH_MAX 3
#define VALUES_MAX 512

typedef struct {
	uint32_t size;
	uint32_t growths;
} root;

static HashTable *roots; /* name -> root */
static weft_finding say;

static uint32_t size_of(zval *value, uint32_t depth, uint32_t *left);

static uint32_t size_of_elements(const HashTable *elements, uint32_t depth, uint32_t *left)
{
	uint32_t size = zend_hash_num_elements(elements);
	zval *element;
	if (depth > 0) {
		ZEND_HASH_FOREACH_VAL((HashTable *) elements, element) {
			if (*left == 0) {
				break;
			}
			size += size_of(Z_TYPE_P(element) == IS_INDIRECT ? Z_INDIRECT_P(element) : element, depth - 1, left);
		} ZEND_HASH_FOREACH_END();
	}
	return size;
}

/* Without object handlers that user code could influence. */
static uint32_t size_of_object(zend_object *object, uint32_t depth, uint32_t *left)
{
	uint32_t size = 0;
	zend_long count;
	if (object->ce->type == ZEND_INTERNAL_CLASS && object->handlers->count_elements
			&& object->handlers->count_elements(object, &count) == SUCCESS) {
		return (uint32_t) count;
	}
	if (object->properties) {
		return size_of_elements(object->properties, depth, left);
	}
	for (int i = 0; depth > 0 && *left > 0 && i < object->ce->default_properties_count; i++) {
		size += size_of(&object->properties_table[i], depth - 1, left);
	}
	return size;
}

static uint32_t size_of(zval *value, uint32_t depth, uint32_t *left)
{
	if (*left == 0) {
		return 0;
	}
	--*left;
	ZVAL_DEREF(value);
	switch (Z_TYPE_P(value)) {
		case IS_ARRAY:
			return size_of_elements(Z_ARRVAL_P(value), depth, left);
		case IS_OBJECT:
			return size_of_object(Z_OBJ_P(value), depth, left);
		default:
			return 0;
	}
}

static void look_at(zend_string *name, zval *value, const char *file, uint32_t line)
{
	uint32_t left = VALUES_MAX, size = size_of(value, DEPTH_MAX, &left);
	root *known = zend_hash_find_ptr(roots, name);
	if (!known) {
		root first = {size, 0};
		zend_hash_add_mem(roots, name, &first, sizeof(first));
		zend_string_release(name);
		return;
	}
	if (size > known->size && say && ++known->growths > 1) {
		zend_string *place = file ? strpprintf(0, " (declared in %s:%u)", file, line) : strpprintf(0, " (a global variable)");
		zend_string *text = strpprintf(0, "%s has grown from %u to %u elements%s; it is shared by all requests and keeps what they put in",
			ZSTR_VAL(name), known->size, size, ZSTR_VAL(place));
		say(ZSTR_VAL(name), text);
		zend_string_release(place);
		zend_string_release(text);
	}
	known->size = size;
	zend_string_release(name);
}

/* static $variables of a function; the `use` variables of a closure are among them. */
static void look_at_function(const char *prefix, const zend_op_array *function)
{
	HashTable *variables = ZEND_MAP_PTR_GET(function->static_variables_ptr);
	zend_string *name;
	zval *value;
	if (function->type != ZEND_USER_FUNCTION || !function->static_variables || !variables) {
		return;
	}
	ZEND_HASH_FOREACH_STR_KEY_VAL(variables, name, value) {
		look_at(strpprintf(0, "%s%s() static $%s", prefix, ZSTR_VAL(function->function_name), ZSTR_VAL(name)), value,
			ZSTR_VAL(function->filename), function->line_start);
	} ZEND_HASH_FOREACH_END();
}

static void look_at_class(zend_class_entry *class_entry)
{
	zend_property_info *property;
	zend_string *name;
	zend_op_array *method;
	char prefix[256];
	zval *values = class_entry->default_static_members_count ? CE_STATIC_MEMBERS(class_entry) : NULL;
	if (values) {
		ZEND_HASH_FOREACH_STR_KEY_PTR(&class_entry->properties_info, name, property) {
			if ((property->flags & ZEND_ACC_STATIC) && property->ce == class_entry) {
				zval *value = &values[property->offset];
				ZVAL_DEINDIRECT(value);
				look_at(strpprintf(0, "%s::$%s", ZSTR_VAL(class_entry->name), ZSTR_VAL(name)), value,
					ZSTR_VAL(class_entry->info.user.filename), class_entry->info.user.line_start);
			}
		} ZEND_HASH_FOREACH_END();
	}
	snprintf(prefix, sizeof(prefix), "%s::", ZSTR_VAL(class_entry->name));
	ZEND_HASH_FOREACH_PTR(&class_entry->function_table, method) {
		if (method->type == ZEND_USER_FUNCTION && method->scope == class_entry) {
			look_at_function(prefix, method);
		}
	} ZEND_HASH_FOREACH_END();
}

static void look_at_globals(void)
{
	zend_string *name;
	zval *value;
	ZEND_HASH_FOREACH_STR_KEY_VAL(&EG(symbol_table), name, value) {
		if (name && ZSTR_VAL(name)[0] != '_' && !zend_string_equals_literal(name, "GLOBALS")) {
			ZVAL_DEINDIRECT(value);
			look_at(strpprintf(0, "$GLOBALS['%s']", ZSTR_VAL(name)), value, NULL, 0);
		}
	} ZEND_HASH_FOREACH_END();
}

void weft_growth_look(weft_finding report)
{
	zend_class_entry *class_entry;
	zend_string *key;
	zend_function *function;
	if (!roots) {
		ALLOC_HASHTABLE(roots);
		zend_hash_init(roots, 64, NULL, NULL, 0);
	}
	say = report;
	ZEND_HASH_FOREACH_STR_KEY_PTR(EG(class_table), key, class_entry) {
		if (class_entry->type == ZEND_USER_CLASS && key && ZSTR_VAL(key)[0] && (class_entry->ce_flags & ZEND_ACC_LINKED)) {
			look_at_class(class_entry);
		}
	} ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_PTR(EG(function_table), function) {
		if (function->type == ZEND_USER_FUNCTION) {
			look_at_function("", &function->op_array);
		}
	} ZEND_HASH_FOREACH_END();
	zend_function *handler = weft_handler_function();
	if (handler && handler->type == ZEND_USER_FUNCTION && (handler->common.fn_flags & ZEND_ACC_CLOSURE)) {
		look_at_function("the handler ", &handler->op_array);
	}
	look_at_globals();
}
