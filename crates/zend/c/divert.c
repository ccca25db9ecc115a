/* Code that was interrupted at any instruction gives way, and goes on with all that was in its registers.
 *
 * The handler of the signal that interrupted it makes it continue at weft_divert_entry, on its own stack, where
 * weft_host_give_way lets others run. How it comes back from there depends on the processor:
 *
 *     amd64   the entry keeps the registers on the stack, below the red zone, and `ret` takes the address from there
 *     arm64   a jump to any address needs a register, which the interrupted code may be using. But the kernel sets all of
 *             them at the end of a handler, from what it has put on the stack: the handler puts the same where the entry
 *             finds it, and the entry asks for rt_sigreturn(2) once more
 *
 * It must not know why code is interrupted. Invariant: nothing but the stack below the interrupted code is written. */
#include "divert.h"
#include "schedule.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void give_way(void)
{
	int saved = errno;
	weft_host_give_way();
	errno = saved;
}

#if defined(__x86_64__) || defined(__aarch64__)
extern void weft_divert_entry(void);
#define ENTRY(instructions) \
	__asm__( \
		".text\n" \
		".hidden weft_divert_entry\n" \
		".globl weft_divert_entry\n" \
		".type weft_divert_entry, %function\n" \
		"weft_divert_entry:\n" instructions ".size weft_divert_entry, . - weft_divert_entry\n")

bool weft_divert_can(void)
{
	return true;
}
#endif

#ifdef __x86_64__
#define RED_ZONE_BYTES 128 /* below the stack pointer, a function may keep data (System V ABI) */
#define TRAP_FLAG 0x100 /* in the flags: the processor traps after each instruction */

/* Called with the address of the interrupted instruction on the stack, below the red zone of the interrupted code. The
 * VM and the JIT use no wider registers than those that fxsave keeps; the others are the callee's to keep. */
ENTRY(
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
	"	call weft_diverted\n"
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
	"	ret $128\n");

__attribute__((visibility("hidden"), used)) void weft_diverted(void)
{
	give_way();
}

bool weft_divert_was_fetch(const ucontext_t *context, const void *address)
{
	const greg_t fetch = 1 << 4; /* in the error code of a page fault */
	return (context->uc_mcontext.gregs[REG_ERR] & fetch) || address == (const void *) context->uc_mcontext.gregs[REG_RIP];
}

void weft_divert(ucontext_t *context)
{
	greg_t *registers = context->uc_mcontext.gregs;
	uintptr_t *stack = (uintptr_t *) (registers[REG_RSP] - RED_ZONE_BYTES);
	*--stack = (uintptr_t) registers[REG_RIP]; /* may be the first access to that part of the stack (stack.c) */
	registers[REG_RSP] = (greg_t) stack;
	registers[REG_RIP] = (greg_t) (uintptr_t) weft_divert_entry;
}

bool weft_divert_steps(void)
{
	return true;
}

void weft_divert_step(ucontext_t *context, bool on)
{
	greg_t *flags = &context->uc_mcontext.gregs[REG_EFL];
	*flags = on ? *flags | TRAP_FLAG : *flags & ~(greg_t) TRAP_FLAG;
}

const void *weft_divert_next(const ucontext_t *context)
{
	return (const void *) context->uc_mcontext.gregs[REG_RIP];
}

#else

#ifdef __aarch64__
/* In the kernel's arch/arm64/include/uapi/asm/sigcontext.h and ptrace.h. */
#define KERNEL_SIGSET_BYTES 8
#define BRANCH_TYPE 0xc00ul /* in pstate: the last instruction was a jump, which is checked at its target */

/* What rt_sigreturn(2) takes from the stack (struct rt_sigframe in arch/arm64/kernel/signal.c). */
typedef struct {
	siginfo_t info;
	ucontext_t context;
} signal_frame;

/* Called with such a frame at the stack pointer. */
ENTRY(
	"	mov x0, sp\n"
	"	bl weft_diverted\n"
	"	mov x8, #139\n" /* __NR_rt_sigreturn */
	"	svc #0\n");

__attribute__((visibility("hidden"), used)) void weft_diverted(signal_frame *frame)
{
	give_way();
	/* The mask of signals is the thread's, and stays as it is now. */
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &frame->context.uc_sigmask, KERNEL_SIGSET_BYTES);
}

bool weft_divert_was_fetch(const ucontext_t *context, const void *address)
{
	return address == (const void *) context->uc_mcontext.pc;
}

/* The kernel's record of the registers for floating point, which are the low parts of the wider ones of SVE. The VM and the
 * JIT use no others. */
static const struct fpsimd_context *floating_point(const ucontext_t *context)
{
	const char *record = (const char *) context->uc_mcontext.__reserved, *end = record + sizeof(context->uc_mcontext.__reserved);
	while (record + sizeof(struct fpsimd_context) <= end) {
		const struct _aarch64_ctx *head = (const struct _aarch64_ctx *) record;
		if (head->magic == FPSIMD_MAGIC) {
			return (const struct fpsimd_context *) record;
		}
		if (head->size == 0) {
			break;
		}
		record += head->size;
	}
	return NULL;
}

void weft_divert(ucontext_t *context)
{
	const struct fpsimd_context *floats = floating_point(context);
	mcontext_t *registers = &context->uc_mcontext;
	uintptr_t below = (registers->sp - sizeof(signal_frame)) & ~(uintptr_t) 15;
	signal_frame *frame = (signal_frame *) below; /* may be the first access to that part of the stack (stack.c) */
	if (!floats) {
		return; /* it is a processor without them, and goes on */
	}
	memcpy(&frame->context, context, offsetof(ucontext_t, uc_mcontext.__reserved));
	char *records = (char *) frame->context.uc_mcontext.__reserved;
	memcpy(records, floats, sizeof(*floats));
	memset(records + sizeof(*floats), 0, sizeof(struct _aarch64_ctx)); /* the end of the records */
	registers->sp = below;
	registers->pc = (uintptr_t) weft_divert_entry;
	registers->pstate &= ~BRANCH_TYPE;
}
#else
bool weft_divert_can(void)
{
	return false;
}

bool weft_divert_was_fetch(const ucontext_t *context, const void *address)
{
	(void) context;
	(void) address;
	return true;
}

void weft_divert(ucontext_t *context)
{
	(void) context;
}
#endif

/* A program cannot step itself there. */
bool weft_divert_steps(void)
{
	return false;
}

void weft_divert_step(ucontext_t *context, bool on)
{
	(void) context;
	(void) on;
}

const void *weft_divert_next(const ucontext_t *context)
{
	(void) context;
	return NULL;
}
#endif
