/* Which modules wrap PHP's functions, in which order, and when: after PHP's modules have started, before user code is
 * compiled.
 *
 * Must not know how a function is wrapped (wrap.c). */
#include "wrap_all.h"
#include "directories.h"
#include "environment.h"
#include "extensions.h"
#include "filter.h"
#include "guard.h"
#include "mongodb.h"
#include "mysqlnd.h"
#include "one_step.h"
#include "persistent.h"
#include "pgsql.h"
#include "process_state.h"
#include "quick_statement.h"
#include "signals.h"
#include "snmp.h"
#include "told.h"
#include "wrap.h"

static zend_result (*next_start)(void);
static bool is_classic;    /* a request has all of PHP: only what lies outside of PHP is wrapped */
static bool one_at_a_time; /* resident mode: a request's changes are undone, but no other request runs beside it */
static bool is_script;     /* `weft php` */

/* One PHP for all requests of a worker. */
static void for_coroutines(void)
{
	weft_persistent_start();
	weft_mongodb_start();
	weft_mysqlnd_start();
	weft_guard_start();
	weft_quick_statement_start();
	if (!is_script) {
		weft_signals_prepare();
	}
	weft_filter_start();
}

static zend_result modules_started(void)
{
	if (is_classic) {
		weft_one_step_prepare(true);
		weft_wrap_aliases();
		return next_start ? next_start() : SUCCESS;
	}
	if (!one_at_a_time) {
		for_coroutines();
	}
	weft_pgsql_start();
	weft_extensions_prepare();
	weft_environment_start();
	weft_process_state_prepare();
	weft_told_prepare();
	weft_snmp_prepare();
	weft_directories_prepare();
	weft_one_step_prepare(false);
	weft_wrap_aliases();
	return next_start ? next_start() : SUCCESS;
}

/* While modules start: opcache, which preloads at the same point, is started after them and calls us first. */
void weft_wrap_all_prepare(bool classic, bool resident, bool script)
{
	is_classic = classic && !resident;
	one_at_a_time = resident;
	is_script = script;
	weft_wrap_start();
	next_start = zend_post_startup_cb;
	zend_post_startup_cb = modules_started;
}
