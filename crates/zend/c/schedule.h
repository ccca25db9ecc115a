/* src/schedule.rs: the scheduler's functions for C. */
#ifndef WEFT_SCHEDULE_H
#define WEFT_SCHEDULE_H

#include "weft.h"

struct pollfd;

uint64_t weft_host_wait_begin(void);
uint32_t weft_host_wait(uint64_t wait, uint64_t deadline);
uint32_t weft_host_wait_on(uint64_t wait, struct pollfd *fds, size_t count, uint64_t deadline);
bool weft_host_slice_has_ended(void); /* for a handler of signals, too */
void weft_host_give_way(void);
bool weft_host_is_parked(const void *context); /* not: one that waits only for its turn */
bool weft_host_is_late(void); /* the running coroutine has run for too long; all its waits end from now on */
void weft_host_begin_anew(void); /* the running coroutine goes on after a request that has ended: what that was cancelled for is over */
bool weft_host_wake(uint64_t wait);
void weft_host_yield(void);
bool weft_host_spawn(uint32_t kind, uint64_t argument);
uint64_t weft_host_self(void);
/* For a coroutine that has just ended one. */
bool weft_host_next_request(uint64_t *request);
bool weft_host_next_event(uint64_t *tunnel);
/* Between these, the hooks count the code as outside of any coroutine: calls are plain, and nothing parks. */
uint64_t weft_host_step_out(void);
void weft_host_step_in(uint64_t coroutine);
bool weft_host_interrupt(uint64_t coroutine);
void weft_host_interrupt_forget(void);
bool weft_host_cancel(uint64_t coroutine);
typedef struct {
	uint64_t at;
	uint64_t sequence;
} weft_timer;
weft_timer weft_host_interrupt_at(uint64_t at);
bool weft_host_disarm(weft_timer timer);
uint64_t weft_host_now(void);
uint64_t weft_host_since(uint64_t coroutine);
bool weft_host_may_be_half_written(void);
/* Ends a connection if a wait for it was cut short. */
void weft_host_end_if_cut_short(int fd);

#endif
