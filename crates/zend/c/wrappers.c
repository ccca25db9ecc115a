/* Stream wrappers and filters that a request registers belong to it. PHP keeps each kind in a table that it copies
 * when the first one is registered; a coroutine copies the table it finds, and frees its copy at its end. */
#include "wrappers.h"
#include "boot.h"
#include "ext/standard/file.h"

/* ext/standard/user_filters.c */
typedef struct {
	zend_class_entry *class_entry;
	zend_string *class_name;
} user_filter;

static WEFT_BOOT HashTable *boot_wrappers, *boot_filters, *boot_map;

static HashTable *copy(const HashTable *table)
{
	HashTable *own;
	ALLOC_HASHTABLE(own);
	zend_hash_init(own, zend_hash_num_elements(table), NULL, NULL, 0);
	zend_hash_copy(own, (HashTable *) table, NULL);
	return own;
}

static void destroy(HashTable *table)
{
	zend_hash_destroy(table);
	FREE_HASHTABLE(table);
}

void weft_wrappers_booted(void)
{
	boot_wrappers = FG(stream_wrappers);
	boot_filters = FG(stream_filters);
	boot_map = BG(user_filter_map);
}

void weft_own_wrappers(void)
{
	if (boot_wrappers) {
		FG(stream_wrappers) = copy(boot_wrappers);
	}
}

/* A wrapper lives as a resource, to which open streams also hold a reference. */
static void let_go(const php_stream_wrapper *wrapper)
{
	zend_resource *resource;
	ZEND_HASH_REVERSE_FOREACH_PTR(&EG(regular_list), resource) {
		if (resource->ptr == wrapper) {
			zend_list_delete(resource);
			return;
		}
	} ZEND_HASH_FOREACH_END();
}

void weft_free_wrappers(void *at)
{
	HashTable *own = *(HashTable **) at, *all = boot_wrappers ? boot_wrappers : php_stream_get_url_stream_wrappers_hash_global();
	php_stream_wrapper *wrapper;
	zend_string *name;
	if (!own) {
		return;
	}
	ZEND_HASH_FOREACH_STR_KEY_PTR(own, name, wrapper) {
		if (zend_hash_find_ptr(all, name) != wrapper) {
			let_go(wrapper);
		}
	} ZEND_HASH_FOREACH_END();
	destroy(own);
}

void weft_own_filters(void)
{
	if (boot_filters) {
		FG(stream_filters) = copy(boot_filters);
	}
	if (boot_map) {
		BG(user_filter_map) = copy(boot_map);
	}
}

void weft_free_filters(void *at)
{
	if (*(HashTable **) at) {
		destroy(*(HashTable **) at);
	}
}

void weft_free_filter_map(void *at)
{
	HashTable *own = *(HashTable **) at;
	user_filter *filter;
	zend_string *name;
	if (!own) {
		return;
	}
	if (!own->pDestructor) { /* our copy: what the request has added is freed with it */
		ZEND_HASH_FOREACH_STR_KEY_PTR(own, name, filter) {
			if (zend_hash_find_ptr(boot_map, name) != filter) {
				zend_string_release(filter->class_name);
				efree(filter);
			}
		} ZEND_HASH_FOREACH_END();
	}
	destroy(own);
}
