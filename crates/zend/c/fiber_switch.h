/* fiber_switch.c: the switch within one PHP instance. */
#ifndef WEFT_FIBER_SWITCH_H
#define WEFT_FIBER_SWITCH_H

#include "weft.h"

void weft_switch_start(bool bare, size_t stack_bytes);
weft_coroutine *weft_coroutine_create(void);
weft_enter_result weft_coroutine_enter(weft_coroutine *coroutine, bool has_job, uint32_t job, uint64_t argument);
void weft_coroutine_leave(weft_coroutine *coroutine);
void weft_coroutine_resumed(weft_coroutine *coroutine);
size_t weft_coroutine_stack(const weft_coroutine *coroutine);
void weft_coroutine_trim(const weft_coroutine *coroutine);
void weft_coroutine_destroy(weft_coroutine *coroutine);

#endif
