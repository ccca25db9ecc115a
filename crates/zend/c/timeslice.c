/* The end of a time slice, where a coroutine has PHP to itself (native.c, instance/): PHP code that computes lets others
 * run, between any two of its machine instructions.
 *
 *     timer ── signal, on its own stack ──► Runtime::tick: should the running coroutine give way?
 *       in the VM's own code, or in code of the JIT:  the code continues at weft_timeslice_entry, which keeps all registers on
 *                                                     the coroutine's stack, gives way, and returns to where it was
 *       in C code:                                    the pages of the VM's code and of the JIT's are not executable until the
 *                                                     C code returns to one of them: that faults, and it continues as above.
 *                                                     Without the JIT, the VM's check for interrupts gives way
 *
 * The check alone would not do for compiled code: some loops of traces have none, and the JIT of functions makes it at the
 * head of a loop without having written back what it keeps in registers, and continues in the VM with what memory holds:
 * a step of the loop is repeated (`php` does that with pcntl_async_signals).
 *
 * All of it is safe because all that PHP code changes belongs to the instance, and whoever interrupts it changes nothing. In C
 * code there may be locks and state of libraries that instances share. PHP code that C code calls (a comparison of
 * usort(), a destructor, an output buffer) may wait, so it may be interrupted, too.
 *
 * Invariant: nothing gives way while this process writes to the memory that opcache shares. */
#include "timeslice.h"
#include "coroutine.h"
#include "engine.h"
#include "failure.h"
#include "host.h"
#include "instance/instance.h"
#include "schedule.h"
#include "stack.h"
#include "wait.h"
#include "zend_atomic.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define TICK SIGSTKFLT /* the kernel sends it to nobody */
#define MAPPINGS_MAX 8
#define RED_ZONE_BYTES 128 /* below the stack pointer, a function may keep data (System V ABI) */

typedef struct {
	const char *low, *high;
	int rights; /* with which it is mapped */
} range;

static range vm, compiled[MAPPINGS_MAX];
static size_t mappings;
static bool asks_check; /* the VM's check for interrupts is sound, and is asked */
static weft_coroutine *closed_for; /* PHP code is not executable until this one has given way; NULL: it is */
static bool started, timer_exists;
static timer_t timer;

static bool is_php(const void *instruction)
{
	const char *at = instruction;
	bool found = at >= vm.low && at < vm.high;
	for (size_t i = 0; i < mappings; i++) {
		found |= at >= compiled[i].low && at < compiled[i].high;
	}
	return found;
}

/* ---- where PHP code is ---- */

/* The VM is one function of libphp, where the compiler could make it one. */
static void find_vm(void)
{
	Dl_info info;
	const ElfW(Sym) *symbol = NULL;
	if (dladdr1((const void *) execute_ex, &info, (void **) &symbol, RTLD_DL_SYMENT) && symbol) {
		vm.low = info.dli_saddr;
		vm.high = vm.low + symbol->st_size;
	}
}

/* opcache's shared memory is the only one that is executable: where its JIT puts the code. */
static void find_compiled(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	while (maps && mappings < MAPPINGS_MAX && fgets(line, sizeof(line), maps)) {
		unsigned long low, high;
		char rights[5];
		if (sscanf(line, "%lx-%lx %4s", &low, &high, rights) == 3 && rights[2] == 'x' && rights[3] == 's') {
			int rights_now = PROT_READ | PROT_EXEC | (rights[1] == 'w' ? PROT_WRITE : 0);
			compiled[mappings++] = (range) {(const char *) low, (const char *) high, rights_now};
		}
	}
	if (maps) {
		fclose(maps);
	}
}

/* Whether the JIT compiles traces; their exits write back what they keep in registers. */
static bool compiles_traces(void)
{
	static const char *const names[] = {"tracing", "on", "yes", "true"};
	char value[32];
	size_t length = weft_engine_ini("opcache.jit", value, sizeof(value) - 1);
	value[length < sizeof(value) ? length : sizeof(value) - 1] = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcasecmp(value, names[i]) == 0) {
			return true;
		}
	}
	long flags = strtol(value, NULL, 10);
	return flags == 1 || flags / 10 % 10 == 5; /* ZEND_JIT_ON_HOT_TRACE */
}

/* ---- giving way ---- */

/* A wait that PHP code has prepared would be lost, and who has used up its stack must hear of it before it goes on. */
static bool may_give_way(void)
{
	return !weft_current->overflowed && !weft_wait_slot(weft_current)->prepared && !weft_host_may_be_half_written();
}

/* At a check of the VM. */
static void check(void)
{
	if (may_give_way()) {
		weft_host_give_way();
	}
}

#ifdef __x86_64__
/* Called with the address of the interrupted instruction on the stack, below the red zone of the interrupted code. The
 * VM and the JIT use no wider registers than those that fxsave keeps; the others are the callee's to keep. */
static const bool diverts = true;
extern void weft_timeslice_entry(void);
__asm__(
	".text\n"
	".hidden weft_timeslice_entry\n"
	".globl weft_timeslice_entry\n"
	".type weft_timeslice_entry, @function\n"
	"weft_timeslice_entry:\n"
	"	pushfq\n"
	"	cld\n"
	"	push %rax\n"
	"	push %rcx\n"
	"	push %rdx\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %r10\n"
	"	push %r11\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $512, %rsp\n"
	"	and $-64, %rsp\n"
	"	fxsave64 (%rsp)\n"
	"	call weft_timeslice_ended\n"
	"	fxrstor64 (%rsp)\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	pop %r11\n"
	"	pop %r10\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rdi\n"
	"	pop %rsi\n"
	"	pop %rdx\n"
	"	pop %rcx\n"
	"	pop %rax\n"
	"	popfq\n"
	"	ret $128\n"
	".size weft_timeslice_entry, . - weft_timeslice_entry\n");

__attribute__((visibility("hidden"), used)) void weft_timeslice_ended(void)
{
	int saved = errno;
	weft_host_give_way();
	errno = saved;
}

static const void *instruction_of(const ucontext_t *context)
{
	return (const void *) context->uc_mcontext.gregs[REG_RIP];
}

static bool divert(ucontext_t *context)
{
	greg_t *registers = context->uc_mcontext.gregs;
	uintptr_t *stack = (uintptr_t *) (registers[REG_RSP] - RED_ZONE_BYTES);
	*--stack = (uintptr_t) registers[REG_RIP]; /* may be the first access to that part of the stack (stack.c) */
	registers[REG_RSP] = (greg_t) stack;
	registers[REG_RIP] = (greg_t) (uintptr_t) weft_timeslice_entry;
	return true;
}
#else
static const bool diverts = false;
/* A jump to any address needs a register, and the interrupted code may be using it: the check must do. */
static const void *instruction_of(const ucontext_t *context)
{
	(void) context;
	return NULL;
}

static bool divert(ucontext_t *context)
{
	(void) context;
	return false;
}
#endif

/* ---- a slice ends in C code ---- */

/* The pages that are in the range as a whole. */
static void protect(const range *range, int rights)
{
	uintptr_t page = WEFT_PAGE_BYTES, low = ((uintptr_t) range->low + page - 1) & ~(page - 1), high = (uintptr_t) range->high & ~(page - 1);
	if (high > low) {
		mprotect((void *) low, high - low, rights);
	}
}

static void close_code(void)
{
	closed_for = weft_current;
	protect(&vm, PROT_READ);
	for (size_t i = 0; i < mappings; i++) {
		protect(&compiled[i], PROT_READ);
	}
}

static void open_code(int more_rights)
{
	closed_for = NULL;
	protect(&vm, vm.rights);
	for (size_t i = 0; i < mappings; i++) {
		protect(&compiled[i], compiled[i].rights | more_rights);
	}
}

/* For the handler of SIGSEGV: this address could not be executed. */
static bool code_fault(const void *address, void *context)
{
	if (EXPECTED(!closed_for) || !is_php(address)) {
		return false;
	}
	bool same = closed_for == weft_current;
	if (UNEXPECTED(address != instruction_of(context))) { /* opcache writes code, and will protect it itself */
		open_code(PROT_WRITE);
		return true;
	}
	open_code(0);
	if (same && may_give_way()) {
		divert(context);
	}
	return true;
}

static void on_tick(int signal_number, siginfo_t *info, void *context)
{
	(void) signal_number;
	(void) info;
	int saved = errno;
	if (weft_host_tick() && weft_current && !weft_current->ended) {
		bool diverted = is_php(instruction_of(context)) && may_give_way() && divert(context);
		if (!diverted && asks_check) {
			weft_interrupt_preempt();
		} else if (!diverted && diverts && may_give_way()) {
			close_code();
		}
	}
	errno = saved;
}

/* ---- the timer ---- */

void weft_timeslice_ticks(uint64_t every)
{
	if (!started) {
		return;
	}
	if (!timer_exists) {
		struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICK};
		event._sigev_un._tid = gettid();
		if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
			started = false;
			return;
		}
		timer_exists = true;
	}
	struct timespec span = {.tv_sec = (time_t) (every / 1000000000), .tv_nsec = (long) (every % 1000000000)};
	struct itimerspec times = {.it_interval = span, .it_value = span};
	timer_settime(timer, 0, &times, NULL);
}

void weft_timeslice_start(void)
{
	/* Not by way of the hooks, for which a signal belongs to PHP code. */
	int (*install)(int, const struct sigaction *, struct sigaction *) =
		(int (*)(int, const struct sigaction *, struct sigaction *)) weft_real("sigaction");
	struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	find_vm();
	find_compiled();
	weft_interrupt_ask(check);
	weft_stack_ask_about_code(code_fault);
	vm.rights = PROT_READ | PROT_EXEC;
	asks_check = !mappings || (!diverts && compiles_traces());
	started = install(TICK, &action, NULL) == 0;
}

/* ---- a request that was cancelled while it computes ---- */

void weft_timeslice_stop(void)
{
	weft_wait_slot(weft_current)->stop = true;
	zend_atomic_bool_store(&EG(vm_interrupt), true);
}
