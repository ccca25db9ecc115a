/* The properties of SharedPdo's PHP classes that quick_statement.c reads and writes, and where they are.
 *
 * Only for that file. Must not know what they mean: the classes say that. Invariant: a property is found by its name, and a class
 * that lacks one is not a class that we know. */
#ifndef WEFT_QUICK_PROPERTIES_H
#define WEFT_QUICK_PROPERTIES_H

#include "weft.h"

#define PROPERTIES_MAX 13 /* of one class */

/* Where a class has them: found by name when its first object comes. */
typedef struct {
	const char *names[PROPERTIES_MAX + 1]; /* ends with NULL */
	zend_class_entry *class_entry;
	uint32_t offsets[PROPERTIES_MAX];
} layout;

enum { S_LEASES, S_PREPARED, S_TICKET, S_SESSION, S_LEFT, S_ROWS, S_COLUMNS, S_BOUND, S_GIVEN, S_SETTINGS, S_ERROR, S_OPTIONS, S_ONCE };
static layout statements = {.names = {"leases", "prepared", "ticket", "session", "left", "rows", "columns", "bound", "given", "settings",
	"error", "options", "once"}};
_Static_assert(S_ONCE < PROPERTIES_MAX, "the list of names needs its end");
enum { L_SESSIONS, L_SLOTS, L_WAITERS, L_VERSION, L_TICKETS };
static layout leases_layout = {.names = {"sessions", "slots", "waiters", "attributesVersion", "tickets"}};
enum { W_COUNT };
static layout waiters_layout = {.names = {"count"}};
enum { I_IDLE, I_CLOSED, I_DISTRUSTED, I_IDLE_NS, I_AGE_NS };
static layout slots_layout = {.names = {"idle", "closed", "distrustedNs", "idleNs", "ageNs"}};
enum { T_USED, T_HELD, T_OPENED, T_RESOURCE };
static layout slot_layout = {.names = {"usedAt", "held", "openedAt", "resource"}};
enum { N_SLOT, N_LOOSE, N_STREAK, N_CURSORS, N_HOLDS, N_TRANSACTION, N_LOST, N_CHANGED, N_ERROR, N_USED };
static layout sessions_layout = {.names = {"slot", "loose", "streak", "cursors", "holds", "transaction", "lost", "changed", "error",
	"used"}};
enum { C_VERSION, C_BUFFERED, C_STATEMENTS, C_MAX, C_PDO };
static layout connections_layout = {.names = {"attributesVersion", "buffered", "statements", "statementsMax", "pdo"}};
enum { P_TICKET, P_BOUND, P_MODE_SET, P_DISPOSABLE, P_STATEMENT, P_SINGLE, P_CHANGES, P_SQL };
static layout prepared_layout = {.names = {"ticket", "bound", "fetchModeSet", "disposable", "statement", "single", "changes", "sql"}};

static bool find_properties(layout *of, zend_class_entry *class_entry)
{
	for (int i = 0; of->names[i]; i++) {
		const zend_property_info *info = zend_hash_str_find_ptr(&class_entry->properties_info, of->names[i], strlen(of->names[i]));
		if (!info || (info->flags & ZEND_ACC_STATIC)) {
			return false;
		}
		of->offsets[i] = info->offset;
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
	return EXPECTED(object->ce == of->class_entry) || find_properties(of, object->ce) ? object : NULL;
}

#define AT(object, of, property) OBJ_PROP(object, (of).offsets[property])
#define IS_TRUE_AT(object, of, property) (Z_TYPE_P(AT(object, of, property)) == IS_TRUE)

static inline void set(zval *property, zval *value)
{
	zval old;
	ZVAL_COPY_VALUE(&old, property);
	ZVAL_COPY_VALUE(property, value);
	zval_ptr_dtor(&old);
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

static inline bool is_array_with(const zval *value)
{
	return Z_TYPE_P(value) == IS_ARRAY && zend_hash_num_elements(Z_ARRVAL_P(value)) != 0;
}

#endif
