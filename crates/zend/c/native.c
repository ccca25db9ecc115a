/* The switch below PHP: a job runs on a native stack, and Zend does not know about it.
 *
 *     loop's stack ── enter ──► native stack of a coroutine      the engine's own machine-context switch in both
 *     loop's stack ◄── leave ── wherever it stands               directions; to Zend it is one plain main stack
 *
 *     low                                                              high
 *     | guard zone | yellow zone, PROT_NONE | ........ stack ........ |  (stack.c)
 *
 * A job here begins and ends PHP requests (classic.c), which a Zend Fiber could not do: its context lives in the
 * memory that the end of a request frees. Invariants: only the loop enters; a coroutine leaves only to the loop; while
 * one is parked in the middle of a request, no other runs PHP code, unless other code has saved PHP's whole state
 * (this file must not know which). */
#include "native.h"
#include "php/version.h"
#include "boot.h"
#include "coroutine.h"
#include "signals.h"
#include "stack_zones.h"
#include "wait.h"

#include <sys/mman.h>

/* Exported by libphp for its Fibers (Zend/zend_fibers.c). */
typedef struct {
	void *handle;
	void *passed;
} machine_context;
extern void *make_fcontext(void *stack_top, size_t size, void (*run)(machine_context from));
extern machine_context jump_fcontext(void *to, void *passed);

static size_t stack_bytes = 8 * 1024 * 1024;
static void *loop_handle;

void weft_native_start(size_t bytes)
{
	stack_bytes = bytes;
	weft_signals_start();
}

static void run_jobs(machine_context from)
{
	weft_coroutine *coroutine = from.passed;
	loop_handle = from.handle;
	for (;;) {
		weft_job_run(coroutine);
		coroutine->ended = true;
		loop_handle = jump_fcontext(loop_handle, NULL).handle;
	}
}

/* Ends the running job from inside it, and continues with the next one. false: there is none, and the job must end for
 * good. */
bool weft_native_next(weft_coroutine *coroutine)
{
	uint32_t kind = coroutine->job;
	coroutine->ended = true;
	loop_handle = jump_fcontext(loop_handle, NULL).handle;
	return coroutine->job == kind;
}

/* NULL: no memory, or no mappings left (vm.max_map_count). */
weft_coroutine *weft_native_create(uint32_t pool)
{
	weft_coroutine *coroutine = calloc(1, sizeof(*coroutine));
	if (!coroutine) {
		return NULL;
	}
	size_t size = NATIVE_GUARD_BYTES + YELLOW_BYTES + stack_bytes;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED) {
		free(coroutine);
		return NULL;
	}
	if (mprotect(stack, NATIVE_GUARD_BYTES + YELLOW_BYTES, PROT_NONE)) {
		munmap(stack, size);
		free(coroutine);
		return NULL;
	}
	*weft_native_slot(coroutine) = (weft_native) {.stack = stack, .bytes = size};
	weft_native_slot(coroutine)->handle = make_fcontext(stack + size, stack_bytes, run_jobs);
	coroutine->pool = pool;
	return coroutine;
}

/* Where the yellow zone of a coroutine's native stack begins; NULL if it has none. */
char *weft_native_yellow(const weft_coroutine *coroutine)
{
	char *stack = weft_native_slot(coroutine)->stack;
	return stack ? stack + NATIVE_GUARD_BYTES : NULL;
}

/* Tells an engine that checks its stack (PHP 8.3 and later) where this one ends. When a request of PHP has begun on it. */
void weft_native_limits(const weft_coroutine *coroutine)
{
	const weft_native *own = weft_native_slot(coroutine);
	weft_stack_is(own->stack + NATIVE_GUARD_BYTES + YELLOW_BYTES, own->stack + own->bytes);
}

/* 0: parked. 1: the job has ended, the coroutine is idle. */
weft_enter_result weft_native_enter(weft_coroutine *coroutine, bool has_job, uint32_t job, uint64_t argument)
{
	weft_current = coroutine;
	coroutine->ended = false;
	if (has_job) {
		coroutine->job = job;
		coroutine->argument = coroutine->request = argument;
		coroutine->cancelled = false;
		weft_wait_slot(coroutine)->stop = false;
		weft_wait_slot(coroutine)->stopped = 0;
	}
	weft_boot_enter(coroutine);
	weft_native *own = weft_native_slot(coroutine);
	own->handle = jump_fcontext(own->handle, coroutine).handle;
	weft_current = NULL;
	if (coroutine->ended && UNEXPECTED(coroutine->stack_opened)) {
		coroutine->stack_opened = coroutine->overflowed = false;
		mprotect(weft_native_yellow(coroutine), YELLOW_BYTES, PROT_NONE);
	}
	return coroutine->ended ? WEFT_ENTER_ENDED : WEFT_ENTER_PARKED;
}

void weft_native_leave(weft_coroutine *coroutine)
{
	coroutine->frame = EG(current_execute_data);
	weft_boot_leave(coroutine);
	loop_handle = jump_fcontext(loop_handle, NULL).handle;
}

void weft_native_destroy(weft_coroutine *coroutine)
{
	munmap(weft_native_slot(coroutine)->stack, weft_native_slot(coroutine)->bytes);
	free(coroutine);
}

/* Returns the memory of the stack below the current frame of a coroutine that is not running. A coroutine that waits
 * inside a user Fiber is on that Fiber's stack; where it left its own is then unknown. */
void weft_native_trim(const weft_coroutine *coroutine)
{
	void *handle = weft_native_slot(coroutine)->handle;
	if (!weft_native_holds(coroutine, handle)) {
		return;
	}
	weft_give_back(weft_native_yellow(coroutine) + YELLOW_BYTES, (char *) handle - weft_page_bytes());
}

size_t weft_native_resident(const weft_coroutine *coroutine)
{
	const weft_native *own = weft_native_slot(coroutine);
	return weft_resident_bytes(own->stack + NATIVE_GUARD_BYTES, own->bytes - NATIVE_GUARD_BYTES);
}

/* Where there is one such coroutine: PHP's heap is its own. How much of that is in memory is not known, but what Zend has
 * of the system. */
void weft_native_footprint(const weft_coroutine *coroutine, weft_footprint *footprint)
{
	*footprint = (weft_footprint) {.stack = weft_native_resident(coroutine), .heap = zend_memory_usage(true)};
}

/* Its guard does not count: that is where a stack ends whose mapping lies below this one, a Fiber's of another instance for example,
 * and PHP has a pointer to that end (EG(stack_base)). */
bool weft_native_holds(const weft_coroutine *coroutine, const void *address)
{
	const weft_native *own = weft_native_slot(coroutine);
	return (const char *) address >= own->stack + NATIVE_GUARD_BYTES && (const char *) address < own->stack + own->bytes;
}
