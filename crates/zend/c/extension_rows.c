/* The rows of extensions.c: which globals of which extension belong to a coroutine.
 *
 * docs/internals/isolation.md lists every extension and the findings for it. A module's globals are reached through
 * its globals_ptr. If no installed header has their layout, php/layouts.h defines it after the named source, and it
 * is used only if the module confirms it (extension_globals.c). Keys are words of eight bytes; if a smaller field is meant,
 * the rest of the word belongs to the row or never changes. */
#include "extension_rows.h"
#include "boot.h"
#include "extension_globals.h"
#include "extension_owners.h"
#include "php/layouts.h"
#include "php/random.h"
#include "php/version.h"
#include "wrappers.h"
#include "ext/date/php_date.h"
#include "ext/pcre/php_pcre.h"
#include "ext/standard/file.h"

#include <dlfcn.h>
#include <stddef.h>

static zend_libxml_globals *libxml;
static intl_globals *intl;
static zend_mysqli_globals *mysqli;
static zlib_globals *zlib;
static zend_mbstring_globals *mbstring;
static mb_regex_globals *mb_regex;
static odbc_globals *odbc;
static zend_date_globals *date;
static zend_module_entry *zlib_module, *gmp_module;
static WEFT_BOOT bool boot_keeps_xml_errors;

/* ---- state that is freed with its coroutine ---- */

static void free_allocated(void *at)
{
	if (*(void **) at) {
		efree(*(void **) at);
	}
}

static void free_persistent(void *at)
{
	free(*(void **) at);
}

static void free_zval(void *at)
{
	zval_ptr_dtor(at);
}

static void free_mysqli_error(void *at)
{
	(void) at;
	if (mysqli->error_msg) {
		efree(mysqli->error_msg);
	}
}

static void free_intl_error(void *at)
{
	(void) at;
#if PHP_VERSION_ID >= 80500
	if (intl->error.message) {
		zend_string_release(intl->error.message);
	}
#else
	if (intl->error.message_is_ours && intl->error.message) {
		efree(intl->error.message);
	}
#endif
}

/* The extension's own end of a request frees a compression in progress. */
static void free_compression(void *at)
{
	(void) at;
	zlib_module->request_shutdown_func(zlib_module->type, zlib_module->module_number);
}

/* The same for a generator of random numbers, which a request gets by its first use. */
static void free_gmp_random(void *at)
{
	(void) at;
	gmp_module->request_shutdown_func(gmp_module->type, gmp_module->module_number);
}

static void free_host(void *at)
{
	free(((struct { struct hostent host; char *buffer; } *) at)->buffer);
}

static void free_text(void *at)
{
	smart_str_free((smart_str *) at);
}

static void free_search(void *at)
{
	static void (*free_result)(void *, int);
	void *result = mb_regex->search_result;
	(void) at;
	if (!free_result) {
		free_result = dlsym(RTLD_DEFAULT, "onig_region_free");
	}
	zval_ptr_dtor(&mb_regex->searched);
	if (result && free_result) {
		free_result(result, 1);
	}
}

/* All coroutines share the compiled patterns, and another one's may have replaced this one meanwhile. Then the
 * coroutine has none, as when that happens in PHP (php_mbregex_compile_pattern in ext/mbstring/php_mbregex.c). */
static void search_changed(void)
{
	void *pattern;
	if (!mb_regex->search_pattern) {
		return;
	}
	ZEND_HASH_FOREACH_PTR(&mb_regex->compiled, pattern) {
		if (pattern == mb_regex->search_pattern) {
			return;
		}
	} ZEND_HASH_FOREACH_END();
	mb_regex->search_pattern = NULL;
}

/* Allocated by its parser: a parse without an error makes ext/date free it. */
static void free_date_errors(void *at)
{
	(void) at;
	zval result, text;
	zend_function *create = zend_hash_str_find_ptr(EG(function_table), ZEND_STRL("date_create"));
	ZVAL_UNDEF(&result);
	ZVAL_STRING(&text, "now");
	if (create) {
		zend_call_known_function(create, NULL, NULL, &result, 1, &text, NULL);
	}
	zval_ptr_dtor(&text);
	zval_ptr_dtor(&result);
}

static void free_list(void *at)
{
	zend_llist *list = *(zend_llist **) at;
	if (list) {
		zend_llist_destroy(list);
		efree(list);
	}
}

static void free_list_in_place(void *at)
{
	zend_llist_destroy(at);
}

#if PHP_VERSION_ID >= 80400
/* The table does not own the links: each removes itself when it is freed. */
static void free_links(void *at)
{
	zend_hash_destroy(at);
}
#endif

#if PHP_VERSION_ID >= 80300
static void free_callback(void *at)
{
	zend_fcall_info_cache *callback = at;
	if (ZEND_FCC_INITIALIZED(*callback)) {
		zend_fcc_dtor(callback);
	}
}
#endif

static void free_header_callback(void *at)
{
#if PHP_VERSION_ID >= 80600
	free_callback(at);
#else
	free_zval(at);
#endif
}

static void free_context(void *at)
{
	php_stream_context *context = *(php_stream_context **) at;
	if (context) {
		zend_list_delete(context->res);
	}
}

/* ext/standard/url_scanner_ex.re: the text added to links, and the part of the page that has been scanned. */
static void free_rewriting(void *at)
{
	url_adapt_state_ex_t *state = at;
	smart_str *parts[] = {&state->tag, &state->arg, &state->val, &state->buf, &state->result, &state->form_app, &state->url_app,
		&state->attr_val};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		smart_str_free(parts[i]);
	}
}

/* ---- the rows ---- */

static weft_row *next_row;

static void row(void *at, size_t size, size_t key, void (*release)(void *), void (*changed)(void))
{
	*next_row++ = (weft_row){at, size, key, release, changed, NULL};
}

static void (*set_xml_handler)(void *, void *);
static void *collect_xml_errors;

/* libxml2's own variable determines where errors go; the extension's determines where they are kept. */
static void xml_errors_changed(void)
{
	if (set_xml_handler && collect_xml_errors) {
		set_xml_handler(NULL, libxml->error_list ? collect_xml_errors : NULL);
	}
}

static void use_internal_xml_errors(bool use)
{
	zval result, argument;
	zend_function *function = zend_hash_str_find_ptr(EG(function_table), ZEND_STRL("libxml_use_internal_errors"));
	ZVAL_BOOL(&argument, use);
	ZVAL_UNDEF(&result);
	if (function) {
		zend_call_known_function(function, NULL, NULL, &result, 1, &argument, NULL);
	}
}

/* The function of the extension that collects errors is not exported since PHP 8.4. libxml2 tells which one it is while errors are
 * collected. */
static void find_xml_handler(void)
{
	void **(*handler)(void) = (void **(*)(void)) dlsym(RTLD_DEFAULT, "__xmlStructuredError");
	set_xml_handler = (void (*)(void *, void *)) dlsym(RTLD_DEFAULT, "xmlSetStructuredErrorFunc");
	if (handler && !collect_xml_errors) {
		use_internal_xml_errors(true);
		collect_xml_errors = *handler();
	}
	use_internal_xml_errors(false);
}

/* The tags that are rewritten come after all the rest, as an ini value. */
static void row_of_rewriting(url_adapt_state_ex_t *state)
{
	row(state, offsetof(url_adapt_state_ex_t, tags), offsetof(url_adapt_state_ex_t, active), free_rewriting, NULL);
}

static void rows_of_core(void)
{
	row_of_rewriting(&BG(url_adapt_session_ex));
	row_of_rewriting(&BG(url_adapt_output_ex));
	row(&FG(default_context), sizeof(void *), 0, free_context, NULL);
	row(&FG(stream_wrappers), sizeof(void *), 0, weft_free_wrappers, NULL);
	row(&FG(stream_filters), sizeof(void *), 0, weft_free_filters, NULL);
	row(&BG(user_filter_map), sizeof(void *), 0, weft_free_filter_map, NULL);
	row(&PG(tick_functions), sizeof(zend_llist), 0, free_list_in_place, NULL);
	row(&BG(user_tick_functions), sizeof(void *), 0, free_list, NULL);
	weft_random_row(row);
	row(&PCRE_G(error_code), sizeof(int), 0, NULL, NULL);
	row(&FG(tmp_host_info), sizeof(php_file_globals) - offsetof(php_file_globals, tmp_host_info),
		offsetof(php_file_globals, tmp_host_buf) - offsetof(php_file_globals, tmp_host_info), free_host, NULL);
	/* highlight_file() and similar functions, whose output may wait. Compiling is one step (compile.c). */
	row(&language_scanner_globals, sizeof(language_scanner_globals), offsetof(zend_php_scanner_globals, yy_start), NULL, NULL);
	row(WEFT_HEADER_CALLBACK, WEFT_HEADER_CALLBACK_BYTES, WEFT_HEADER_CALLBACK_KEY, free_header_callback, NULL);
}

static void rows_of_text(void)
{
	if ((mbstring = weft_extension_globals("mbstring", sizeof(*mbstring)))) {
		mb_regex = (mb_regex_globals *) mbstring->mb_regex_globals;
		Z_NEXT(mb_regex->searched) = 0; /* read with the type; the extension sets that alone, and has this from malloc */
		row(&mbstring->current_internal_encoding, sizeof(void *), 0, NULL, NULL);
		row(&mbstring->current_http_output_encoding, sizeof(void *), 0, NULL, NULL);
		row(&mbstring->current_detect_order_list, sizeof(void *) + sizeof(size_t), 0, free_allocated, NULL);
		row(&mbstring->current_filter_illegal_mode, 2 * sizeof(int), 0, NULL, NULL);
		row(&mbstring->illegalchars, sizeof(size_t), 0, NULL, NULL);
		row(&mb_regex->searched, offsetof(mb_regex_globals, options) - offsetof(mb_regex_globals, searched), offsetof(zval, u1),
			free_search, search_changed);
	}
	if ((intl = weft_extension_globals("intl", sizeof(*intl)))) {
		row(&intl->collator, sizeof(void *), 0, NULL, NULL); /* set during a sort, which may call __toString() */
		row(&intl->compare, sizeof(void *), 0, NULL, NULL);
		row(&intl->error, sizeof(intl->error), offsetof(intl_globals, error.code) - offsetof(intl_globals, error), free_intl_error, NULL);
	}
	if ((libxml = weft_extension_globals("libxml", sizeof(*libxml)))) {
		if (!dlsym(RTLD_DEFAULT, "__xmlStructuredError") || !dlsym(RTLD_DEFAULT, "xmlSetStructuredErrorFunc")) {
			weft_extension_is_unknown("libxml"); /* see find_xml_handler() */
		}
		row(&libxml->error_list, sizeof(void *), 0, free_list, xml_errors_changed);
		row(&libxml->error_buffer, sizeof(smart_str), 0, free_text, NULL);
		row(&libxml->stream_context, sizeof(zval), 0, free_zval, NULL);
#if PHP_VERSION_ID >= 80300
		row(&libxml->entity_loader_callback, sizeof(zend_fcall_info_cache), 0, free_callback, NULL);
#else
		row(&libxml->entity_loader, sizeof(libxml->entity_loader), 0, free_zval, NULL);
#endif
	}
	gmp_globals *gmp = weft_extension_globals("gmp", sizeof(*gmp));
	if (gmp) {
		gmp_module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("gmp"));
		row(gmp, sizeof(*gmp), offsetof(gmp_globals, random.state), free_gmp_random, NULL);
	}
	if ((date = weft_extension_globals("date", sizeof(*date)))) {
		row(&date->last_errors, sizeof(void *), 0, free_date_errors, NULL);
	}
}

static void rows_of_clients(void)
{
	soap_globals *soap = weft_soap_globals();
	amqp_globals *amqp = weft_amqp_globals();
	pcntl_globals *pcntl = weft_extension_globals("pcntl", sizeof(*pcntl));
	sockets_globals *sockets = weft_extension_globals("sockets", sizeof(*sockets));
	posix_globals *posix = weft_extension_globals("posix", sizeof(*posix));
	openssl_globals *openssl = weft_extension_globals("openssl", sizeof(*openssl));
	snmp_globals *snmp = weft_extension_globals("snmp", sizeof(*snmp));
	if ((mysqli = weft_extension_globals("mysqli", sizeof(*mysqli)))) {
		row(&mysqli->error_no, sizeof(zend_long) + sizeof(char *), 0, free_mysqli_error, NULL);
		row(&mysqli->report_mode, sizeof(zend_long), 0, NULL, NULL);
	}
	if (soap) { /* set during a call, which waits */
		row(&soap->typemap, offsetof(soap_globals, cache_dir) - offsetof(soap_globals, typemap),
			offsetof(soap_globals, use_error_handler) - offsetof(soap_globals, typemap), NULL, NULL);
		row(&soap->encoding, sizeof(void *), 0, NULL, NULL);
		row(&soap->class_map, sizeof(void *), 0, NULL, NULL);
		row(&soap->features, sizeof(int), 0, NULL, NULL);
	}
	if ((odbc = weft_extension_globals("odbc", sizeof(*odbc)))) {
#if PHP_VERSION_ID < 80500
		row(&odbc->default_connection, sizeof(zend_long), 0, NULL, NULL);
#endif
		row(&odbc->last_state, offsetof(odbc_globals, last_error) + sizeof(odbc->last_error) - offsetof(odbc_globals, last_state),
			0, NULL, NULL);
#if PHP_VERSION_ID >= 80400
		/* Links by connection string: asking twice for the same gives the same link, in one coroutine only. */
		row(&odbc->connections, sizeof(HashTable), offsetof(HashTable, arData), free_links, NULL);
#endif
	}
	if (snmp) {
		row(&snmp->valueretrieval, sizeof(int), 0, NULL, NULL);
	}
	if (amqp) { /* between a failure and its exception, a channel may be closed */
		row(amqp, sizeof(*amqp), 0, free_allocated, NULL);
	}
	if (pcntl) {
		row(&pcntl->last_error, sizeof(int), 0, NULL, NULL);
	}
	if (sockets) {
		row(&sockets->last_error, sizeof(int), 0, NULL, NULL);
	}
	if (posix) {
		row(&posix->last_error, sizeof(int), 0, NULL, NULL);
	}
	if (openssl) {
#if PHP_VERSION_ID >= 80400
		row(openssl, 2 * sizeof(void *), 0, free_persistent, NULL);
#else
		row(openssl, sizeof(void *), 0, free_persistent, NULL);
#endif
	}
	if ((zlib = weft_extension_globals("zlib", sizeof(*zlib)))) {
		zlib_module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("zlib"));
		row(&zlib->handler_registered, sizeof(zend_long), 0, NULL, NULL);
		row(&zlib->ob_gzhandler, sizeof(void *), 0, free_compression, NULL);
	}
}

size_t weft_extension_rows(weft_row *rows)
{
	next_row = rows;
	rows_of_core();
	rows_of_text();
	rows_of_clients();
	weft_extension_owners_prepare(mbstring);
	return (size_t) (next_row - rows);
}

/* A request may replace it, and its last owner then frees it: the booted value gets an owner that never releases
 * it. */
static void keep_counted_for_ever(zend_refcounted *value)
{
	GC_SET_REFCOUNT(value, GC_REFCOUNT(value) + (1u << 29));
}

static void keep_for_ever(const zval *value)
{
	if (Z_REFCOUNTED_P(value)) {
		keep_counted_for_ever(Z_COUNTED_P(value));
	}
}

#if PHP_VERSION_ID >= 80300
static void keep_callback_for_ever(const zend_fcall_info_cache *callback)
{
	if (callback->object) {
		keep_counted_for_ever((zend_refcounted *) callback->object);
	}
	if (callback->closure) {
		keep_counted_for_ever((zend_refcounted *) callback->closure);
	}
}
#endif

static void keep_header_callback_for_ever(void)
{
#if PHP_VERSION_ID >= 80600
	keep_callback_for_ever(WEFT_HEADER_CALLBACK);
#else
	keep_for_ever(WEFT_HEADER_CALLBACK);
#endif
}

void weft_extension_rows_booted(void)
{
	if (mysqli) {
		free_mysqli_error(NULL);
		mysqli->error_no = 0;
		mysqli->error_msg = NULL;
	}
	if (intl) {
		free_intl_error(NULL);
		memset(&intl->error, 0, sizeof(intl->error));
	}
	if (date) {
		date->last_errors = NULL;
	}
	if (libxml) {
		boot_keeps_xml_errors = libxml->error_list != NULL;
		find_xml_handler();
		keep_for_ever(&libxml->stream_context);
#if PHP_VERSION_ID >= 80300
		keep_callback_for_ever(&libxml->entity_loader_callback);
#else
		keep_for_ever(&libxml->entity_loader.callback);
#endif
	}
#if PHP_VERSION_ID >= 80400
	if (odbc) { /* links that were opened during the boot stay the application's */
		zend_hash_init(&odbc->connections, 0, NULL, odbc->connections.pDestructor, true);
	}
#endif
	keep_header_callback_for_ever();
	if (!FG(default_context)) {
		FG(default_context) = php_stream_context_alloc();
	}
	weft_wrappers_booted();
	weft_say_unknown_extensions();
	url_adapt_state_ex_t *rewriting[] = {&BG(url_adapt_session_ex), &BG(url_adapt_output_ex)};
	for (size_t i = 0; i < 2; i++) { /* the output buffer to which it belongs has ended */
		free_rewriting(rewriting[i]);
		memset(rewriting[i], 0, offsetof(url_adapt_state_ex_t, tags));
	}
	weft_extension_owners_booted();
}

void weft_extension_rows_begin(void)
{
	if (UNEXPECTED(boot_keeps_xml_errors)) {
		use_internal_xml_errors(true);
	}
}
