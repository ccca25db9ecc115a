/* process_state.c: current directory, locale, umask and time zone. */
#ifndef WEFT_PROCESS_STATE_H
#define WEFT_PROCESS_STATE_H

#include "weft.h"

void weft_process_state_prepare(void);
void weft_process_state_start(void);
void weft_process_state_stop(void);
void weft_process_state_out(weft_coroutine *coroutine);
void weft_process_state_in(weft_coroutine *coroutine);
void weft_process_state_end(weft_coroutine *coroutine);
/* Its changes were freed with its heap, or undone. */
void weft_process_state_forget(weft_coroutine *coroutine);
/* For development mode: returns one change after another that this coroutine has left. NULL: there are no
 * more. */
zend_string *weft_process_state_left(weft_coroutine *coroutine, uint32_t *looked_at);

#endif
