/* outcome.c: the end of a request that did not complete. */
#ifndef WEFT_OUTCOME_H
#define WEFT_OUTCOME_H

#include "weft.h"

extern bool weft_development;

void weft_finish_script(weft_coroutine *coroutine);
void weft_settle(weft_coroutine *coroutine);
void weft_settle_bailout(weft_coroutine *coroutine);
void weft_run_shutdown_functions(void);
/* Calls the application's own exception handler; with `once`, it is set no longer. What it throws is in flight afterwards.
 * false: there is none. */
bool weft_call_exception_handler(zend_object *exception, bool once);
void weft_settle_late_bailout(weft_coroutine *coroutine);
void weft_respond_plain(weft_coroutine *coroutine);
bool weft_take_out_of_memory(void);

#endif
