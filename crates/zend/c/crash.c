/* A crash of the worker: the server is asked to give away what others can answer before the process dies.
 *
 * The handlers run on the signal stack of the loop's thread. A crash in another thread is passed on to that one. Must not
 * know what the server does. Invariant: the process dies of the signal that it got, with its core; a second fault on the
 * way ends it at once, unless it is met while PHP's stack is read. */
#include "crash.h"
#include "code_location.h"
#include "variables.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static weft_crash_report report;
static pid_t worker; /* a process that the application forks has the handlers, too, but no connections of its own */
static volatile sig_atomic_t crashed, reading;
static sigjmp_buf cannot_read;

#define LAST_WORDS_US (500 * 1000)
static int last_signal; /* by which the process ends if its last words fail */

void weft_crash(int signal_number)
{
	if (reading) {
		siglongjmp(cannot_read, 1);
	}
	if (!report || crashed || getpid() != worker) {
		return;
	}
	if (syscall(SYS_gettid) != worker) {
		/* Only the loop's thread may read what belongs to it. It ends the process. */
		struct timespec second = {.tv_sec = 1};
		syscall(SYS_tgkill, worker, worker, SIGABRT);
		syscall(SYS_nanosleep, &second, NULL);
		return;
	}
	crashed = 1;
	report(signal_number);
}

size_t weft_crash_location(char *text, size_t size)
{
	size_t length = 0;
	reading = 1;
	if (sigsetjmp(cannot_read, 1) == 0) {
		length = weft_code_trace(text, size);
	}
	reading = 0;
	return length;
}

static void on_patience_end(int signal_number)
{
	(void) signal_number;
	if (last_signal == 0) {
		syscall(SYS_exit_group, 1);
	}
	signal(last_signal, SIG_DFL);
	raise(last_signal);
}

void weft_crash_attempt(void (*work)(void), int signal_number)
{
	int (*install)(int, const struct sigaction *, struct sigaction *) =
		(int (*)(int, const struct sigaction *, struct sigaction *)) weft_real("sigaction");
	struct sigaction action = {.sa_handler = on_patience_end, .sa_flags = SA_ONSTACK | SA_NODEFER};
	struct itimerval patience = {.it_value.tv_usec = LAST_WORDS_US}, none = {0};
	uint64_t alarm_bit = 1ull << (SIGALRM - 1); /* the kernel's sigset_t */
	last_signal = signal_number;
	install(SIGALRM, &action, NULL);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &alarm_bit, NULL, sizeof(alarm_bit));
	syscall(SYS_setitimer, ITIMER_REAL, &patience, NULL);
	work();
	syscall(SYS_setitimer, ITIMER_REAL, &none, NULL);
}

static void on_crash(int signal_number, siginfo_t *info, void *context)
{
	(void) context;
	weft_crash(signal_number);
	signal(signal_number, SIG_DFL); /* an instruction that failed is executed again */
	if (info->si_code <= 0) {
		raise(signal_number);
	}
}

void weft_crash_start(weft_crash_report tell)
{
	/* SIGSEGV has a handler that asks here (stack.c). Not by way of the hooks, for which a signal belongs to PHP code. */
	static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL};
	int (*install)(int, const struct sigaction *, struct sigaction *) =
		(int (*)(int, const struct sigaction *, struct sigaction *)) weft_real("sigaction");
	struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	report = tell;
	worker = getpid();
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		install(signals[i], &action, NULL);
	}
}
