/* Tasks: task.c is the object Weft\Task, task_run.c its life.
 *
 *      go() ─► waiting ─► running ─► ended: a result or an exception, kept for coroutines that await it
 *                 └──── cancelled before it began ────┘
 */
#ifndef WEFT_TASK_H
#define WEFT_TASK_H

#include "coroutine.h"
#include "superglobals.h"

typedef enum { TASK_BOOT, TASK_WAITING, TASK_RUNNING, TASK_ENDED } task_state;

typedef struct weft_task weft_task;

/* The task it runs; NULL: none. */
WEFT_SLOT(task, weft_task *)

static inline weft_task *weft_task_of(const weft_coroutine *coroutine)
{
	return *weft_task_slot(coroutine);
}

struct weft_task {
	uint64_t id;
	uint64_t origin;        /* the request that started it, or its task did; 0: none */
	task_state state;
	zend_fcall_info call;
	zend_fcall_info_cache cache;
	zval result;            /* UNDEF when it has thrown */
	zend_object *exception;
	bool seen;              /* code has received the exception */
	bool cancelled;         /* once is enough: a task that has not begun then never does */
	zend_string *reason;
	weft_coroutine *coroutine;
	zval context;
	uint32_t superglobals;
	zval superglobal[WEFT_SUPERGLOBALS];
	zend_string *file;      /* where go() was called */
	uint32_t line;
	uint64_t *waits;        /* of the coroutines that await it */
	uint32_t waits_count, waits_size;
	weft_task *next;        /* among those of the boot, later among those alive */
	weft_task **previous;
	zend_object std;
};

/* The request that a coroutine runs, or for which its task was started; 0: none. */
static inline uint64_t weft_task_origin(const weft_coroutine *coroutine)
{
	const weft_task *task = weft_task_of(coroutine);
	return task ? task->origin : coroutine->request;
}

extern weft_task *weft_tasks_alive; /* not ended yet, the last one first */

/* The number of the task that is this job's argument. */
uint64_t weft_task_id(uint64_t argument);
/* false: there are too many. */
bool weft_task_start(weft_task *task);
void weft_task_release_work(weft_task *task);

void weft_task_register(void);
void weft_task_run(weft_coroutine *coroutine);
void weft_task_abandon(uint64_t argument);
void weft_tasks_start(void);
bool weft_tasks_are_alive(void);
void weft_tasks_cancel(const char *reason);
void weft_tasks_cancel_for_good(void);
size_t weft_task_describe(uint64_t argument, char *buffer, size_t size);
void weft_task_place(const weft_task *task, const char **file, uint32_t *line);
/* The number of a task; 0: the object is none. */
uint64_t weft_task_number(zend_object *object);
zval *weft_task_value(weft_task *task, zval *value);
bool weft_task_interrupt(weft_task *task, zend_string *reason);

#endif
