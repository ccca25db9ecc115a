/* Process state that a request changes: current directory, locale, umask, default time zone. Saved while the request
 * is parked, restored at its end.
 *
 * The functions that change them are wrapped, so a request that calls none of them pays one comparison. Invariant: the
 * name of a time zone lives as long as the coroutine that has set it, or the boot: ext/date may use it while it waits
 * for the zone's file. */
#include "process_state.h"
#include "boot.h"
#include "coroutine.h"
#include "host.h"
#include "wrap.h"
#include "zend_operators.h"
#include "ext/date/php_date.h"

#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the coroutine has changed, and its own values while it is parked. */
typedef struct {
	uint32_t changed;
	int mask;
	char *directory;
	char *locale;
	zend_string *ctype;
	char *timezone;
} process_state;

WEFT_SLOT(process_state, process_state)

enum { DIRECTORY = 1, LOCALE = 2, MASK = 4, TIMEZONE = 8 };

static WEFT_BOOT struct {
	char *directory;
	char *locale;
	int mask;
	char *timezone;            /* as ext/date keeps it; NULL: date.timezone applies */
	zend_string *ctype;        /* the name for which PCRE makes its tables */
} base;

static zend_date_globals *date;
static zif_handler stock_chdir, stock_setlocale, stock_umask, stock_timezone;

static void changed(uint32_t what)
{
	if (weft_current && base.directory) {
		weft_process_state_slot(weft_current)->changed |= what;
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
	if (weft_current && base.directory && !(weft_process_state_slot(weft_current)->changed & TIMEZONE)) {
		date->timezone = base.timezone ? estrdup(base.timezone) : NULL; /* the current value will be freed */
	}
	changed(TIMEZONE);
	stock_timezone(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void set_locale(const char *locale)
{
	setlocale(LC_ALL, locale);
	zend_update_current_locale();
}

/* setlocale() releases the value that it replaces. Takes ownership of the reference. */
static void set_ctype(zend_string *name)
{
	if (BG(ctype_string)) {
		zend_string_release(BG(ctype_string));
	}
	BG(ctype_string) = name;
}

/* After the application has booted: each request starts from its state. */
void weft_process_state_start(void)
{
	base.directory = getcwd(NULL, 0);
	base.locale = strdup(setlocale(LC_ALL, NULL));
	base.mask = umask(0);
	umask(base.mask);
	base.timezone = date->timezone;
	base.ctype = BG(ctype_string) ? zend_string_copy(BG(ctype_string)) : NULL;
}

/* The application has ended. */
void weft_process_state_stop(void)
{
	free(base.directory);
	free(base.locale);
	base.directory = base.locale = NULL;
}

/* When the modules have started. */
void weft_process_state_prepare(void)
{
	zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("date"));
	date = module->globals_ptr;
	weft_wrap(NULL, "date_default_timezone_set", wrapped_timezone, NULL, &stock_timezone);
	weft_wrap(NULL, "chdir", wrapped_chdir, NULL, &stock_chdir);
	weft_wrap(NULL, "setlocale", wrapped_setlocale, NULL, &stock_setlocale);
	weft_wrap(NULL, "umask", wrapped_umask, NULL, &stock_umask);
}

static void restore_base(uint32_t what)
{
	if ((what & DIRECTORY) && base.directory && chdir(base.directory) != 0) {
		weft_host_log(WEFT_LOG_ERROR, 0, weft_slice_text("the directory the application was started in is gone"));
	}
	if (what & LOCALE) {
		set_locale(base.locale);
		set_ctype(base.ctype ? zend_string_copy(base.ctype) : NULL);
	}
	if (what & MASK) {
		umask(base.mask);
	}
	if (what & TIMEZONE) {
		date->timezone = base.timezone;
	}
}

void weft_process_state_out(weft_coroutine *coroutine)
{
	process_state *own = weft_process_state_slot(coroutine);
	uint32_t what = own->changed;
	if (EXPECTED(!what)) {
		return;
	}
	own->directory = what & DIRECTORY ? getcwd(NULL, 0) : NULL;
	own->locale = what & LOCALE ? strdup(setlocale(LC_ALL, NULL)) : NULL;
	own->mask = what & MASK ? umask(base.mask) : 0;
	own->timezone = what & TIMEZONE ? date->timezone : NULL;
	if (what & LOCALE) {
		own->ctype = BG(ctype_string);
		BG(ctype_string) = NULL;
	}
	restore_base(what & ~MASK);
}

void weft_process_state_in(weft_coroutine *coroutine)
{
	process_state *own = weft_process_state_slot(coroutine);
	uint32_t what = own->changed;
	if (EXPECTED(!what)) {
		return;
	}
	if (own->directory && chdir(own->directory) != 0) {
		weft_host_log(WEFT_LOG_WARNING, coroutine->request, weft_slice_text("the current directory went while waiting"));
	}
	if (what & LOCALE) {
		set_locale(own->locale);
		set_ctype(own->ctype);
	}
	if (what & MASK) {
		umask(own->mask);
	}
	if (what & TIMEZONE) {
		date->timezone = own->timezone;
	}
	free(own->directory);
	free(own->locale);
	own->directory = own->locale = NULL;
}

void weft_process_state_end(weft_coroutine *coroutine)
{
	process_state *own = weft_process_state_slot(coroutine);
	if (UNEXPECTED(own->changed)) {
		if ((own->changed & TIMEZONE) && date->timezone) {
			efree(date->timezone);
		}
		restore_base(own->changed);
		own->changed = 0;
	}
}

void weft_process_state_forget(weft_coroutine *coroutine)
{
	weft_process_state_slot(coroutine)->changed = 0;
}

static zend_string *difference(const char *what, const char *now, const char *before)
{
	return strcmp(now, before) ? strpprintf(0, "%s, changed from \"%s\" to \"%s\"; it has been undone", what, before, now) : NULL;
}

static const char *zone_name(const char *set)
{
	const char *configured = zend_ini_string(ZEND_STRL("date.timezone"), 0);
	return set && *set ? set : configured && *configured ? configured : "UTC";
}

static zend_string *left(uint32_t what)
{
	char directory[MAXPATHLEN];
	switch (what) {
		case DIRECTORY:
			return difference("the current directory", getcwd(directory, sizeof(directory)) ? directory : "", base.directory);
		case LOCALE:
			return difference("the locale", setlocale(LC_ALL, NULL), base.locale);
		case TIMEZONE:
			return difference("the default time zone", zone_name(date->timezone), zone_name(base.timezone));
		default:
			return NULL;
	}
}

zend_string *weft_process_state_left(weft_coroutine *coroutine, uint32_t *looked_at)
{
	for (uint32_t what = DIRECTORY; what <= TIMEZONE; what <<= 1) {
		if ((weft_process_state_slot(coroutine)->changed & what) && !(*looked_at & what)) {
			*looked_at |= what;
			zend_string *text = left(what);
			if (text) {
				return text;
			}
		}
	}
	return NULL;
}
