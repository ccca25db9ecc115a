/* C stacks: how much of one is open, and what happens at its end.
 *
 * A stack has as much address space as a main thread's (8 MiB), because C code recurses that deep under php. Few
 * requests need more than the open part, so the rest is closed until then:
 *
 *     low                                                                              high
 *     | guard page | yellow zone | ....... closed, PROT_NONE ....... | ... open ... |
 *
 *     first touch of the closed part: the SIGSEGV handler opens all of it, and the access is made again
 *     first touch of the yellow zone: it is opened, and PHP throws an Error at its next check; 128 KiB are left to unwind on
 *     touch of the guard page: C code that never checks. A PHP instance is abandoned where it stands and dropped as a whole
 *         (instance/instance.c); in coroutine mode, where all share one PHP, the worker dies
 *
 * When the job has ended, everything is as before and the memory is returned to the system. A mapping that is mostly
 * closed costs no memory where the kernel makes huge pages of large ones, and a stack is two mappings either way. The
 * native stack of classic mode (native.c) has no closed part: its instance returns memory when it is idle.
 *
 * It must not know what runs on a stack. Invariant: whatever is open beyond the open part is recorded in the running
 * coroutine. */
#include "stack.h"
#include "coroutine.h"
#include "crash.h"
#include "failure.h"
#include "footprint.h"
#include "native.h"
#include "stack_zones.h"
#include "zend_observer.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define OPEN_BYTES (256 * 1024)
#define RED_ZONE_BYTES 128 /* below the stack pointer, for functions that call no other one (AMD64 ABI, section 3.2.2) */
#define FIBER_GUARD_BYTES weft_page_bytes() /* ZEND_FIBER_GUARD_PAGES in Zend/zend_fibers.c */

/* Zend/zend_fibers.c keeps this struct private; its first two fields have been these since 8.1. */
typedef struct {
	char *pointer;
	size_t size;
} fiber_stack;

/* NULL where there are no instances. */
static weft_write_fault write_fault;
static weft_overrun overrun;
static weft_code_fault code_fault; /* NULL where there are no time slices */

void weft_stack_ask(weft_write_fault about_writes, weft_overrun about_ends)
{
	write_fault = about_writes;
	overrun = about_ends;
}

void weft_stack_ask_about_code(weft_code_fault about_code)
{
	code_fault = about_code;
}

/* The bounds of the closed part. The yellow zone is its low end. */
static bool closed_part(const fiber_stack *stack, char **low, char **high)
{
	if (stack->size < YELLOW_BYTES + OPEN_BYTES) {
		*low = stack->pointer;
		*high = stack->pointer + YELLOW_BYTES;
		return stack->size > 2 * YELLOW_BYTES;
	}
	*low = stack->pointer;
	*high = stack->pointer + stack->size - OPEN_BYTES;
	return true;
}

void weft_stack_arm(zend_fiber_context *context)
{
	char *low, *high;
	if (context->stack && closed_part((fiber_stack *) context->stack, &low, &high)) {
		mprotect(low, (size_t) (high - low), PROT_NONE);
	}
}

void weft_stack_restore(zend_fiber_context *context)
{
	const size_t spare = 16 * 1024;
	weft_stack_arm(context);
	if (context->stack) {
		weft_give_back(((fiber_stack *) context->stack)->pointer, (char *) __builtin_frame_address(0) - spare);
	}
}

void weft_stack_trim(const zend_fiber_context *context)
{
	const fiber_stack *stack = (const fiber_stack *) context->stack;
	if (stack) {
		weft_give_back(stack->pointer, (char *) context->handle - RED_ZONE_BYTES);
	}
}

size_t weft_stack_resident(const zend_fiber_context *context)
{
	const fiber_stack *stack = (const fiber_stack *) context->stack;
	return stack ? weft_resident_bytes(stack->pointer, stack->size) : 0;
}

static void open_part(char *low, char *high)
{
	mprotect(low, (size_t) (high - low), PROT_READ | PROT_WRITE);
	if (weft_current) {
		weft_current->stack_opened = true;
	}
}

/* Whether the access can be made again: it was to a closed part of the running stack. */
static bool open_at(const char *address)
{
	zend_fiber_context *running = EG(current_fiber_context);
	if (running && running->stack) {
		char *low, *high, *yellow = ((fiber_stack *) running->stack)->pointer;
		if (!closed_part((fiber_stack *) running->stack, &low, &high) || address < low || address >= high) {
			return false;
		}
		if (address >= yellow + YELLOW_BYTES) {
			open_part(yellow + YELLOW_BYTES, high);
			return true;
		}
		open_part(low, high);
		weft_interrupt_overflow();
		return true;
	}
	char *yellow = weft_current ? weft_native_yellow(weft_current) : NULL;
	if (yellow && address >= yellow && address < yellow + YELLOW_BYTES) {
		open_part(yellow, yellow + YELLOW_BYTES);
		weft_interrupt_overflow();
		return true;
	}
	return false;
}

/* Whether the address is below the end of the running stack. */
static bool is_guard(const char *address)
{
	zend_fiber_context *running = EG(current_fiber_context);
	if (running && running->stack) {
		const char *end = ((fiber_stack *) running->stack)->pointer;
		return address >= end - FIBER_GUARD_BYTES && address < end;
	}
	const char *end = weft_current ? weft_native_yellow(weft_current) : NULL;
	return end && address >= end - NATIVE_GUARD_BYTES && address < end;
}

#ifdef __x86_64__
static const void *instruction(const ucontext_t *context)
{
	return (const void *) context->uc_mcontext.gregs[REG_RIP];
}
#elif defined(__aarch64__)
static const void *instruction(const ucontext_t *context)
{
	return (const void *) context->uc_mcontext.pc;
}
#endif

static void on_segv(int signal_number, siginfo_t *info, void *context)
{
	if (info->si_code == SEGV_ACCERR && code_fault && code_fault(info->si_addr, context)) {
		return; /* PHP code, where a slice has ended: it gives way, or is executed again */
	}
	if (info->si_code == SEGV_ACCERR && write_fault && write_fault(info->si_addr)) {
		return; /* the first write to a page of the image: made again */
	}
	if (info->si_code > 0 && open_at(info->si_addr)) {
		return;
	}
	if (info->si_code > 0 && overrun && is_guard(info->si_addr)) {
		overrun(instruction(context)); /* returns if it cannot be contained */
	}
	weft_crash(signal_number);
	signal(signal_number, SIG_DFL); /* the access is made again, and kills the process */
	if (info->si_code <= 0) { /* there was no access: a process sent the signal */
		raise(signal_number);
	}
}

void weft_stack_start(void)
{
	static bool started;
	if (started) {
		return;
	}
	started = true;
	stack_t stack = {.ss_size = 256 * 1024}; /* TLS and HTTP/2 are spoken on it at the end (crash.c) */
	struct sigaction action = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp != MAP_FAILED) {
		sigaltstack(&stack, NULL);
		sigaction(SIGSEGV, &action, NULL);
	}
	zend_observer_fiber_init_register(weft_stack_arm);
}
