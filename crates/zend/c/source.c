/* If links may not lead out of the document root (symlinks = "inside"), PHP opens the files that the server has
 * checked: the requested script and the settings of its directories come as descriptors from the host, which never
 * resolves a name twice.
 *
 * Files that scripts include are the scripts' own responsibility, as under php-fpm: open_basedir is for that.
 * Invariant: if the host gives no descriptor, no file of that name is opened instead. */
#include "source.h"
#include "classic_state.h"
#include "coroutine.h"
#include "php_ini.h"

#include <unistd.h>

static zend_result (*next_open)(zend_file_handle *handle);

/* zend_stream_open_function; it is below opcache's, which calls it whenever it must compile. */
static zend_result open_source(zend_file_handle *handle)
{
	weft_classic *classic = weft_current ? weft_classic_of(weft_current) : NULL;
	if (!classic || !handle->primary_script) {
		return next_open(handle);
	}
	char real[MAXPATHLEN];
	int file = weft_host_open_source(weft_current->request,
		(weft_slice){ZSTR_VAL(handle->filename), ZSTR_LEN(handle->filename)}, real, sizeof(real));
	if (file == WEFT_OPEN_IT_YOURSELF) {
		return next_open(handle);
	}
	FILE *stream = file >= 0 ? fdopen(file, "rb") : NULL;
	if (!stream) {
		classic->unreadable = file < 0 ? (uint32_t) -file : 500;
		if (file >= 0) {
			close(file);
		}
		return FAILURE;
	}
	handle->type = ZEND_HANDLE_FP;
	handle->handle.fp = stream;
	handle->opened_path = zend_string_init(real, strlen(real), 0);
	return SUCCESS;
}

/* Called while modules start: opcache installs its own function in front of it afterwards
 * (accel_post_startup). */
void weft_source_prepare(void)
{
	next_open = zend_stream_open_function;
	zend_stream_open_function = open_source;
}

/* php_parse_user_ini_file() for a directory of the document root. */
void weft_source_read_ini(const char *directory, const char *name, HashTable *settings)
{
	char path[MAXPATHLEN], real[MAXPATHLEN], number[16];
	int length = snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (length < 0 || (size_t) length >= sizeof(path)) {
		return;
	}
	int file = weft_host_open_source(weft_current->request, (weft_slice){path, (size_t) length}, real, sizeof(real));
	if (file == WEFT_OPEN_IT_YOURSELF) {
		php_parse_user_ini_file(directory, name, settings);
	} else if (file >= 0) {
		snprintf(number, sizeof(number), "%d", file);
		php_parse_user_ini_file("/proc/self/fd", number, settings);
		close(file);
	}
}
