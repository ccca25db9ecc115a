/* Which extensions cannot be in an instance, as far as that can be known without running them. The tests prove which
 * ones work (docs/reference/doctor.md).
 *
 * An extension is unfit if its state is not in the image (its library is not among those of libraries.c), or if it is
 * known to use PHP's memory behind PHP's back: through threads, or through its own scheduler. */
#include "instance.h"

#include <dlfcn.h>
#include <stdio.h>

static const struct {
	const char *name, *why;
} known[] = {
	{"swoole", "it brings a scheduler and hooks of its own"},
	{"openswoole", "it brings a scheduler and hooks of its own"},
	{"swow", "it brings a scheduler and hooks of its own"},
	{"parallel", "it runs PHP in threads"},
	{"pthreads", "it runs PHP in threads"},
};

/* Its name lies in the constants of its library; the entry itself has been copied. */
static bool is_elsewhere(const zend_module_entry *module)
{
	return module->handle && !weft_library_owns(module->name);
}

/* Writes the reason into `buffer`; 0: no reason is known. */
static int reason(const zend_module_entry *module, char *buffer, size_t size)
{
	if (is_elsewhere(module)) {
		return snprintf(buffer, size, "it was loaded from outside PHP's extension directory: install it there");
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!strcasecmp(module->name, known[i].name)) {
			return snprintf(buffer, size, "%s", known[i].why);
		}
	}
	return 0;
}

/* The first loaded extension that is unfit, as a reason; NULL: there is none. */
const char *weft_unfit_extension(void)
{
	static char text[256];
	char why[192];
	zend_module_entry *module;
	ZEND_HASH_MAP_FOREACH_PTR(&module_registry, module) {
		if (reason(module, why, sizeof(why))) {
			snprintf(text, sizeof(text), "the extension %s is unfit for them: %s", module->name, why);
			return text;
		}
	} ZEND_HASH_FOREACH_END();
	return NULL;
}

/* ---- for weft doctor ---- */

static zend_module_entry *module_named(const char *name)
{
	zend_module_entry *module;
	ZEND_HASH_MAP_FOREACH_PTR(&module_registry, module) {
		if (!strcmp(module->name, name)) {
			return module;
		}
	} ZEND_HASH_FOREACH_END();
	return NULL;
}

/* Why a loaded extension is unfit; 0 bytes: no reason is known. */
size_t weft_extension_unfit(const char *name, char *buffer, size_t size)
{
	zend_module_entry *module = module_named(name);
	int length = module ? reason(module, buffer, size) : 0;
	return length > 0 ? (size_t) length : 0;
}

/* The file of a loaded extension; 0 bytes: it is a part of libphp, or of weft. An entry without a handle may be in a file of its own:
 * an extension of the engine, such as opcache, registers it itself. Its name lies in the constants of that file. */
size_t weft_extension_file(const char *name, char *buffer, size_t size)
{
	zend_module_entry *module = module_named(name);
	Dl_info extension, php, weft;
	if (!module || !dladdr(module->name, &extension) || !extension.dli_fname || !dladdr((void *) sapi_startup, &php)
			|| !dladdr(known, &weft) || extension.dli_fbase == php.dli_fbase || extension.dli_fbase == weft.dli_fbase) {
		return 0;
	}
	int length = snprintf(buffer, size, "%s", extension.dli_fname);
	return length > 0 ? (size_t) length : 0;
}
