/* Process state that PHP changes, kept for each instance: environment, current directory, locale, umask, the CPU-time
 * timer of max_execution_time, and opcache's lock for readers.
 *
 * The C library's functions that change them are replaced here, those of the environment in variables.c. Outside of
 * instances (`active` is NULL: the loop, other threads, coroutine mode) each is exactly the C library's.
 *
 * Environment and timer are exchanged at once; directory, locale and umask only if the next instance has others. An
 * application that changes none, or whose instances all work in one directory, pays nothing. The loop therefore runs
 * with those of the last instance, and MUST name files by absolute paths. */
#include "instance.h"
#include "../host.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static __thread weft_process *active __attribute__((tls_model("initial-exec")));

static struct {
	char **environment;
	char directory[PATH_MAX];
	char *locale;
	int mask;
	weft_snmp_output snmp;
} base;

/* The current state of the kernel and the C library; NULL and -1 stand for `base`. Points into the instance that set
 * it, or to its own string. */
static struct {
	char *directory;
	char *locale;
	int mask;
} placed = {.mask = -1};

static struct {
	uint32_t count; /* instances */
	bool locked;    /* the kernel has their lock, or that of readers in this turn */
	int fd;
} readers;

void *weft_real(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);
	if (!found) {
		abort(); /* every C library has them */
	}
	return found;
}

/* ---- current directory, locale, umask ---- */

/* Records what the active instance has now; NULL if it is equal to that of start-up. */
static void note_text(char **own, char **in_place, const char *now, const char *of_start)
{
	if (*own && now && strcmp(*own, now) == 0) {
		*in_place = *own;
		return;
	}
	char *copy = now && strcmp(now, of_start) != 0 ? strdup(now) : NULL;
	free(*own);
	*own = *in_place = copy;
}

/* The kernel is asked for the directory, because a symbolic link in the given path may lead elsewhere by the time the
 * instance runs again. */
static int note_directory(int result)
{
	if (active && result == 0) {
		char now[PATH_MAX];
		int saved = errno;
		bool known = syscall(SYS_getcwd, now, sizeof(now)) > 0;
		note_text(&active->directory, &placed.directory, known ? now : NULL, base.directory);
		errno = saved;
	}
	return result;
}

int chdir(const char *path)
{
	return note_directory((int) syscall(SYS_chdir, path));
}

int fchdir(int fd)
{
	return note_directory((int) syscall(SYS_fchdir, fd));
}

static char *set_locale(int category, const char *locale)
{
	static char *(*real)(int, const char *);
	if (UNEXPECTED(!real)) {
		real = (char *(*)(int, const char *)) weft_real("setlocale");
	}
	return real(category, locale);
}

/* The result is valid until the next call: so the query for the whole locale comes first. */
char *setlocale(int category, const char *locale)
{
	char *result = set_locale(category, locale);
	if (!active || !locale || !result) {
		return result;
	}
	note_text(&active->locale, &placed.locale, set_locale(LC_ALL, NULL), base.locale);
	return set_locale(category, NULL);
}

mode_t umask(mode_t mask)
{
	mode_t old = (mode_t) syscall(SYS_umask, mask);
	if (active) {
		active->mask = placed.mask = (int) mask == base.mask ? -1 : (int) mask;
	}
	return old;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void place(const weft_process *process)
{
	if (!same(placed.directory, process->directory)) {
		const char *directory = process->directory ? process->directory : base.directory;
		if (syscall(SYS_chdir, directory) != 0) {
			weft_host_log(WEFT_LOG_WARNING, 0, weft_slice_text("the current directory of an instance has gone while it waited"));
			syscall(SYS_chdir, "/");
		}
	}
	if (!same(placed.locale, process->locale)) {
		set_locale(LC_ALL, process->locale ? process->locale : base.locale);
	}
	if (placed.mask != process->mask) {
		syscall(SYS_umask, process->mask < 0 ? base.mask : process->mask);
	}
	weft_messages_place(&process->messages);
	placed.directory = process->directory;
	placed.locale = process->locale;
	placed.mask = process->mask;
}

/* ---- the timer of max_execution_time ---- */

/* What the kernel adds to each time that is set: one of its ticks (kernel/time/itimer.c, set_cpu_itimer). A script that is
 * put aside before it has computed that long would never reach its limit, so it is taken off again. */
static int64_t tick_us;

static int64_t microseconds(struct timeval time)
{
	return (int64_t) time.tv_sec * 1000000 + time.tv_usec;
}

static void measure_tick(void)
{
	const struct itimerval hour = {.it_value = {.tv_sec = 3600}};
	struct itimerval before, left;
	syscall(SYS_setitimer, ITIMER_PROF, &hour, &before);
	for (int tries = 0; tries < 3; tries++) { /* one may lose what a tick of this very moment has counted */
		syscall(SYS_setitimer, ITIMER_PROF, &hour, NULL);
		if (syscall(SYS_getitimer, ITIMER_PROF, &left) == 0) {
			int64_t added = microseconds(left.it_value) - microseconds(hour.it_value);
			tick_us = added > tick_us ? added : tick_us;
		}
	}
	syscall(SYS_setitimer, ITIMER_PROF, &before, NULL);
}

static void take_tick_off(struct timeval *time)
{
	int64_t left = microseconds(*time) - tick_us;
	left = left > 0 ? left : 1; /* 0 would be no timer */
	*time = (struct timeval){.tv_sec = left / 1000000, .tv_usec = left % 1000000};
}

int setitimer(__itimer_which_t which, const struct itimerval *value, struct itimerval *old)
{
	if (active && which == ITIMER_PROF && value) {
		active->timed = value->it_value.tv_sec || value->it_value.tv_usec;
	}
	return (int) syscall(SYS_setitimer, which, value, old);
}

/* ---- opcache's lock ---- */

/* A reader locks byte 1 of opcache's lock file, and later unlocks it or the whole file. A process that wants to
 * restart the cache asks whether another process has locked byte 1 (ext/opcache/ZendAccelerator.c). Locks of one
 * process never conflict, and the first unlock releases for all: so readers are counted here. The kernel sees the
 * first reader of a turn of the loop, and the turn's end if no reader is left then: requests that follow each other in
 * a turn do not each lock. */
bool weft_process_record_lock(int fd, int command, void *argument, int *result)
{
	struct flock *lock = argument;
	bool byte = lock && lock->l_whence == SEEK_SET && lock->l_start == 1 && lock->l_len == 1;
	bool whole = lock && lock->l_whence == SEEK_SET && lock->l_start == 0 && lock->l_len == 0 && lock->l_type == F_UNLCK;
	*result = 0;
	if (!active || !(byte || whole)) {
		return false;
	}
	if (command == F_SETLK && lock->l_type == F_RDLCK) {
		*result = readers.locked ? 0 : (int) syscall(SYS_fcntl, fd, command, lock);
		if (*result == 0) {
			readers.locked = true;
			readers.fd = fd;
			readers.count += !active->reads_opcache;
			active->reads_opcache = true;
		}
		return true;
	}
	if (command == F_SETLK && lock->l_type == F_UNLCK) {
		readers.count -= active->reads_opcache;
		active->reads_opcache = false;
		return readers.locked;
	}
	if (command == F_GETLK && readers.count > active->reads_opcache) {
		lock->l_type = F_RDLCK;
		lock->l_pid = INT_MAX; /* of no process: opcache may want to kill it */
		return true;
	}
	return false;
}

/* Before the loop waits: if no reader is left, opcache may restart. */
void weft_process_turn(void)
{
	if (readers.locked && !readers.count) {
		struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
		syscall(SYS_fcntl, readers.fd, F_SETLK, &whole);
		readers.locked = false;
	}
}

/* ---- exchange ---- */

void weft_process_start_instances(void)
{
	weft_variables_use(NULL);
	weft_variables_start();
	base.environment = environ;
	if (syscall(SYS_getcwd, base.directory, sizeof(base.directory)) <= 0) {
		base.directory[0] = '/';
	}
	base.locale = strdup(set_locale(LC_ALL, NULL));
	weft_messages_start();
	weft_snmp_find();
	weft_snmp_current(&base.snmp);
	measure_tick();
	base.mask = (int) syscall(SYS_umask, 0);
	syscall(SYS_umask, base.mask);
}

void weft_process_init(weft_process *process)
{
	process->environment = base.environment;
	process->mask = -1;
	process->snmp = base.snmp;
}

void weft_process_put_aside(weft_process *out)
{
	weft_snmp_current(&out->snmp);
	const struct itimerval none = {{0, 0}, {0, 0}};
	if (out->timed) {
		syscall(SYS_setitimer, ITIMER_PROF, &none, &out->profile);
		/* No time left: the timer has fired, and PHP knows. Firing again would be PHP's hard limit, which ends the
		 * process. */
		out->timed = out->profile.it_value.tv_sec || out->profile.it_value.tv_usec;
		if (out->timed) {
			take_tick_off(&out->profile.it_value);
		}
	}
}

void weft_process_put_in(weft_process *in)
{
	place(in);
	weft_snmp_put(&in->snmp);
	if (in->timed) {
		syscall(SYS_setitimer, ITIMER_PROF, &in->profile, NULL);
	}
}

void weft_process_activate(weft_process *process)
{
	if (process) {
		environ = process->environment;
	} else if (active) {
		active->environment = environ;
		environ = base.environment;
	}
	weft_variables_use(process ? &process->variables : NULL);
	active = process;
	weft_messages_activate(process ? &process->messages : NULL);
}

void weft_process_free(weft_process *process)
{
	const weft_process as_started = {.mask = -1};
	place(&as_started);
	readers.count -= process->reads_opcache;
	weft_variables_free(&process->variables);
	free(process->directory);
	free(process->locale);
	weft_messages_free(&process->messages);
}
