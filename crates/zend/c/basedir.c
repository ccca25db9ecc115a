/* open_basedir counts for files that opcache has, too.
 *
 * PHP asks about it where a file is opened; opcache opens nothing that it has compiled before. Under one open_basedir for
 * the whole server nothing is in its memory that is not allowed; where it differs between the requests of a server, one
 * site's files would run for another that guesses their paths.
 *
 * Must not know sites. Invariant: a path that is quickly found to be allowed is one that has no links in it. */
#include "basedir.h"

#define PHAR "phar://"

/* Whether a path without links lies below one of the directories, as they are written. */
static bool lies_below(const char *path, size_t length)
{
	const char *entry = PG(open_basedir);
	while (*entry) {
		size_t size = strcspn(entry, ":"), own = size;
		while (own > 1 && entry[own - 1] == '/') {
			own--;
		}
		if (own > 0 && *entry == '/' && length > own && path[own] == '/' && !memcmp(path, entry, own)) {
			return true;
		}
		entry += size + (entry[size] == ':');
	}
	return false;
}

static bool is_allowed(const char *path, size_t length)
{
	if (length >= sizeof(PHAR) && !strncasecmp(path, PHAR, sizeof(PHAR) - 1)) {
		return php_check_open_basedir(path + sizeof(PHAR) - 1) == 0;
	}
	if (strstr(path, "://")) { /* it has no place in the file system, or its wrapper asks */
		return true;
	}
	return lies_below(path, length) || php_check_open_basedir(path) == 0;
}

bool weft_basedir_allows(zend_file_handle *file, int type)
{
	if (!file->filename) {
		return true;
	}
	/* What opcache calls it, if it has it: the path that was found when it was compiled. */
	zend_string *found = file->opened_path ? zend_string_copy(file->opened_path) : zend_resolve_path(file->filename);
	bool allowed = !found || is_allowed(ZSTR_VAL(found), ZSTR_LEN(found));
	if (found) {
		zend_string_release(found);
	}
	if (!allowed && !file->primary_script && !EG(exception)) {
		zend_long message = type == ZEND_REQUIRE || type == ZEND_REQUIRE_ONCE ? ZMSG_FAILED_REQUIRE_FOPEN : ZMSG_FAILED_INCLUDE_FOPEN;
		zend_message_dispatcher(message, ZSTR_VAL(file->filename));
	}
	return allowed;
}
