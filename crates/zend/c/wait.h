/* wait.c: waits, time-outs, cancellation. */
#ifndef WEFT_WAIT_H
#define WEFT_WAIT_H

#include "coroutine.h"

typedef struct {
	struct weft_deadline *deadline; /* the innermost timeout() */
	zend_string *reason;           /* why it is interrupted; NULL: no reason given */
	uint64_t prepared;             /* between Coroutine::prepare() and park(): the wait */
	zval on;                       /* what it waits for, a text or an object; UNDEF if that was not stated */
	uint64_t since;                /* 0: it is not in a wait with a stated purpose */
	bool external;                 /* that wait ends from outside PHP */
	bool interrupted;              /* cancel() was called; the next wait throws */
	bool deadlocked;               /* {main}: its wait must throw a DeadlockError */
	bool stop;                     /* it was cancelled while it computed: the VM's next check throws */
	uint32_t stopped;              /* when that happened first, in milliseconds; 0: it has not */
	uint32_t thrown;               /* when it did last */
} weft_wait;

WEFT_SLOT(wait, weft_wait)

void weft_wait_register(void);
uint64_t weft_wait_begin(void);
uint64_t weft_wait_deadline(double seconds, bool is_null);
/* As PHP writes a number of seconds. */
zend_string *weft_wait_seconds(double seconds);
/* Parks on a wait that was just opened. `on`: what reports name; an object by its class. */
weft_wait_end weft_wait_named(uint64_t wait, zval *on, uint64_t deadline);
weft_wait_end weft_wait_opened(uint64_t wait, struct pollfd *fds, size_t count, uint64_t deadline);
void weft_interrupt(weft_coroutine *coroutine, zend_string *reason);
void weft_cancel(bool for_good);
void weft_stop(void);
bool weft_cancel_pending(void);
extern zend_class_entry *weft_cancelled_class;
extern zend_class_entry *weft_timeout_class;
extern zend_class_entry *weft_deadlock_class;
/* A bailout has removed the frames in which the coroutine's timeout() calls were. */
void weft_wait_reset(weft_coroutine *coroutine);

#endif
