/* native.c: the switch below PHP, and the stack of a coroutine that runs on it. */
#ifndef WEFT_NATIVE_H
#define WEFT_NATIVE_H

#include "coroutine.h"
#include "footprint.h"

typedef struct {
	char *stack;   /* NULL: its stack is a Fiber's or a bare context's */
	size_t bytes;
	void *handle;  /* where to continue */
} weft_native;

WEFT_SLOT(native, weft_native)

static inline bool weft_native_is(const weft_coroutine *coroutine)
{
	return weft_native_slot(coroutine)->stack != NULL;
}

void weft_native_start(size_t stack_bytes);
weft_coroutine *weft_native_create(uint32_t pool);
weft_enter_result weft_native_enter(weft_coroutine *coroutine, bool has_job, uint32_t job, uint64_t argument);
void weft_native_leave(weft_coroutine *coroutine);
bool weft_native_next(weft_coroutine *coroutine);
void weft_native_destroy(weft_coroutine *coroutine);
char *weft_native_yellow(const weft_coroutine *coroutine);
void weft_native_limits(const weft_coroutine *coroutine);
void weft_native_trim(const weft_coroutine *coroutine);
size_t weft_native_resident(const weft_coroutine *coroutine);
void weft_native_footprint(const weft_coroutine *coroutine, weft_footprint *footprint);
bool weft_native_holds(const weft_coroutine *coroutine, const void *address);

#endif
