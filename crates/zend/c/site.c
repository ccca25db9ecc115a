/* A request of one of several sites, or a script of one that stays loaded: it gets the PHP settings and the environment of
 * its site, and finds nothing that another site's request has left in the same PHP.
 *
 * PHP undoes nearly everything at the end of a request. What it keeps for the next one on purpose is dropped here when
 * that is another site's: the cache of real paths, which scripts can list and which would answer for open_basedir, and
 * persistent connections, of which those of pfsockopen() belong to whoever names the same address.
 *
 * Must not know hosts. Invariant: the environment is as before when a request, or a script that stays loaded, has ended. */
#include "site.h"
#include "coroutine.h"
#include "host.h"
#include "instance/instance.h"

#include <stdlib.h>
#include <time.h>

typedef struct {
	uint32_t last;  /* the site of the last request in this PHP, plus one; 0: none */
	uint32_t count; /* of `before` */
	char **before;  /* the values that the environment had; NULL: none */
} weft_site;

WEFT_SLOT(site, weft_site)

static int remove_it(zval *entry)
{
	(void) entry;
	return ZEND_HASH_APPLY_REMOVE;
}

/* Most requests leave no real path: opcache knows scripts by the path that they are asked for. To look through all buckets for
 * none would cost more than the rest of what a site does. */
static void forget(void)
{
	/* PHP sets it to 0 for a request with open_basedir, and never back (php_request_startup). */
	zend_ini_entry *size = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("realpath_cache_size"));
	if (size && size->on_modify) {
		size->on_modify(size, size->value, size->mh_arg1, size->mh_arg2, size->mh_arg3, PHP_INI_STAGE_RUNTIME);
	}
	if (realpath_cache_size() != 0) {
		realpath_cache_clean();
	}
	zend_hash_reverse_apply(&EG(persistent_list), remove_it); /* in the order of PHP's end */
	weft_messages_forget();
}

static void set_variable(const char *name, const char *value)
{
	if (value) {
		setenv(name, value, 1);
	} else {
		unsetenv(name);
	}
	if (!strcmp(name, "TZ")) {
		tzset();
	}
}

static uint32_t number_of(const weft_site *site)
{
	return site->last - 1;
}

/* Calls `work` for each variable of the coroutine's site, which has a number. */
static uint32_t each_variable(weft_coroutine *coroutine, void (*work)(weft_site *, uint32_t, const char *, const char *))
{
	weft_site *site = weft_site_slot(coroutine);
	weft_slice name, value;
	uint32_t kind, count = 0;
	for (uint32_t at = 0; weft_host_next_setting(number_of(site), &at, &kind, &name, &value);) {
		char *own = kind == WEFT_SETTING_VARIABLE ? strndup(name.bytes, name.length) : NULL;
		char *text = own ? strndup(value.bytes, value.length) : NULL;
		if (text && work) {
			work(site, count, own, text);
		}
		count += text != NULL;
		free(own);
		free(text);
	}
	return count;
}

static void put(weft_site *site, uint32_t number, const char *name, const char *value)
{
	if (number < site->count) {
		const char *before = getenv(name);
		site->before[number] = before ? strdup(before) : NULL;
		set_variable(name, value);
	}
}

static void put_back(weft_site *site, uint32_t number, const char *name, const char *value)
{
	if (number < site->count) {
		set_variable(name, site->before[number]);
		free(site->before[number]);
	}
}

void weft_site_enter(weft_coroutine *coroutine, uint32_t number)
{
	if (EXPECTED(number == WEFT_NO_SITE)) {
		return;
	}
	weft_site *site = weft_site_slot(coroutine);
	if (site->last != number + 1) {
		site->last = number + 1;
		forget();
	}
	uint32_t count = each_variable(coroutine, NULL);
	site->before = count ? calloc(count, sizeof(char *)) : NULL;
	site->count = site->before ? count : 0;
	if (site->count) {
		each_variable(coroutine, put);
	}
}

void weft_site_leave(weft_coroutine *coroutine)
{
	weft_site *site = weft_site_slot(coroutine);
	if (UNEXPECTED(site->count)) {
		each_variable(coroutine, put_back);
		free(site->before);
		site->before = NULL;
		site->count = 0;
	}
}

bool weft_site_runs(void)
{
	return weft_current && weft_site_slot(weft_current)->last;
}

static void refused(weft_coroutine *coroutine, weft_slice name)
{
	char text[256];
	int length = snprintf(text, sizeof(text), "PHP refuses the site's setting %.*s", (int) MIN(name.length, 100), name.bytes);
	weft_host_log(WEFT_LOG_WARNING, coroutine->request, (weft_slice){text, (size_t) length});
}

/* As php_admin_value does, a setting of the operator's stays what it is: PHP refuses to change it until the request has
 * ended (PHP_INI_SYSTEM in zend_alter_ini_entry_ex). */
void weft_site_settings(weft_coroutine *coroutine)
{
	weft_slice name, value;
	uint32_t kind;
	if (EXPECTED(!weft_site_slot(coroutine)->last)) {
		return;
	}
	for (uint32_t at = 0; weft_host_next_setting(number_of(weft_site_slot(coroutine)), &at, &kind, &name, &value);) {
		if (kind == WEFT_SETTING_VARIABLE) {
			continue;
		}
		zend_string *key = zend_string_init(name.bytes, name.length, 0);
		zend_string *text = zend_string_init(value.bytes, value.length, 0);
		int by = kind == WEFT_SETTING_ADMIN_INI ? PHP_INI_SYSTEM : PHP_INI_PERDIR;
		if (zend_alter_ini_entry_ex(key, text, by, PHP_INI_STAGE_ACTIVATE, true) == FAILURE) {
			refused(coroutine, name);
		}
		zend_string_release(key);
		zend_string_release(text);
	}
}
