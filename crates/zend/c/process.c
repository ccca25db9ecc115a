/* What a request changes of the process: current directory, locale, umask, default time zone, text domain, assert's callback.
 * Put aside while it is parked, undone at its end.
 *
 * The functions that change them are wrapped, so a request that calls none of them pays one comparison. */
#include "weft.h"
#include "zend_operators.h"

#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRECTORY = 1, LOCALE = 2, MASK = 4, TIMEZONE = 8, DOMAIN = 16, ASSERTION = 32 };

static struct {
	char *directory;
	char *locale;
	int mask;
	zend_string *timezone;
	zend_string *ctype;        /* the name PCRE makes its tables for */
	zval domain;
	zval assertion;
} base;

static zif_handler stock_chdir, stock_setlocale, stock_umask, stock_timezone, stock_domain, stock_assertion;

static void changed(uint32_t what)
{
	if (weft_current && base.directory) {
		weft_current->process_changed |= what;
	}
}

static ZEND_NAMED_FUNCTION(wrapped_chdir)
{
	changed(DIRECTORY);
	stock_chdir(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(wrapped_setlocale)
{
	changed(LOCALE);
	stock_setlocale(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(wrapped_umask)
{
	changed(MASK);
	stock_umask(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(wrapped_timezone)
{
	changed(TIMEZONE);
	stock_timezone(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(wrapped_domain)
{
	changed(DOMAIN);
	stock_domain(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(wrapped_assertion)
{
	changed(ASSERTION);
	stock_assertion(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* What a function returns when it is asked, or told: state that nothing else gives access to. No warnings of deprecation:
 * the request's own call has had them. */
static void ask(const char *name, zval *result, uint32_t count, zval *arguments)
{
	zend_function *function = zend_hash_str_find_ptr(EG(function_table), name, strlen(name));
	int reporting = EG(error_reporting);
	ZVAL_NULL(result);
	if (function) {
		EG(error_reporting) = 0;
		zend_call_known_function(function, NULL, NULL, result, count, arguments, NULL);
		EG(error_reporting) = reporting;
	}
}

static void get_domain(zval *domain)
{
	zval none;
	ZVAL_NULL(&none);
	ask("textdomain", domain, 1, &none);
}

static void set_domain(zval *domain)
{
	zval result;
	ask("textdomain", &result, 1, domain);
	zval_ptr_dtor(&result);
}

enum { ASSERT_CALLBACK = 2 }; /* ext/standard/assert.c */

static void get_assertion(zval *callback)
{
	zval which;
	ZVAL_LONG(&which, ASSERT_CALLBACK);
	ask("assert_options", callback, 1, &which);
}

static void set_assertion(zval *callback)
{
	zval arguments[2], result;
	ZVAL_LONG(&arguments[0], ASSERT_CALLBACK);
	ZVAL_COPY_VALUE(&arguments[1], callback);
	ask("assert_options", &result, 2, arguments);
	zval_ptr_dtor(&result);
}

/* ext/date keeps its globals to itself: asked and told by its own functions. */
static zend_string *get_timezone(void)
{
	zval result;
	zend_function *get = zend_hash_str_find_ptr(EG(function_table), ZEND_STRL("date_default_timezone_get"));
	ZVAL_UNDEF(&result);
	if (get) {
		zend_call_known_function(get, NULL, NULL, &result, 0, NULL, NULL);
	}
	return Z_TYPE(result) == IS_STRING ? Z_STR(result) : zend_string_init(ZEND_STRL("UTC"), 0);
}

static void set_timezone(zend_string *timezone)
{
	zval result, argument;
	zend_function *set = zend_hash_str_find_ptr(EG(function_table), ZEND_STRL("date_default_timezone_set"));
	ZVAL_STR(&argument, timezone);
	ZVAL_UNDEF(&result);
	if (set) {
		zend_call_known_function(set, NULL, NULL, &result, 1, &argument, NULL);
	}
}

static void set_locale(const char *locale)
{
	setlocale(LC_ALL, locale);
	zend_update_current_locale();
}

/* After the application has booted: its state is what each request starts from. */
void weft_process_start(void)
{
	base.directory = getcwd(NULL, 0);
	base.locale = strdup(setlocale(LC_ALL, NULL));
	base.mask = umask(0);
	umask(base.mask);
	base.timezone = get_timezone();
	if (BG(ctype_string)) { /* setlocale() releases what it replaces: not this one */
		BG(ctype_string) = zend_new_interned_string(BG(ctype_string));
	}
	base.ctype = BG(ctype_string);
	if (stock_domain) {
		get_domain(&base.domain);
	}
	if (stock_assertion) {
		get_assertion(&base.assertion);
	}
}

/* When the modules have started. */
void weft_process_prepare(void)
{
	weft_wrap(NULL, "date_default_timezone_set", wrapped_timezone, NULL, &stock_timezone);
	weft_wrap(NULL, "chdir", wrapped_chdir, NULL, &stock_chdir);
	weft_wrap(NULL, "setlocale", wrapped_setlocale, NULL, &stock_setlocale);
	weft_wrap(NULL, "umask", wrapped_umask, NULL, &stock_umask);
	weft_wrap(NULL, "textdomain", wrapped_domain, NULL, &stock_domain);
	weft_wrap(NULL, "assert_options", wrapped_assertion, NULL, &stock_assertion);
}

static void restore_base(uint32_t what)
{
	if ((what & DIRECTORY) && base.directory && chdir(base.directory) != 0) {
		weft_host_log(WEFT_LOG_ERROR, 0, weft_slice_text("the directory the application was started in is gone"));
	}
	if (what & LOCALE) {
		set_locale(base.locale);
		BG(ctype_string) = base.ctype;
	}
	if (what & MASK) {
		umask(base.mask);
	}
	if (what & TIMEZONE) {
		set_timezone(base.timezone);
	}
	if (what & DOMAIN) {
		set_domain(&base.domain);
	}
	if (what & ASSERTION) {
		set_assertion(&base.assertion);
	}
}

void weft_process_out(weft_coroutine *coroutine)
{
	uint32_t what = coroutine->process_changed;
	if (EXPECTED(!what)) {
		return;
	}
	coroutine->directory = what & DIRECTORY ? getcwd(NULL, 0) : NULL;
	coroutine->locale = what & LOCALE ? strdup(setlocale(LC_ALL, NULL)) : NULL;
	coroutine->mask = what & MASK ? umask(base.mask) : 0;
	coroutine->timezone = what & TIMEZONE ? get_timezone() : NULL;
	if (what & LOCALE) {
		coroutine->ctype = BG(ctype_string);
	}
	if (what & DOMAIN) {
		get_domain(&coroutine->domain);
	}
	if (what & ASSERTION) {
		get_assertion(&coroutine->assertion);
	}
	restore_base(what & ~MASK);
}

void weft_process_in(weft_coroutine *coroutine)
{
	uint32_t what = coroutine->process_changed;
	if (EXPECTED(!what)) {
		return;
	}
	if (coroutine->directory && chdir(coroutine->directory) != 0) {
		weft_host_log(WEFT_LOG_WARNING, coroutine->request, weft_slice_text("the current directory went while waiting"));
	}
	if (what & LOCALE) {
		set_locale(coroutine->locale);
		BG(ctype_string) = coroutine->ctype;
	}
	if (what & MASK) {
		umask(coroutine->mask);
	}
	if (what & TIMEZONE) {
		set_timezone(coroutine->timezone);
		zend_string_release(coroutine->timezone);
	}
	if (what & DOMAIN) {
		set_domain(&coroutine->domain);
		zval_ptr_dtor(&coroutine->domain);
	}
	if (what & ASSERTION) {
		set_assertion(&coroutine->assertion);
		zval_ptr_dtor(&coroutine->assertion);
	}
	free(coroutine->directory);
	free(coroutine->locale);
	coroutine->directory = coroutine->locale = NULL;
}

void weft_process_end(weft_coroutine *coroutine)
{
	if (UNEXPECTED(coroutine->process_changed)) {
		if ((coroutine->process_changed & LOCALE) && BG(ctype_string) && BG(ctype_string) != base.ctype) {
			zend_string_release(BG(ctype_string));
		}
		restore_base(coroutine->process_changed);
		coroutine->process_changed = 0;
	}
}

static zend_string *difference(const char *what, const char *now, const char *before)
{
	return strcmp(now, before) ? strpprintf(0, "%s, changed from \"%s\" to \"%s\"; it has been undone", what, before, now) : NULL;
}

static zend_string *left(uint32_t what)
{
	char directory[MAXPATHLEN];
	switch (what) {
		case DIRECTORY:
			return difference("the current directory", getcwd(directory, sizeof(directory)) ? directory : "", base.directory);
		case LOCALE:
			return difference("the locale", setlocale(LC_ALL, NULL), base.locale);
		case TIMEZONE: {
			zend_string *zone = get_timezone(), *text = difference("the default time zone", ZSTR_VAL(zone), ZSTR_VAL(base.timezone));
			zend_string_release(zone);
			return text;
		}
		default:
			return NULL;
	}
}

/* For development mode: one by one, what this coroutine has left changed. NULL: there is no more. */
zend_string *weft_process_left(weft_coroutine *coroutine, uint32_t *looked_at)
{
	for (uint32_t what = DIRECTORY; what <= TIMEZONE; what <<= 1) {
		if ((coroutine->process_changed & what) && !(*looked_at & what)) {
			*looked_at |= what;
			zend_string *text = left(what);
			if (text) {
				return text;
			}
		}
	}
	return NULL;
}
