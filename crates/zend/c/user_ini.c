/* Settings of directories: .user.ini files, and [PATH=…] and [HOST=…] sections of php.ini, as in sapi/fpm.
 *
 * Each directory from the document root down to the script's may have a .user.ini (user_ini.filename). Its settings,
 * or its absence, are cached for user_ini.cache_ttl seconds. Invariant: the cache uses malloc and outlives requests. */
#include "user_ini.h"
#include "coroutine.h"
#include "host.h"
#include "source.h"
#include "php_ini.h"

#include <time.h>

/* The maximum of cached directories; beyond it the cache is emptied. */
#define DIRECTORIES_MAX 1024

typedef struct {
	time_t expires;
	HashTable settings;
} directory_ini;

static HashTable *directories;

static void free_directory(zval *entry)
{
	directory_ini *ini = Z_PTR_P(entry);
	zend_hash_destroy(&ini->settings);
	free(ini);
}

static directory_ini *read_directory(directory_ini *ini, const char *path)
{
	if (ini) {
		zend_hash_clean(&ini->settings);
	} else {
		ini = malloc(sizeof(*ini));
		if (!ini) {
			return NULL;
		}
		zend_hash_init(&ini->settings, 8, NULL, config_zval_dtor, 1);
		zend_hash_str_update_ptr(directories, path, strlen(path), ini);
	}
	weft_source_read_ini(path, PG(user_ini_filename), &ini->settings);
	ini->expires = time(NULL) + PG(user_ini_cache_ttl);
	return ini;
}

static void apply_directory(const char *path)
{
	if (!directories || zend_hash_num_elements(directories) >= DIRECTORIES_MAX) {
		if (directories) {
			zend_hash_destroy(directories);
		} else {
			directories = malloc(sizeof(*directories));
		}
		if (!directories) {
			return;
		}
		zend_hash_init(directories, 8, NULL, free_directory, 1);
	}
	directory_ini *ini = zend_hash_str_find_ptr(directories, path, strlen(path));
	if (!ini || ini->expires < time(NULL)) {
		ini = read_directory(ini, path);
	}
	if (ini && zend_hash_num_elements(&ini->settings)) {
		php_ini_activate_config(&ini->settings, PHP_INI_PERDIR, PHP_INI_STAGE_HTACCESS);
	}
}

static void apply_host(void)
{
	weft_slice host = weft_host_field(weft_current->request, WEFT_FIELD_HOST_NAME);
	if (!host.bytes || !php_ini_has_per_host_config()) {
		return;
	}
	char *name = zend_str_tolower_dup(host.bytes, host.length);
	php_ini_activate_per_host_config(name, host.length);
	efree(name);
}

/* For the request that begins: applies the outermost directories first, so that those nearest to the script
 * win. */
void weft_user_ini_apply(const char *script, const char *root)
{
	char path[MAXPATHLEN];
	const char *slash = strrchr(script, '/');
	size_t length = slash ? (size_t) (slash - script) : 0, root_length = strlen(root);
	apply_host();
	if (length == 0 || length >= sizeof(path) - 1) {
		return;
	}
	if (php_ini_has_per_dir_config()) {
		memcpy(path, script, length + 1);
		path[length + 1] = 0;
		php_ini_activate_per_dir_config(path, length + 1);
	}
	if (!PG(user_ini_filename) || !*PG(user_ini_filename)) {
		return;
	}
	memcpy(path, script, length);
	path[length] = 0;
	if (strncmp(path, root, root_length) != 0) { /* a script elsewhere has only the settings of its own directory */
		apply_directory(path);
		return;
	}
	for (size_t end = root_length; end <= length; end++) {
		if (path[end] == '/' || end == length) {
			char kept = path[end];
			path[end] = 0;
			apply_directory(path);
			path[end] = kept;
		}
	}
}
