/* Between the two files of Weft\Task: task.c is the object, task_run.c its life. Of all others, coroutine.c asks for a number.
 *
 *      go() ─► waiting ─► running ─► ended: a result or an exception, kept for whoever awaits it
 *                 └──── cancelled before it began ────┘
 */
#ifndef WEFT_TASK_H
#define WEFT_TASK_H

#include "weft.h"

typedef enum { TASK_BOOT, TASK_WAITING, TASK_RUNNING, TASK_ENDED } task_state;

struct weft_task {
	uint64_t id;
	task_state state;
	zend_fcall_info call;
	zend_fcall_info_cache cache;
	zval result;            /* UNDEF when it has thrown */
	zend_object *exception;
	bool seen;              /* somebody was given the exception */
	bool cancelled;         /* once is all: a task that has not begun never does then */
	zend_string *reason;
	weft_coroutine *coroutine;
	zval context;
	uint32_t superglobals;
	zval superglobal[WEFT_SUPERGLOBALS];
	zend_string *file;      /* where go() was called */
	uint32_t line;
	uint64_t *waits;        /* of those who await it */
	uint32_t waits_count, waits_size;
	weft_task *next;        /* among those of the boot, and then among those alive */
	weft_task **previous;
	zend_object std;
};

extern weft_task *weft_tasks_alive; /* not ended yet, the last one first */

/* Numbers of runs of coroutines and of tasks, never the same twice: coroutine.c. */
uint64_t weft_serial_next(void);
/* The number of the task that is this job's argument. */
uint64_t weft_task_id(uint64_t argument);
/* false: there are too many. */
bool weft_task_start(weft_task *task);
void weft_task_release_work(weft_task *task);

#endif
