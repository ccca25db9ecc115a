/* Each request of PHP 8.2 and 8.3 begins with a walk over all functions and methods of all extensions, some thousands:
 * each gets a new run-time cache (Zend/zend_extensions.c, zend_init_internal_run_time_cache), if any code has reserved
 * words in those caches. opcache reserves one if it is built with its JIT (ext/opcache/jit/zend_jit.c, zend_jit_init),
 * for a counter that it keeps only for functions of scripts. For a small page the walk is more than half of the
 * request.
 *
 * So our functions replace two of libphp's, because the executable's symbols precede a library's: one remembers which
 * code has reserved words, the other walks only if that was anything other than opcache: an extension, or the engine
 * itself for observers.
 *
 * Invariant: where the walk is skipped, the caches are as they are without opcache: they do not exist, and no code
 * looks for one. */
#include "runtime_cache.h"
#include "zend_extensions.h"

#include <dlfcn.h>
#include <string.h>

#if PHP_VERSION_ID >= 80200 && PHP_VERSION_ID < 80400 /* later versions reserve separately for functions of extensions */
static const char opcache[] = "Zend OPcache";
static bool reserved_by_others;
static __typeof__(&zend_get_op_array_extension_handle) reserve_one;
static __typeof__(&zend_get_op_array_extension_handles) reserve_many;
static __typeof__(&zend_init_internal_run_time_cache) walk;

/* Called before the engine starts. */
void weft_runtime_cache_start(void)
{
	reserve_one = (__typeof__(reserve_one)) dlsym(RTLD_NEXT, "zend_get_op_array_extension_handle");
	reserve_many = (__typeof__(reserve_many)) dlsym(RTLD_NEXT, "zend_get_op_array_extension_handles");
	walk = (__typeof__(walk)) dlsym(RTLD_NEXT, "zend_init_internal_run_time_cache");
}

static void note(const char *module)
{
	reserved_by_others |= strcmp(module, opcache) != 0;
}

ZEND_API int zend_get_op_array_extension_handle(const char *module)
{
	note(module);
	return reserve_one(module);
}

ZEND_API int zend_get_op_array_extension_handles(const char *module, int handles)
{
	note(module);
	return reserve_many(module, handles);
}

ZEND_API void zend_init_internal_run_time_cache(void)
{
	if (UNEXPECTED(reserved_by_others)) {
		walk();
	}
}
#else
void weft_runtime_cache_start(void)
{
}
#endif
