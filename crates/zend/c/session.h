/* session.c: the session of each request. */
#ifndef WEFT_SESSION_H
#define WEFT_SESSION_H

#include "weft.h"

/* Keeps the long request from starting a session. Called before php_request_startup(). */
void weft_session_prepare(void);
void weft_session_return(void);
/* Starts this request's session if session.auto_start is on. May leave an exception pending. */
void weft_session_begin(void);
/* After the application has booted. */
void weft_session_start(void);
void weft_session_out(weft_coroutine *coroutine);
void weft_session_in(weft_coroutine *coroutine);
void weft_session_end(void);
/* Ini values are about to be exchanged, or have been: the session's own are then not checked as a script's
 * would be. */
void weft_session_settings(bool exchanged);

/* For weft_session_start() and weft_session_end(), in resident mode. */
void weft_session_start_resident(void);
void weft_session_end_resident(void);

#endif
