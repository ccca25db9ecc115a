/* Properties of PHP classes that C code reads and writes: where they are.
 *
 * Must not know which. Invariant: a property has the number that its name says here; a class in which it has another is not a class
 * that we know. */
#ifndef WEFT_QUICK_LAYOUT_H
#define WEFT_QUICK_LAYOUT_H

#include "weft.h"

#define PROPERTIES_MAX 14 /* of one class */

/* Where a class has them: in the order in which it declares them, behind those of its parent. That is looked at when its first
 * object comes. */
typedef struct {
	const char *names[PROPERTIES_MAX]; /* NULL: one that C code does not know */
	zend_class_entry *class_entry;
} layout;

static bool has_properties(layout *of, zend_class_entry *class_entry)
{
	for (uint32_t i = 0; i < PROPERTIES_MAX; i++) {
		if (!of->names[i]) {
			continue;
		}
		const zend_property_info *info = zend_hash_str_find_ptr(&class_entry->properties_info, of->names[i], strlen(of->names[i]));
		if (!info || (info->flags & ZEND_ACC_STATIC) || info->offset != OBJ_PROP_TO_OFFSET(i)) {
			return false;
		}
	}
	of->class_entry = class_entry;
	return true;
}

/* The object in a property, if it is of the class of this layout. */
static inline zend_object *object_in(const zval *value, layout *of)
{
	if (UNEXPECTED(Z_TYPE_P(value) != IS_OBJECT)) {
		return NULL;
	}
	zend_object *object = Z_OBJ_P(value);
	return EXPECTED(object->ce == of->class_entry) || has_properties(of, object->ce) ? object : NULL;
}

#define AT(object, property) OBJ_PROP_NUM(object, property)
#define IS_TRUE_AT(object, property) (Z_TYPE_P(AT(object, property)) == IS_TRUE)

static inline void set(zval *property, zval *value)
{
	zval old;
	ZVAL_COPY_VALUE(&old, property);
	ZVAL_COPY_VALUE(property, value);
	if (Z_REFCOUNTED(old)) { /* seldom: that saves a call */
		zval_ptr_dtor(&old);
	}
}

static inline void set_null(zval *property)
{
	zval null;
	ZVAL_NULL(&null);
	set(property, &null);
}

static inline void set_object(zval *property, zend_object *object)
{
	zval value;
	GC_ADDREF(object);
	ZVAL_OBJ(&value, object);
	set(property, &value);
}

/* The array in a property, for writing. A property that was given to a function by reference remains one. */
static inline HashTable *array_at(zval *property)
{
	ZVAL_DEREF(property);
	SEPARATE_ARRAY(property);
	return Z_ARRVAL_P(property);
}

/* An element of a list, NULL if there is none. */
static inline zval *element(const HashTable *list, uint32_t number)
{
	if (EXPECTED(HT_IS_PACKED(list))) {
		return number < list->nNumUsed && Z_TYPE(list->arPacked[number]) != IS_UNDEF ? &list->arPacked[number] : NULL;
	}
	return zend_hash_index_find(list, number);
}

/* The last element of a list leaves it: array_pop(). */
static inline void pop(HashTable *list, zval *last)
{
	uint32_t count = zend_hash_num_elements(list);
	ZVAL_COPY_VALUE(last, element(list, count - 1));
	if (EXPECTED(HT_IS_PACKED(list) && list->nNumUsed == count && !HT_HAS_ITERATORS(list))) {
		ZVAL_UNDEF(&list->arPacked[count - 1]);
		list->nNumUsed = list->nNumOfElements = count - 1;
	} else {
		Z_TRY_ADDREF_P(last);
		zend_hash_index_del(list, count - 1);
	}
	list->nNextFreeElement = count - 1;
}

/* An element comes to the end of a list, which gets its reference. */
static inline void push(HashTable *list, zval *element)
{
	uint32_t count = list->nNumUsed;
	if (EXPECTED(HT_IS_PACKED(list) && !(HT_FLAGS(list) & HASH_FLAG_UNINITIALIZED) && count < list->nTableSize
			&& list->nNextFreeElement == (zend_long) count)) {
		ZVAL_COPY_VALUE(&list->arPacked[count], element);
		list->nNumUsed = (uint32_t) (list->nNextFreeElement = count + 1);
		list->nNumOfElements++;
	} else {
		zend_hash_next_index_insert_new(list, element);
	}
}

/* Whether it is an array that is not empty, or a reference to one: that is what a function leaves behind which takes it so. */
static inline bool is_array_with(const zval *value)
{
	ZVAL_DEREF(value);
	return Z_TYPE_P(value) == IS_ARRAY && zend_hash_num_elements(Z_ARRVAL_P(value)) != 0;
}

#endif
