/* Finds the globals of a module, if their layout is the one in layouts.h.
 *
 * Must not know: what is done with them. Invariant: globals are returned only if the module reports the size of the
 * layout; the others are reported once, as state that is not isolated. */
#include "extension_globals.h"
#include "host.h"
#include "layouts.h"

/* As many as layouts.h has. */
#define MODULES_MAX 16

/* State of unknown layout cannot be isolated. This is reported after the boot, when logs are open. */
static const char *unknown[MODULES_MAX];
static size_t unknown_count;

static void *if_of_size(const zend_module_entry *module, void *globals, bool fits)
{
	if (!module || (globals && fits)) {
		return module ? globals : NULL;
	}
	if (unknown_count < MODULES_MAX) {
		unknown[unknown_count++] = module->name;
	}
	return NULL;
}

static zend_module_entry *module_named(const char *name)
{
	return zend_hash_str_find_ptr(&module_registry, name, strlen(name));
}

void *weft_extension_globals(const char *name, size_t size)
{
	zend_module_entry *module = module_named(name);
	return if_of_size(module, module ? module->globals_ptr : NULL, module && module->globals_size == size);
}

/* The soap module does not publish where its globals are, but its ini settings give the address of the globals
 * and the offset of each. */
soap_globals *weft_soap_globals(void)
{
	zend_ini_entry *first = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("soap.wsdl_cache_dir"));
	zend_ini_entry *last = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("soap.wsdl_cache_limit"));
	bool fits = first && last && first->mh_arg2 == last->mh_arg2
		&& (size_t) first->mh_arg1 == offsetof(soap_globals, cache_dir)
		&& (size_t) last->mh_arg1 == offsetof(soap_globals, cache_limit);
	return if_of_size(module_named("soap"), first ? first->mh_arg2 : NULL, fits);
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
