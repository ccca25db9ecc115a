/* A public property of an internal class that its constructor sets for good: `public readonly int $name`.
 *
 * Must not know whose. Invariant: it is the first property of its class. */
#ifndef WEFT_ONCE_H
#define WEFT_ONCE_H

#include "weft.h"

static inline void weft_declare_once(zend_class_entry *class, const char *name)
{
	zval unset;
	zend_string *text = zend_string_init_interned(name, strlen(name), 1);
	ZVAL_UNDEF(&unset);
	zend_declare_typed_property(class, text, &unset, ZEND_ACC_PUBLIC | ZEND_ACC_READONLY, NULL,
		(zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
}

/* false: it has a value already, and an exception says so. */
static inline bool weft_set_once(zend_object *object, zend_long number)
{
	zval *property = OBJ_PROP_NUM(object, 0);
	if (Z_TYPE_P(property) != IS_UNDEF) {
		zend_readonly_property_modification_error(zend_get_typed_property_info_for_slot(object, property));
		return false;
	}
	ZVAL_LONG(property, number);
	Z_PROP_FLAG_P(property) = 0;
	return true;
}

#endif
