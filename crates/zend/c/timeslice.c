/* The end of a time slice, where a coroutine has PHP to itself (native.c, instance/): PHP code that computes lets others
 * run, between any two of its machine instructions.
 *
 * Without a JIT it is first asked to do so at the VM's check for interrupts, which costs nothing. With one, or if it comes to no
 * check before it is asked again:
 *
 *     ticker (another thread) ── weft_timeslice_end ──► the pages of the VM's code are not executable; if that was not enough until
 *           it asks again, those of the JIT's neither. They are a hundred times as many, and few scripts keep to them
 *     the PHP thread, in PHP code, or as soon as it comes back to it from C code
 *           ── fault, on the signal stack ──► code_fault makes them executable; should the running coroutine give way?
 *                  yes: it is diverted (divert.c): gives way, and goes on at the instruction that faulted
 *
 * No signal comes from outside: one would end system calls with EINTR, also such as are not restarted. The fault is one of
 * an instruction of PHP code, which makes no system calls. These may read the closed pages; nothing but the JIT writes them.
 *
 * The check will not do for compiled code: some loops of traces have none, and PHP 8.2 harms what is kept in registers there. At the
 * end of a trace's loop it reads the flag by way of rax, which may hold a counter and is written back then; the code of whole
 * functions continues in the VM with what memory holds. `do … while (--$count)` may never end (nor does it in `php` with
 * pcntl_async_signals).
 *
 * All of it is safe because all that PHP code changes belongs to the instance, and whoever interrupts it changes nothing. In C
 * code there may be locks and state of libraries that instances share. PHP code that C code calls (a comparison of
 * usort(), a destructor, an output buffer) may wait, so it may be interrupted, too.
 *
 * Invariants: nothing gives way while this process writes to the memory that opcache shares; a page is closed only while
 * `closed` or `closing` is set; whatever the PHP thread does with such a page, the fault opens it first. */
#include "timeslice.h"
#include "coroutine.h"
#include "divert.h"
#include "engine.h"
#include "failure.h"
#include "host.h"
#include "instance/instance.h"
#include "schedule.h"
#include "stack.h"
#include "wait.h"
#include "zend_atomic.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#define MAPPINGS_MAX 8
#define VM_BYTES_MIN (16 * 1024) /* a VM whose instructions are functions of their own has a shorter one */

typedef struct {
	const char *low, *high;
	int rights; /* with which it is mapped */
} range;

static range vm, vm_pages, compiled[MAPPINGS_MAX];
static size_t mappings;
static bool closes_code; /* the end of a slice is a fault of PHP code */
static bool asks_check; /* before that, or instead, it is the VM's check for interrupts: where there is no JIT */
static atomic_bool closed; /* the VM's code is not executable. Set by the ticker, cleared by the PHP thread */
static atomic_bool compiled_closed; /* nor the JIT's. Set and cleared by the same */
static atomic_bool missed; /* C code on the VM's pages came first. Set by the PHP thread, cleared by the ticker */
static atomic_bool closing; /* the ticker is at it */

static bool is_within(const range *range, const void *address)
{
	return (const char *) address >= range->low && (const char *) address < range->high;
}

static bool is_compiled(const void *address)
{
	bool found = false;
	for (size_t i = 0; i < mappings; i++) {
		found |= is_within(&compiled[i], address);
	}
	return found;
}

/* The pages that the range is on. Other code of libphp may be on them, too. */
static range pages_of(const range *of)
{
	uintptr_t mask = WEFT_PAGE_BYTES - 1;
	return (range) {(const char *) ((uintptr_t) of->low & ~mask), (const char *) (((uintptr_t) of->high + mask) & ~mask), of->rights};
}

/* ---- where PHP code is ---- */

/* The VM is one function of libphp, where the compiler could make it one. */
static void find_vm(void)
{
	Dl_info info;
	const ElfW(Sym) *symbol = NULL;
	if (dladdr1((const void *) execute_ex, &info, (void **) &symbol, RTLD_DL_SYMENT) && symbol) {
		vm = (range) {info.dli_saddr, (const char *) info.dli_saddr + symbol->st_size, PROT_READ | PROT_EXEC};
		vm_pages = pages_of(&vm);
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

/* ---- giving way ---- */

/* A wait that PHP code has prepared would be lost, and who has used up its stack must hear of it before it goes on. */
static bool may_give_way(void)
{
	return !weft_current->overflowed && !weft_wait_slot(weft_current)->prepared && !weft_host_may_be_half_written();
}

/* Whether the coroutine that runs, if one does, gives way now. */
static bool is_to_give_way(void)
{
	return weft_current && !weft_current->ended && weft_host_slice_has_ended() && may_give_way();
}

/* At a check of the VM. */
static void check(void)
{
	if (weft_host_slice_has_ended() && may_give_way()) {
		weft_host_give_way();
	}
}

/* ---- PHP code that is not executable ---- */

static bool protect(const range *range, int rights)
{
	return mprotect((void *) range->low, (size_t) (range->high - range->low), rights) == 0;
}

/* Whether the kernel makes pages executable again that were not (systemd's MemoryDenyWriteExecute forbids it). */
static bool can_open_code(void)
{
	void *page = mmap(NULL, WEFT_PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) {
		return false;
	}
	bool can = mprotect(page, WEFT_PAGE_BYTES, PROT_READ) == 0 && mprotect(page, WEFT_PAGE_BYTES, PROT_READ | PROT_EXEC) == 0;
	munmap(page, WEFT_PAGE_BYTES);
	return can;
}

/* On the ticker. It does not wait for the PHP thread, nor that for it: if one opens pages while the other closes them, some
 * remain closed, and `closed` set, until the next fault. */
static void close_code(bool with_compiled)
{
	atomic_store(&closing, true);
	protect(&vm_pages, PROT_READ);
	for (size_t i = 0; with_compiled && i < mappings; i++) {
		protect(&compiled[i], PROT_READ);
	}
	if (with_compiled) {
		atomic_store(&compiled_closed, true);
	}
	atomic_store(&closed, true);
	atomic_store(&closing, false);
}

/* The JIT's as well, if they are closed or it is one of them that was met. While the JIT writes, its pages are as it has made them:
 * writable and, if it is not debugged, not executable. */
static bool open_code(bool of_compiled, bool for_writing)
{
	atomic_store(&closed, false);
	bool opened = protect(&vm_pages, vm_pages.rights);
	bool with_compiled = atomic_exchange(&compiled_closed, false) || of_compiled;
	for (size_t i = 0; with_compiled && i < mappings; i++) {
		bool always_writable = compiled[i].rights & PROT_WRITE;
		opened &= protect(&compiled[i], for_writing && !always_writable ? PROT_READ | PROT_WRITE : compiled[i].rights);
	}
	return opened;
}

/* ---- slices of a few instructions, for tests ----
 *
 * A fault at the first instruction of PHP code sets the processor's trap flag, so each further one ends with SIGTRAP. As soon
 * as the next one is on no page of PHP code, the flag is cleared and the pages are closed: C code runs at its own speed. */

static uint32_t steps_max; /* 0: off */
static uint32_t steps_left;
static uint64_t steps_seed = 1; /* Knuth's MMIX */

static bool is_php(const void *instruction)
{
	return is_compiled(instruction) || is_within(&vm, instruction);
}

static void close_vm(void)
{
	protect(&vm_pages, PROT_READ);
	atomic_store(&closed, true);
}

/* Whether the random number of instructions has passed. */
static bool step_ends_slice(void)
{
	if (steps_left > 1) {
		steps_left--;
		return false;
	}
	steps_seed = steps_seed * 6364136223846793005u + 1442695040888963407u;
	steps_left = 1 + (uint32_t) (steps_seed >> 33) % steps_max;
	return true;
}

/* An instruction of PHP code has been executed. */
static void on_trap(int signal_number, siginfo_t *info, void *context)
{
	(void) signal_number;
	(void) info;
	const void *next = weft_divert_next(context);
	bool leaves = !is_compiled(next) && !is_within(&vm_pages, next);
	bool diverted = is_php(next) && step_ends_slice() && is_to_give_way();
	if (leaves || diverted) {
		weft_divert_step(context, false);
		close_code(true);
	}
	if (diverted) {
		weft_divert(context);
	}
}

void weft_timeslice_step(uint32_t most)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	if (most && closes_code && weft_divert_steps() && sigaction(SIGTRAP, &action, NULL) == 0) {
		steps_max = most;
		close_code(true);
	}
}

/* Whether the JIT has run into closed pages. `closing` must be read first: when it is cleared, `closed` is set already. */
static bool jit_writes(void)
{
	return atomic_load(&closing) || atomic_load(&closed) || weft_host_may_be_half_written();
}

/* For the handler of SIGSEGV: this access was not allowed. That an instruction cannot be fetched has no other reason. */
static bool code_fault(const void *address, void *context)
{
	bool of_compiled = is_compiled(address);
	if (!of_compiled && !is_within(&vm_pages, address)) {
		return false;
	}
	bool fetch = weft_divert_was_fetch(context, address);
	if (!(fetch || (of_compiled && jit_writes())) || !open_code(of_compiled, !fetch)) {
		return false;
	}
	if (steps_max && fetch) {
		weft_divert_step(context, true); /* who comes back executes an instruction before it gives way again */
	} else if (steps_max) {
		close_vm(); /* the JIT does not come back to compiled code, but to the VM */
	} else if (fetch && !is_php(address)) {
		atomic_store(&missed, true);
	} else if (fetch && is_to_give_way()) {
		weft_divert(context);
	}
	return true;
}

/* ---- from outside ---- */

bool weft_timeslice_can(void)
{
	return closes_code || asks_check;
}

void weft_timeslice_end(void)
{
	bool was_asked = zend_atomic_bool_load(&EG(vm_interrupt));
	if (asks_check && !steps_max && !(closes_code && was_asked)) {
		weft_interrupt_preempt();
	} else {
		bool was_missed = atomic_exchange(&missed, false);
		close_code(was_missed || atomic_load(&closed));
	}
}

void weft_timeslice_start(void)
{
	find_vm();
	find_compiled();
	closes_code = weft_divert_can() && vm.high - vm.low >= VM_BYTES_MIN && can_open_code();
	asks_check = !mappings;
	weft_interrupt_ask(check);
	if (closes_code) {
		weft_stack_ask_about_code(code_fault);
	}
}

/* ---- a request that was cancelled while it computes ---- */

void weft_timeslice_stop(void)
{
	weft_wait_slot(weft_current)->stop = true;
	zend_atomic_bool_store(&EG(vm_interrupt), true);
}
