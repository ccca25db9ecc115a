/* A coroutine as the switches see it (fiber_switch.c, native.c), and the list of all coroutines.
 *
 * Must not know what modules keep for a coroutine. Each has a slot in it (slots.h). */
#ifndef WEFT_COROUTINE_H
#define WEFT_COROUTINE_H

#include "slots.h"
#include "weft.h"

struct weft_coroutine {
	zend_fiber_context *resume_at; /* where to continue; a nested user Fiber's context if it parked inside one */
	zend_object *fiber;            /* the pooled \Fiber; NULL for a bare context (a script's {main}) and for a native stack */
	zend_execute_data *frame;      /* its frame while it is parked */
	zval *vm_top, *vm_end;         /* the unused part of its VM stack while it does not run */
	weft_coroutine *next, **previous; /* in the list of all coroutines */
	uint64_t serial;               /* number of this run: never the same twice */
	uint64_t id;                   /* this run, for the scheduler */
	uint64_t argument;             /* of its job */
	uint64_t request;              /* the request it runs; 0: none */
	uint32_t job;
	uint32_t pool;                 /* of which it gets jobs, all its life */
	bool started;
	bool ended;
	bool cancelled;                /* its waits fail from now on */
	bool lost;
	bool isolated;                 /* its changes to the process are undone at its end; false for a script's {main} */
	volatile bool overflowed;      /* its C stack is used up, and PHP has not thrown the Error yet (failure.c) */
	volatile bool stack_opened;    /* a larger part of its stack is open than at the start of a job (stack.c) */
	weft_slots slots;
};

extern weft_coroutine *weft_current; /* the coroutine that has the processor; NULL in the loop */
extern weft_coroutine *weft_coroutines; /* all of them, including idle ones */
extern weft_coroutine *weft_main; /* the coroutine of a script's {main}; NULL in a server */
extern bool weft_exchanging; /* the state that coroutines own is being exchanged */
/* Coroutines have state of their own: there is a base that each of them starts from (isolate.c). A script has none before it
 * starts its first task: until then it is alone with its state, and keeps it while it waits (ini values of an active session,
 * for one, could not be taken back). */
extern bool weft_isolates;

/* The number of the last run of a coroutine, or of the last task. */
extern uint64_t weft_last_serial;

/* Numbers of runs of coroutines and of tasks; never the same twice. */
static inline uint64_t weft_serial_next(void)
{
	return ++weft_last_serial;
}

/* Whether the running coroutine may park: not while what coroutines own is being exchanged, nor where PHP forbids it. */
bool weft_coroutine_may_leave(void);
/* Among all there are, and no longer. */
void weft_coroutine_list(weft_coroutine *coroutine);
void weft_coroutine_unlist(weft_coroutine *coroutine);
/* Runs the job that a switch has given the coroutine (fiber_switch.c). */
void weft_job_run(weft_coroutine *coroutine);

#endif
