/* Development mode reports what a request has left behind: what grows, what is still open, what it has changed.
 *
 * There is one line in the log for each finding, once per route. What only one request can have done is always
 * checked; what all requests share is compared if no other request ran in between. In production none of this is
 * called. */
#include "leftover.h"
#include "coroutine.h"
#include "host.h"
#include "process_state.h"
#include "ext/pdo/php_pdo_driver.h"
#include "zend_smart_str.h"

/* The maximum of findings that are remembered, so that each is reported once. Beyond that, nothing more is
 * reported. */
#define SAID_MAX 4096

/* What is recorded when a request begins. */
struct weft_leftover {
	zend_string *route;
	zend_ulong first_resource;       /* later resources have higher numbers */
};

static HashTable *said;
static uint32_t running;
static bool mixed;                   /* more than one request has run since the last look */
static zend_string *route;           /* of the request that is looked at */
static uint64_t request;

/* "GET /users/17" and "GET /users/18" are one route. */
static zend_string *route_of(uint64_t request)
{
	weft_slice method = weft_host_field(request, WEFT_FIELD_METHOD), path = weft_host_field(request, WEFT_FIELD_PATH);
	smart_str text = {0};
	smart_str_appendl(&text, method.bytes, method.length);
	smart_str_appendc(&text, ' ');
	for (size_t i = 0; i < path.length; i++) {
		bool digit = isdigit((unsigned char) path.bytes[i]);
		if (!digit) {
			smart_str_appendc(&text, path.bytes[i]);
		} else if (i == 0 || !isdigit((unsigned char) path.bytes[i - 1])) {
			smart_str_appendc(&text, '#');
		}
	}
	smart_str_0(&text);
	return text.s;
}

static void report(const char *name, zend_string *text)
{
	if (!said) {
		ALLOC_HASHTABLE(said);
		zend_hash_init(said, 16, NULL, NULL, 0);
	}
	zend_string *key = strpprintf(0, "%s %s", ZSTR_VAL(route), name);
	if (zend_hash_num_elements(said) < SAID_MAX && zend_hash_add_empty_element(said, key)) {
		zend_string *line = strpprintf(0, "left behind by %s: %s", ZSTR_VAL(route), ZSTR_VAL(text));
		weft_host_log(WEFT_LOG_WARNING, request, weft_slice_of(line));
		zend_string_release(line);
	}
	zend_string_release(key);
}

static void report_text(const char *name, zend_string *text)
{
	report(name, text);
	zend_string_release(text);
}

/* ---- state of the request, which is undone ---- */

static void look_at_settings(void)
{
	zend_ini_entry *entry;
	if (!EG(modified_ini_directives)) {
		return;
	}
	ZEND_HASH_MAP_FOREACH_PTR(EG(modified_ini_directives), entry) {
		const char *now = entry->value ? ZSTR_VAL(entry->value) : "", *before = entry->orig_value ? ZSTR_VAL(entry->orig_value) : "";
		if (strcmp(now, before) != 0 && strncmp(ZSTR_VAL(entry->name), "session.", 8) != 0) {
			report_text(ZSTR_VAL(entry->name), strpprintf(0, "the ini setting %s, changed from \"%s\" to \"%s\"; it has been undone",
				ZSTR_VAL(entry->name), before, now));
		}
	} ZEND_HASH_FOREACH_END();
}

static void look_at_process(weft_coroutine *coroutine)
{
	zend_string *text;
	for (uint32_t what = 0; (text = weft_process_state_left(coroutine, &what));) {
		report_text(ZSTR_VAL(text), text);
	}
}

/* ---- state that all requests share ---- */

static void look_at_resources(zend_ulong first)
{
	zend_resource *resource;
	ZEND_HASH_REVERSE_FOREACH_PTR(&EG(regular_list), resource) {
		const char *type = zend_rsrc_list_get_rsrc_type(resource);
		if ((zend_ulong) resource->handle < first) {
			return;
		}
		if (!type || !strcmp(type, "stream-context") || !strcmp(type, "persistent stream")) {
			continue;
		}
		php_stream *stream = strcmp(type, "stream") ? NULL : resource->ptr;
		const char *path = stream && stream->orig_path ? stream->orig_path : NULL;
		report_text(path ? path : type, strpprintf(0, "an open %s%s%s, which something still holds", type, path ? ": " : "", path ? path : ""));
	} ZEND_HASH_FOREACH_END();
}

static void look_at_transactions(void)
{
	zend_class_entry *pdo = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdo"));
	for (uint32_t i = 1; pdo && i < EG(objects_store).top; i++) {
		zend_object *object = EG(objects_store).object_buckets[i];
		if (!IS_OBJ_VALID(object) || !instanceof_function(object->ce, pdo)) {
			continue;
		}
		pdo_dbh_t *connection = php_pdo_dbh_fetch_inner(object);
		if (!connection->driver_data || !connection->methods || !connection->driver) {
			continue;
		}
		bool open = connection->methods->in_transaction ? connection->methods->in_transaction(connection) : connection->in_txn;
		if (open) {
			report_text("transaction", strpprintf(0, "an open transaction on a %s connection (%s), which the next request will go on with",
				ZSTR_VAL(object->ce->name), connection->driver->driver_name));
		}
	}
}

/* ---- the request ---- */

void weft_leftover_begin(weft_coroutine *coroutine)
{
	weft_leftover *noted = emalloc(sizeof(*noted));
	noted->route = route_of(coroutine->request);
	noted->first_resource = zend_hash_next_free_element(&EG(regular_list));
	*weft_leftover_slot(coroutine) = noted;
	if (++running > 1) {
		mixed = true;
	}
}

/* The handler has returned; its output buffers are closed next. */
void weft_leftover_buffers(weft_coroutine *coroutine)
{
	int level = php_output_get_level();
	if (level > 0) {
		route = (*weft_leftover_slot(coroutine))->route;
		request = coroutine->request;
		report_text("output buffers", strpprintf(0, "%d open output buffer%s (ob_start); what stood in there has been sent", level, level > 1 ? "s" : ""));
	}
}

/* The request has ended, but its values are not freed yet. */
void weft_leftover_end(weft_coroutine *coroutine)
{
	weft_leftover *noted = *weft_leftover_slot(coroutine);
	*weft_leftover_slot(coroutine) = NULL;
	running--;
	route = noted->route;
	request = coroutine->request;
	look_at_settings();
	look_at_process(coroutine);
	if (!mixed) {
		look_at_resources(noted->first_resource);
		look_at_transactions();
	}
	weft_growth_look(mixed ? NULL : report);
	if (running == 0) {
		mixed = false;
	}
	zend_string_release(noted->route);
	efree(noted);
}
