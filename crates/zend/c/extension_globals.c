/* Finds the globals of a module, if their layout is the one in php/layouts.h.
 *
 * A module reports the size of its globals, and each of its settings where in them it is kept (STD_PHP_INI_ENTRY): a field that was
 * added, removed or moved shows in one or the other. Where fields have changed places within the same size, what a function of
 * the module returns shows it (numbers_fit). Must not know what is done with the globals. Invariant: globals of
 * another layout are never touched, and their module is named. */
#include "extension_globals.h"
#include "host.h"

/* A setting, and where the layout of its module has it. */
typedef struct {
	const char *module, *name;
	size_t offset;
} setting;

static const setting settings[] = {
	{"intl", "intl.default_locale", offsetof(intl_globals, default_locale)},
	{"intl", "intl.error_level", offsetof(intl_globals, error_level)},
	{"intl", "intl.use_exceptions", offsetof(intl_globals, use_exceptions)},
	{"mysqli", "mysqli.max_links", offsetof(zend_mysqli_globals, max_links)},
	{"mysqli", "mysqli.allow_local_infile", offsetof(zend_mysqli_globals, allow_local_infile)},
	{"mysqli", "mysqli.rollback_on_cached_plink", offsetof(zend_mysqli_globals, rollback_on_cached_plink)},
	{"mbstring", "mbstring.strict_detection", offsetof(zend_mbstring_globals, strict_detection)},
	{"mbstring", "mbstring.regex_stack_limit", offsetof(zend_mbstring_globals, regex_stack_limit)},
	{"mbstring", "mbstring.regex_retry_limit", offsetof(zend_mbstring_globals, regex_retry_limit)},
	{"zlib", "zlib.output_compression_level", offsetof(zlib_globals, compression_level)},
	{"zlib", "zlib.output_handler", offsetof(zlib_globals, output_handler)},
	{"odbc", "odbc.max_links", offsetof(odbc_globals, max_links)},
	{"odbc", "odbc.defaultlrl", offsetof(odbc_globals, default_lrl)},
	{"odbc", "odbc.default_cursortype", offsetof(odbc_globals, default_cursor_type)},
	{"pgsql", "pgsql.allow_persistent", offsetof(pgsql_globals, allow_persistent)},
	{"pgsql", "pgsql.max_links", offsetof(pgsql_globals, links_max)},
	{"pgsql", "pgsql.auto_reset_persistent", offsetof(pgsql_globals, auto_reset_persistent)},
	{"pgsql", "pgsql.ignore_notice", offsetof(pgsql_globals, ignore_notices)},
	{"pgsql", "pgsql.log_notice", offsetof(pgsql_globals, log_notices)},
	{"soap", "soap.wsdl_cache_dir", offsetof(soap_globals, cache_dir)},
	{"soap", "soap.wsdl_cache_ttl", offsetof(soap_globals, cache_ttl)},
	{"soap", "soap.wsdl_cache_limit", offsetof(soap_globals, cache_limit)},
};

/* Where the first releases of this PHP had it instead. */
static const setting first_settings[] = {
#if PHP_VERSION_ID < 80400
	{"pgsql", "pgsql.ignore_notice", offsetof(first_pgsql_globals, ignore_notices)},
	{"pgsql", "pgsql.log_notice", offsetof(first_pgsql_globals, log_notices)},
#endif
	{NULL, NULL, 0},
};

/* A function without arguments that returns a number, and where the layout of its module has that number: for what no setting shows. */
static const struct {
	const char *module, *name;
	size_t offset;
} numbers[] = {
	{"intl", "intl_get_error_code", offsetof(intl_globals, error.code)},
	{"pcntl", "pcntl_get_last_error", offsetof(pcntl_globals, last_error)},
	{"posix", "posix_get_last_error", offsetof(posix_globals, last_error)},
	{"snmp", "snmp_get_valueretrieval", offsetof(snmp_globals, valueretrieval)},
	{"sockets", "socket_last_error", offsetof(sockets_globals, last_error)},
};

/* As many as php/layouts.h has. */
#define MODULES_MAX 18

/* State of unknown layout cannot be isolated. Whether that is accepted is decided elsewhere; it is logged after the boot. */
static const char *unknown[MODULES_MAX];
static size_t unknown_count;

static bool was_there_first(const char *name, size_t offset)
{
	const setting *known = first_settings;
	while (known->name && strcmp(known->name, name) != 0) {
		known++;
	}
	return known->name && known->offset == offset;
}

static bool settings_fit(const char *module, const void *globals)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (strcmp(settings[i].module, module) != 0) {
			continue;
		}
		const zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), settings[i].name, strlen(settings[i].name));
		if (!entry) {
			continue;
		}
		size_t offset = (size_t) entry->mh_arg1;
		if (entry->mh_arg2 != globals || (offset != settings[i].offset && !was_there_first(settings[i].name, offset))) {
			return false;
		}
	}
	return true;
}

void weft_extension_is_unknown(const char *name)
{
	for (size_t i = 0; i < unknown_count; i++) {
		if (strcmp(unknown[i], name) == 0) {
			return;
		}
	}
	if (unknown_count < MODULES_MAX) {
		unknown[unknown_count++] = name;
	}
}

/* Writes each number and lets its function read it. No request is needed for that: the functions only read. */
static bool numbers_fit(const char *module, void *globals)
{
	const int probe = 4711;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const zend_function *function = zend_hash_str_find_ptr(CG(function_table), numbers[i].name, strlen(numbers[i].name));
		if (strcmp(numbers[i].module, module) != 0 || !function) {
			continue;
		}
		int *number = (int *) ((char *) globals + numbers[i].offset), before = *number;
		zend_execute_data frame = {.func = (zend_function *) function, .prev_execute_data = EG(current_execute_data)};
		zval said;
		ZVAL_UNDEF(&said);
		*number = probe;
		EG(current_execute_data) = &frame;
		function->internal_function.handler(&frame, &said);
		EG(current_execute_data) = frame.prev_execute_data;
		*number = before;
		if (Z_TYPE(said) != IS_LONG || Z_LVAL(said) != probe) {
			return false;
		}
	}
	return true;
}

static void *if_fits(const zend_module_entry *module, void *globals, bool size_fits)
{
	if (globals && size_fits && settings_fit(module->name, globals) && numbers_fit(module->name, globals)) {
		return globals;
	}
	weft_extension_is_unknown(module->name);
	return NULL;
}

static const zend_module_entry *module_named(const char *name)
{
	return zend_hash_str_find_ptr(&module_registry, name, strlen(name));
}

void *weft_extension_globals(const char *name, size_t size)
{
	const zend_module_entry *module = module_named(name);
	return module ? if_fits(module, module->globals_ptr, module->globals_size == size) : NULL;
}

/* The module soap does not publish where its globals are; its settings give the address. */
soap_globals *weft_soap_globals(void)
{
	const zend_module_entry *module = module_named("soap");
	const zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("soap.wsdl_cache_dir"));
	return module ? if_fits(module, entry ? entry->mh_arg2 : NULL, true) : NULL;
}

/* Both forms of amqp's globals begin with its last error. */
amqp_globals *weft_amqp_globals(void)
{
	const zend_module_entry *module = module_named("amqp");
	bool fits = module && (module->globals_size == sizeof(amqp_globals) || module->globals_size == sizeof(amqp2_globals));
	return module ? if_fits(module, module->globals_ptr, fits) : NULL;
}

/* Their names, a line each; the number of bytes. */
size_t weft_unknown_extensions(char *buffer, size_t size)
{
	size_t used = 0;
	for (size_t i = 0; i < unknown_count; i++) {
		int n = snprintf(buffer + used, size - used, "%s\n", unknown[i]);
		if (n < 0 || (size_t) n >= size - used) {
			break;
		}
		used += (size_t) n;
	}
	return used;
}

void weft_say_unknown_extensions(void)
{
	for (size_t i = 0; i < unknown_count; i++) {
		zend_string *line = strpprintf(0, "this build of the extension %s keeps its state in a form that is not known here: what a request "
			"changes of it, all requests of the worker see (docs/internals/isolation.md)", unknown[i]);
		weft_host_log(WEFT_LOG_WARNING, 0, weft_slice_of(line));
		zend_string_release(line);
	}
}
