/* Functions that php-fpm does not have, taken away in classic mode: applications ask for them to find out whether they
 * run on a command line, and a request that forks or changes its root changes the worker of all others.
 *
 * It must not know which settings there are. Invariant: they go while modules start, before any code is compiled,
 * preloaded code included. */
#include "withheld.h"

/* chroot() is part of ext/standard, which has it in some SAPIs only (ext/standard/basic_functions.c: HAVE_CHROOT and the
 * SAPIs cgi, cli and embed). */
static const char *const alone[] = {"chroot"};

/* Whole modules, by name: Debian builds pcntl into the command line and into the library, not into php-fpm. */
static const char *const modules[] = {"pcntl"};

/* It may have registered them before it was its turn to go. */
static void take_constants(int module_number)
{
	zend_constant *constant;
	ZEND_HASH_FOREACH_PTR(EG(zend_constants), constant) {
		if (ZEND_CONSTANT_MODULE_NUMBER(constant) == module_number) {
			zend_hash_del(EG(zend_constants), constant->name);
		}
	} ZEND_HASH_FOREACH_END();
}

static void take_module(const char *name)
{
	zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, name, strlen(name));
	for (const zend_function_entry *entry = module ? module->functions : NULL; entry && entry->fname; entry++) {
		zend_string *lower = zend_string_init(entry->fname, strlen(entry->fname), false);
		zend_str_tolower(ZSTR_VAL(lower), ZSTR_LEN(lower));
		zend_hash_del(CG(function_table), lower);
		zend_string_release(lower);
	}
	if (module && module->module_started) {
		take_constants(module->module_number);
	}
	if (module) { /* PHP has not collected the hooks of its requests yet (zend_collect_module_handlers) */
		dtor_func_t destructor = module_registry.pDestructor;
		module_registry.pDestructor = NULL;
		zend_hash_str_del(&module_registry, name, strlen(name));
		module_registry.pDestructor = destructor;
	}
}

void weft_withhold(void)
{
	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++) {
		zend_hash_str_del(CG(function_table), alone[i], strlen(alone[i]));
	}
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
		take_module(modules[i]);
	}
	/* No hole may stay, as after zend_set_disable_functions(): a full table would close the holes while a file is compiled, and
	 * opcache, which counts used places (opcache_compile_file), would leave some of the file's functions behind. */
	zend_hash_rehash(CG(function_table));
}
