/* session.auto_start: before the worker's one long request begins, and at each request's beginning. The rest of session.c is
 * called by isolate.c and declared in weft.h. */
#ifndef WEFT_SESSION_H
#define WEFT_SESSION_H

#include "weft.h"

/* Keeps the long request from starting a session of its own. Before php_request_startup(). */
void weft_session_prepare(void);
/* Starts this request's session if session.auto_start says so. An exception may be in flight after it. */
void weft_session_begin(void);
/* Ini values are about to be exchanged, or have been: its own are then not checked as a script's. */
void weft_session_settings(bool exchanged);

/* For weft_session_start() and weft_session_end(), in resident mode. */
void weft_session_start_resident(void);
void weft_session_end_resident(void);

#endif
