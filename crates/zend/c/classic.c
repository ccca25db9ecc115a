/* Classic mode: each request has PHP to itself, from php_request_startup() to php_request_shutdown(), as under
 * php-fpm. PHP itself handles the script, its includes and its errors; nothing of them remains for the next request.
 *
 * A job runs on a native stack (native.c), so it may park anywhere in PHP. Invariant: whatever happens, the request is
 * answered once, and PHP has left it when the job ends. */
#include "classic.h"
#include "classic_response.h"
#include "classic_state.h"
#include "classic_variables.h"
#include "context.h"
#include "coroutine.h"
#include "delegation.h"
#include "form.h"
#include "host.h"
#include "lines.h"
#include "native.h"
#include "persistent.h"
#include "request.h"
#include "resident.h"
#include "session.h"
#include "site.h"
#include "source.h"
#include "user_ini.h"
#include "ext/json/php_json.h"
#include "ext/standard/head.h"
#include "zend_signal.h"
#include "fopen_wrappers.h"
#include "zend_stream.h"

#include <errno.h>
#include <unistd.h>

/* Applies the settings of the site and of the script's directory before the script's own. A script that stays loaded gets
 * those of its site once, and what it makes of them holds for all of its requests. */
static int activate(void)
{
	weft_classic *classic = weft_current ? weft_classic_of(weft_current) : NULL;
	weft_resident *resident = weft_current ? weft_resident_of(weft_current) : NULL;
	if (resident ? !resident->booted : classic != NULL) {
		weft_site_settings(weft_current);
	}
	if (UNEXPECTED(weft_resident_any)) {
		if (resident && !resident->booted) {
			weft_session_prepare();
		} else if (classic && !resident) {
			weft_session_return();
		}
	}
	if (classic) {
		weft_user_ini_apply(SG(request_info).path_translated, classic->root);
	}
	return SUCCESS;
}

/* The body belongs to the first script. */
static size_t read_post(char *buffer, size_t size)
{
	bool later = weft_current && weft_classic_of(weft_current) && weft_classic_of(weft_current)->delegation.count;
	return later ? 0 : weft_read_post(buffer, size);
}

/* Connects PHP to classic mode's server. Called before PHP starts. */
void weft_classic_prepare(sapi_module_struct *module)
{
	module->activate = activate;
	module->ub_write = weft_classic_write;
	module->flush = weft_classic_flush;
	module->send_headers = weft_classic_send_headers;
	module->read_post = read_post;
	module->read_cookies = weft_classic_cookies;
	module->register_server_variables = weft_classic_variables;
	module->getenv = weft_classic_getenv;
	module->get_request_time = weft_classic_time;
#ifdef ZEND_SIGNALS
	/* Otherwise each request would check the handlers of seven signals again (zend_signal_activate): six belong to the
	 * server and are blocked, and the seventh, SIGPROF, is set with each time limit (zend_set_timeout). */
	SIGG(reset) = false;
#endif
}

/* The script could not be read: the client gets php-fpm's answer, not the 500 of a script that failed. */
static void tell_unreadable(const zend_file_handle *file)
{
	bool opened = file->type != ZEND_HANDLE_FILENAME || file->opened_path;
	uint32_t unreadable = weft_classic_of(weft_current)->unreadable;
	if (unreadable && !SG(headers_sent)) {
		SG(sapi_headers).http_response_code = (int) unreadable;
	} else if (!opened && !SG(headers_sent) && access(SG(request_info).path_translated, R_OK) != 0) {
		SG(sapi_headers).http_response_code = errno == EACCES ? 403 : 404;
	} else if (!opened && !SG(headers_sent) && php_check_open_basedir_ex(SG(request_info).path_translated, 0)) {
		SG(sapi_headers).http_response_code = 403;
	}
}

/* A script runs in its own directory. php_execute_script() would query the previous one and return to it; the next
 * script in this PHP comes here first anyway. */
static void enter_directory(const char *script)
{
	char directory[MAXPATHLEN];
	size_t length = strlen(script);
	if (length < sizeof(directory)) {
		memcpy(directory, script, length + 1);
		zend_dirname(directory, length);
		/* It has vanished since it was found, or cannot be entered: reading the script reports that, or the script
		 * needs no directory. */
		(void) !chdir(directory);
	}
	SG(options) |= SAPI_OPTION_NO_CHDIR;
}

static void run_script(weft_coroutine *coroutine)
{
	zend_file_handle file;
	zend_stream_init_filename(&file, SG(request_info).path_translated);
	file.primary_script = 1;
	enter_directory(SG(request_info).path_translated);
	if (!php_execute_script(&file)) {
		tell_unreadable(&file);
	}
	zend_destroy_file_handle(&file);
	if (!CG(unclean_shutdown)) {
		weft_run_deferred(coroutine);
	}
}

/* One request in PHP. Its end runs whatever happens before: shutdown functions, destructors, the session's write. */
static void run(weft_coroutine *coroutine)
{
	/* The body has arrived before PHP starts, so only the script's time needs a limit: one timer to set. */
	PG(max_input_time) = -1;
	EG(timeout_seconds) = zend_ini_long(ZEND_STRL("max_execution_time"), 0);
	zend_first_try {
		if (php_request_startup() == SUCCESS) {
			weft_native_limits(coroutine);
			run_script(coroutine);
		}
	} zend_end_try();
	SG(post_read) = 1; /* the server drops the rest of the body */
	zend_try {
		php_request_shutdown(NULL);
	} zend_end_try();
	weft_persistent_settle();
}

/* Makes the request ready for the script that the last one has named. false: none was. */
static bool next_script(weft_coroutine *coroutine, weft_classic *classic)
{
	weft_delegation next;
	if (EXPECTED(!weft_delegation_next(classic, &next))) {
		return false;
	}
	weft_classic_free(classic);
	memset(classic, 0, sizeof(*classic));
	classic->delegation = next;
	ZVAL_UNDEF(weft_request_slot(coroutine)); /* freed with PHP's heap */
	return true;
}

void weft_classic_run(weft_coroutine *coroutine)
{
	weft_classic classic = {0};
	*weft_classic_slot(coroutine) = &classic;
	weft_site_enter(coroutine, weft_host_site(coroutine->request));
	do {
		if (weft_classic_tell(coroutine)) {
			run(coroutine);
			weft_classic_finish(coroutine);
		}
	} while (next_script(coroutine, &classic));
	weft_site_leave(coroutine);
	SG(server_context) = NULL;
	memset(&SG(request_info), 0, sizeof(SG(request_info)));
	weft_classic_free(&classic);
	ZVAL_UNDEF(weft_request_slot(coroutine)); /* freed with PHP's heap */
	*weft_classic_slot(coroutine) = NULL;
	weft_host_release(coroutine->request);
	coroutine->request = 0;
}

/* ---- functions that only classic scripts expect ---- */

/* The response is complete and the script continues: sapi/fpm's fastcgi_finish_request(). false: it was already
 * complete. */
ZEND_FUNCTION(fastcgi_finish_request)
{
	ZEND_PARSE_PARAMETERS_NONE();
	weft_classic *classic = weft_current ? weft_classic_of(weft_current) : NULL;
	if (!classic || classic->finished) {
		RETURN_FALSE;
	}
	php_output_end_all();
	php_header();
	weft_host_detach(weft_current->request); /* the script may still ask for data of the head */
	weft_classic_finish(weft_current);
	RETURN_TRUE;
}

/* "x-forwarded-for" as "X-Forwarded-For": field names are case-insensitive (RFC 9110 section 5.1), PHP's
 * arrays are not. */
static zend_string *header_name(weft_slice name)
{
	zend_string *nice = zend_string_alloc(name.length, 0);
	bool first = true;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.bytes[i];
		ZSTR_VAL(nice)[i] = first ? zend_toupper_ascii(c) : zend_tolower_ascii(c);
		first = c == '-';
	}
	ZSTR_VAL(nice)[name.length] = 0;
	return nice;
}

ZEND_FUNCTION(getallheaders)
{
	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	weft_slice name, value;
	for (uint32_t at = 0; weft_current && weft_host_next_header(weft_current->request, &at, &name, &value);) {
		zend_string *key = header_name(name);
		zval line, *earlier = zend_symtable_find(Z_ARRVAL_P(return_value), key);
		if (UNEXPECTED(earlier)) {
			smart_str joined = {0};
			smart_str_append(&joined, Z_STR_P(earlier));
			weft_join_line(&joined, value, weft_slice_is(name, "cookie"));
			ZVAL_STR(&line, smart_str_extract(&joined));
		} else {
			ZVAL_STRINGL(&line, value.bytes, value.length);
		}
		zend_symtable_update(Z_ARRVAL_P(return_value), key, &line);
		zend_string_release(key);
	}
	/* php-fpm makes it of CONTENT_LENGTH, which is the length of the whole body. */
	if (weft_current && UNEXPECTED(weft_first_header(weft_current->request, "transfer-encoding").bytes)) {
		zval line;
		ZVAL_STR(&line, zend_long_to_str(SG(request_info).content_length));
		zend_symtable_str_update(Z_ARRVAL_P(return_value), ZEND_STRL("Content-Length"), &line);
	}
}

/* sapi/fpm's fpm_get_status(). */
static ZEND_FUNCTION(fpm_get_status)
{
	ZEND_PARSE_PARAMETERS_NONE();
	const int depth = 8;
	weft_slice said = weft_host_fpm_status();
	zend_string *json = zend_string_init(said.bytes ? said.bytes : "", said.length, 0); /* the decoder reads up to a NUL */
	int decoded = php_json_decode_ex(return_value, ZSTR_VAL(json), ZSTR_LEN(json), PHP_JSON_OBJECT_AS_ARRAY, depth);
	zend_string_release(json);
	if (decoded == FAILURE) {
		RETURN_FALSE;
	}
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_status, 0, 0, MAY_BE_ARRAY | MAY_BE_BOOL)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_finish, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_headers, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
	ZEND_FE(fastcgi_finish_request, arginfo_finish)
	ZEND_FE(fpm_get_status, arginfo_status)
	ZEND_FE(getallheaders, arginfo_headers)
	ZEND_FALIAS(apache_request_headers, getallheaders, arginfo_headers)
	ZEND_FE_END
};

void weft_classic_register(void)
{
	zend_register_functions(NULL, functions, CG(function_table), MODULE_PERSISTENT);
	weft_source_prepare();
}
