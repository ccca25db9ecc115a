/* The C side of weft-zend in one view: what it keeps per coroutine, what Rust calls, what it calls in Rust.
 *
 * Zend is called from C only. Its errors leave by longjmp (bailout), which must never cross a Rust frame that owns
 * something; so Rust functions called from here return plain values, and Zend is never called from inside them except
 * to switch contexts. Differences between PHP versions live in these files, nowhere else. */
#ifndef WEFT_H
#define WEFT_H

#include "php.h"
#include "php_main.h"
#include "php_output.h"
#include "php_variables.h"
#include "SAPI.h"
#include "zend_exceptions.h"
#include "zend_fibers.h"
#include "zend_smart_str.h"
#include "ext/json/php_json.h"
#include "ext/standard/basic_functions.h"
#include "ext/standard/file.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes owned by Rust: valid until the next call into the host or the next park. Copy at once. bytes is NULL for
 * "there is none". */
typedef struct {
	const char *bytes;
	size_t length;
} weft_slice;

typedef struct {
	weft_slice name;
	weft_slice value;
} weft_header;

#include "owned.h"
#include "weft_abi.h" /* made from src/abi.rs: the numbers that Rust and C share */

/* The superglobals that belong to a request, in the order of weft_superglobals' bits. */
enum { WEFT_GET, WEFT_POST, WEFT_COOKIE, WEFT_FILES, WEFT_SERVER, WEFT_REQUEST, WEFT_SUPERGLOBALS };

typedef struct weft_classic weft_classic; /* classic_response.c */
typedef struct weft_task weft_task;       /* task.h */
typedef struct weft_deadline weft_deadline; /* wait.c */

typedef struct weft_coroutine {
	zend_fiber_context *resume_at; /* where to go on; a nested user Fiber's context when it parked inside one */
	zend_object *fiber;            /* the pooled \Fiber; NULL for a bare context (a script's {main}) */
	bool started;
	bool ended;
	bool cancelled;                /* its waits fail from now on */
	bool lost;
	bool answered;                 /* its request: what is left is to free what it owned */
	volatile bool stack_opened;    /* more of its stack is open than a job begins with (stack.c) */
	uint32_t job;
	uint64_t argument;
	weft_owned owned;
	bool put_aside;                /* what it owns is in `owned`, not in the globals */

	/* The request it runs, if any. */
	uint64_t request;
	zval request_object;
	smart_str output;              /* what was echoed and not handed to the server yet */
	bool streaming;                /* headers are out; output goes to the stream */
	uint32_t superglobals;         /* bit set of those filled for this request */
	zval superglobal[WEFT_SUPERGLOBALS];
	void *opening;                 /* the call that opens a persistent connection, while it is in one (persistent.c) */
	struct weft_leftover *leftover; /* what development mode has noted of its request (leftover.c) */
	struct weft_call *calls;       /* in progress on connections, innermost first (guard.c) */
	bool opened;                   /* it has opened a persistent connection */
	uint32_t mongodb_seat;         /* which of ext/mongodb's clients it uses; 0: none yet (mongodb.c) */
	zend_object *pgsql_link;       /* what ext/pgsql's functions use by default, while it is parked (pgsql.c) */
	bool isolated;                 /* what it changes of the process is undone at its end: not so for a script's {main} */
	struct weft_variable *environment; /* variables it has set (environment.c) */
	void *extensions;              /* state of extensions it has changed, while it is parked (extensions.c) */
	void *session;                 /* its session while it is parked, if it has one (session.c) */
	uint32_t process_changed;      /* what it has changed of the process's state (process.c) */
	char *directory;               /* its own while it is parked */
	char *locale;
	zend_string *ctype;
	char *timezone;
	zval told[WEFT_TOLD];          /* by functions of PHP that keep it to themselves (told.c) */
	uint32_t told_changed;
	zend_resource *directory_handle; /* what readdir() reads that is given none (directories.c) */
	int mask;
	bool ini_parked;               /* it has changed ini values, which wait in ini_values while it is parked */
	zval ini_values;

	/* The coroutine API. */
	struct weft_coroutine *next, **previous; /* of all there are */
	uint64_t serial;               /* number of this run: never the same twice */
	uint64_t id;                   /* this run, for the scheduler */
	weft_task *task;               /* what it runs, if it is a task */
	weft_deadline *deadline;       /* the innermost timeout() */
	bool interrupted;              /* cancel() was called; the next wait throws */
	zend_string *reason;           /* why; NULL for no reason given */
	bool deadlocked;               /* {main}: its wait shall throw a DeadlockError */
	zval context;                  /* Weft\\Context: an array once it is used */
	zval deferred;                 /* what defer() was given: an array once it is used */
	uint64_t prepared;             /* between Coroutine::prepare() and park(): the wait */
	zval waiting_on;               /* what park() waits for; UNDEF in any other wait */
	uint64_t waiting_since;
	bool external;                 /* that wait ends from outside PHP */
	zend_execute_data *frame;      /* where it stands while it is parked */

	zend_string *wants;            /* the class it waits for, which another coroutine loads (library.c) */
	uint64_t user_wait;            /* set while it is inside Fiber::suspend() of the pooled Fiber itself */
	zval user_value;               /* what Fiber::resume() or throw() passed to it */
	bool user_throw;

	/* Classic mode: its native stack (native.c), and the response its request makes. */
	char *native_stack;
	size_t native_bytes;
	void *native_handle;
	weft_classic *classic;
	struct weft_resident *resident; /* the script that stays loaded in it (resident.c) */
} weft_coroutine;

extern weft_coroutine *weft_current; /* the coroutine that has the processor; NULL in the loop */
extern weft_coroutine *weft_coroutines; /* all there are, idle ones too */

/* ---- engine.c: start and stop ---- */
typedef struct {
	const char *ini;           /* ini lines that override php.ini ("name=value\n"…) */
	const char *ini_path;      /* -c, or NULL */
	const char *executable;    /* PHP_BINARY */
	bool cli;                  /* `weft php`: PHP_SAPI is cli */
	bool ignore_ini;           /* -n */
	const char *resident;      /* the worker script of resident mode, or NULL; then classic is set as well */
	uint64_t resident_requests_max; /* after which it is loaded anew; 0: never */
	bool classic;              /* no request lasts as long as the worker: each begins and ends one */
	const char *library;       /* directory of weft's PHP library; NULL: there is none */
	bool instances;            /* classic, and there will be several of PHP in a worker */
	uint32_t *superglobals;    /* shared by all workers: bit set of superglobals that compiled code mentions */
} weft_engine_options;

int weft_engine_start(const weft_engine_options *options);
int weft_engine_begin(const char *script, int argc, char **argv);
void weft_engine_end(void);
int weft_engine_exit_status(void);
size_t weft_engine_ini(const char *name, char *buffer, size_t size);
size_t weft_engine_extensions(char *buffer, size_t size);
bool weft_engine_opcache(bool *jit);
size_t weft_engine_memory(void);
extern sapi_module_struct weft_sapi;
extern bool weft_cli;

/* ---- coroutine.c: the switch ---- */
void weft_switch_start(bool bare, size_t stack_bytes);
weft_coroutine *weft_coroutine_create(void);
weft_enter_result weft_coroutine_enter(weft_coroutine *coroutine, bool has_job, uint32_t job, uint64_t argument);
void weft_coroutine_leave(weft_coroutine *coroutine);
void weft_coroutine_resumed(weft_coroutine *coroutine);
bool weft_coroutine_may_leave(void); /* not while what coroutines own is being exchanged */
extern bool weft_exchanging;
void weft_coroutine_destroy(weft_coroutine *coroutine);
void weft_job_run(weft_coroutine *coroutine);
/* native.c: the switch below PHP */
void weft_native_start(size_t stack_bytes);
weft_coroutine *weft_native_create(void);
weft_enter_result weft_native_enter(weft_coroutine *coroutine, bool has_job, uint32_t job, uint64_t argument);
void weft_native_leave(weft_coroutine *coroutine);
bool weft_native_next(weft_coroutine *coroutine);
void weft_native_destroy(weft_coroutine *coroutine);
char *weft_native_yellow(const weft_coroutine *coroutine);
void weft_native_limits(const weft_coroutine *coroutine, char **base, char **limit);
void weft_native_trim(const weft_coroutine *coroutine);
bool weft_native_holds(const weft_coroutine *coroutine, const void *address);
/* instance/: many PHPs in one process (instance/instance.h) */
int weft_arena_open(void);
bool weft_arena_is_open(void);
bool weft_image_fault(void *address);
extern bool weft_collects_garbage;
/* fiber.c: Fiber's own methods on a pooled Fiber */
void weft_fiber_methods_start(void);
void weft_fiber_mark(zend_object *fiber, weft_coroutine *coroutine); /* NULL: of none any more */

/* ---- isolate.c: what it owns ---- */
extern bool weft_isolates;
void weft_isolate_start(void);
void weft_isolate_start_script(void);
void weft_isolate_stop(void);
void weft_isolate_begin(weft_coroutine *coroutine);
void weft_isolate_out(weft_coroutine *coroutine);
void weft_isolate_in(weft_coroutine *coroutine);
void weft_isolate_end(weft_coroutine *coroutine);
void weft_isolate_free(weft_coroutine *coroutine); /* its step, for whoever contains it */
void weft_isolate_reset(void);

/* ---- superglobals.c ---- */
void weft_superglobals_start(uint32_t *used);
void weft_superglobals_fill(weft_coroutine *coroutine);
void weft_superglobals_need(uint32_t which);
void weft_superglobals_exchange(weft_coroutine *coroutine);
void weft_superglobals_end(weft_coroutine *coroutine);
uint32_t weft_superglobals_copy(const weft_coroutine *coroutine, zval *values);
void weft_superglobals_inherit(weft_coroutine *coroutine, uint32_t which, zval *values);
void weft_cookie_variables(uint64_t request, zval *array);
/* Puts a header line into the array as a variable of that name. */
typedef void (*weft_add_variable)(zval *array, const char *name, weft_slice value);
void weft_header_variables(uint64_t request, zval *array, weft_add_variable add);

/* ---- extensions.c: what it has changed in extensions' globals ---- */
void weft_extensions_prepare(void);
void weft_extensions_start(void);
void weft_extensions_begin(void);
void weft_extensions_out(weft_coroutine *coroutine);
void weft_extensions_in(weft_coroutine *coroutine);
void weft_extensions_end(void);
/* filter.c: filter_input() */
void weft_filter_start(void);
void weft_filter_end(void);

/* ---- environment.c: putenv() ---- */
void weft_environment_start(void);
void weft_environment_out(weft_coroutine *coroutine);
void weft_environment_in(weft_coroutine *coroutine);
void weft_environment_end(weft_coroutine *coroutine);

/* ---- session.c ---- */
void weft_session_start(void);
void weft_session_out(weft_coroutine *coroutine);
void weft_session_in(weft_coroutine *coroutine);
void weft_session_end(void);

/* ---- process.c: current directory, locale, umask and time zone ---- */
void weft_process_prepare(void);
void weft_process_start(void);
zend_string *weft_process_left(weft_coroutine *coroutine, uint32_t *looked_at);
void weft_process_out(weft_coroutine *coroutine);
void weft_process_in(weft_coroutine *coroutine);
void weft_process_end(weft_coroutine *coroutine);

/* ---- wrap.c: PHP's functions with something of ours around them ---- */
void weft_wrap_prepare(bool resident);
bool weft_wrap(const char *class_name, const char *name, zif_handler with, void *row, zif_handler *stock);
void weft_wrap_function(zend_internal_function *function, zif_handler with, void *row, zif_handler *stock);
zend_internal_function *weft_find_function(const char *class_name, const char *name);
void *weft_wrapped_row(const zend_execute_data *execute_data);

/* ---- pgsql.c and mongodb.c: who has which connection (persistent.h for the rest) ---- */
void weft_pgsql_start(void);
void weft_mongodb_start(void);
void weft_mongodb_end(weft_coroutine *coroutine);
void weft_pgsql_booted(void);
void weft_pgsql_begin(void);
void weft_pgsql_exchange(weft_coroutine *coroutine);
void weft_pgsql_end(void);
void weft_pgsql_reset(const zval *persistent);
void *weft_pgsql_default(void);
/* guard.c: two coroutines on one connection at the same moment */
void weft_guard_register(void);
void weft_guard_start(void);
void weft_guard_reset(weft_coroutine *coroutine);

/* ---- failure.c: fatal errors, stack overflow, interrupts ---- */
void weft_errors_start(void);
void weft_failure_start(bool contain);
void weft_remember_error(int type, zend_string *file, uint32_t line, zend_string *message);
void weft_interrupt_overflow(void);
void weft_interrupt_preempt(void);
void weft_interrupt_report(void);
bool weft_interrupt_report_pending(void);
void weft_report_blocked(const char *function);

/* ---- signals.c: what signals leave to do while every coroutine is parked ---- */
bool weft_signals_pending(void);
void weft_signals_run(weft_coroutine *coroutine);

/* ---- handler.c: one request ---- */
weft_load_result weft_handler_load(const char *path);
void weft_handler_run(weft_coroutine *coroutine);
void weft_handler_flush(weft_coroutine *coroutine);
bool weft_take_out_of_memory(void);
extern bool weft_development;
/* leftover.c: in development mode, what a request has left behind */
void weft_leftover_begin(weft_coroutine *coroutine);
void weft_leftover_buffers(weft_coroutine *coroutine);
void weft_leftover_end(weft_coroutine *coroutine);
zend_function *weft_handler_function(void);

/* Runs one step; a bailout ends there. false: it bailed out. */
bool weft_contained(void (*run)(weft_coroutine *coroutine), weft_coroutine *coroutine);

/* ---- task.c: go() ---- */
void weft_task_register(void);
void weft_task_run(weft_coroutine *coroutine);
void weft_task_abandon(uint64_t argument);
void weft_tasks_start(void);
bool weft_tasks_are_alive(void);
void weft_tasks_cancel(const char *reason);
void weft_tasks_cancel_for_good(void);
size_t weft_task_describe(uint64_t argument, char *buffer, size_t size);
void weft_task_place(const weft_task *task, const char **file, uint32_t *line);
zval *weft_task_value(weft_task *task, zval *value);
bool weft_task_interrupt(weft_task *task, zend_string *reason);

/* ---- wait.c: waits, timeouts, cancellation ---- */
void weft_wait_register(void);
uint64_t weft_wait_begin(void);
uint64_t weft_wait_deadline(double seconds, bool is_null);
struct pollfd;
weft_wait_end weft_wait_opened(uint64_t wait, struct pollfd *fds, size_t count, uint64_t deadline);
void weft_interrupt(weft_coroutine *coroutine, zend_string *reason);
void weft_cancel(bool for_good);
bool weft_cancel_pending(void);
extern zend_class_entry *weft_cancelled_class;
extern zend_class_entry *weft_timeout_class;
extern zend_class_entry *weft_deadlock_class;

/* ---- report.c: who waits on what ---- */
bool weft_deadlock(void);
zend_string *weft_report(void);
/* ---- context.c: Weft\Context and defer() ---- */
void weft_context_register(void);
void weft_context_begin(weft_coroutine *coroutine);
void weft_context_end(weft_coroutine *coroutine);
void weft_run_deferred(weft_coroutine *coroutine);

/* ---- library.c: weft's PHP library ---- */
void weft_library_start(const char *directory);
/* compile.c */
void weft_compile_prepare(void);
void weft_compile_start(void);

/* ---- script.c: `weft php` ---- */
void weft_script_run(weft_coroutine *coroutine);
/* An exit() in a task ends the script. */
void weft_script_exit(int status);
void weft_script_failed(void);
void weft_script_task_ended(void);
extern weft_coroutine *weft_main;      /* the coroutine of {main}; NULL in a server */

void weft_script_prepare(weft_script_kind kind, const char *source);
int weft_script_status(void);

/* ---- classic.c: a docroot's script, with PHP to itself ---- */
void weft_classic_prepare(sapi_module_struct *module);
void weft_classic_register(bool resident);
void weft_classic_import(void);
void weft_classic_run(weft_coroutine *coroutine);

/* ---- request.c and writer.c: native classes ---- */
void weft_request_register(void);
void weft_writer_register(void);
void weft_request_open(weft_coroutine *coroutine);
void weft_request_keep(weft_coroutine *coroutine);
bool weft_request_close(weft_coroutine *coroutine);
/* form.c. false: the body has failed, and an exception says so. */
bool weft_request_form(uint64_t request, zval *fields, zval *files);
void weft_throw_body(int64_t failure);
extern zend_class_entry *weft_request_class;
extern zend_class_entry *weft_writer_class;
void weft_writer_open(zval *writer, uint64_t request);
void weft_writer_close(zval *writer);
extern zend_module_entry weft_module;

/* ---- What C calls in Rust (src/host.rs) ---- */
weft_slice weft_host_field(uint64_t request, uint32_t field);
bool weft_host_next_header(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value); /* src/lines.rs */
bool weft_host_next_trailer(uint64_t request, uint32_t *at, weft_slice *name, weft_slice *value);
double weft_host_time(uint64_t request);
bool weft_host_aborted(uint64_t request);
/* Reads the body at an offset; parks until there is something. 0 is its end; less, a failure: minus the status to answer
 * with (400 malformed, 408 too slow, 413 too large, 499 the client has gone). */
int64_t weft_host_body_read(uint64_t request, uint64_t offset, char *buffer, size_t size);
/* Parks until the whole body is here: its length, or a failure as above. */
int64_t weft_host_body_wait(uint64_t request);
/* Keeps the head of a request for an object that outlives it, and lets it go. */
void weft_host_detach(uint64_t request);
void weft_host_release(uint64_t request);

bool weft_host_respond(uint64_t request, uint32_t status, const weft_header *headers, size_t count, weft_slice body); /* parks as below */
/* 0, or the status (403, 404) that says why the file cannot be sent. */
uint32_t weft_host_respond_file(uint64_t request, uint32_t status, const weft_header *headers, size_t count, weft_slice path);
bool weft_host_stream_start(uint64_t request, uint32_t status, const weft_header *headers, size_t count);
/* Parks while the client does not keep up. false: the client has gone. */
bool weft_host_stream_write(uint64_t request, weft_slice chunk);
void weft_host_stream_end(uint64_t request, const weft_header *trailers, size_t count, bool failed);
bool weft_host_early_hints(uint64_t request, const weft_header *headers, size_t count);

void weft_host_log(uint32_t level, uint64_t request, weft_slice message);
void weft_host_output(weft_slice bytes);
/* PHP is not what it was after a fatal error: finish what is in flight, then replace this worker. */
void weft_host_replace(weft_slice reason);
/* The status of a request that was cancelled: 504 when it ran too long, 503 when its worker ends. */
uint32_t weft_host_cancel_status(void);

/* ---- What C calls of the scheduler (src/schedule.rs) ---- */
uint64_t weft_host_wait_begin(void);
uint32_t weft_host_wait(uint64_t wait, uint64_t deadline);
uint32_t weft_host_wait_on(uint64_t wait, struct pollfd *fds, size_t count, uint64_t deadline);
bool weft_host_wake(uint64_t wait);
void weft_host_yield(void);
bool weft_host_spawn(uint32_t kind, uint64_t argument);
uint64_t weft_host_self(void);
bool weft_host_next_request(uint64_t *request); /* for a coroutine that has just ended one */
/* Between these the running coroutine is none for the hooks: calls are plain, and nothing parks. */
uint64_t weft_host_step_out(void);
void weft_host_step_in(uint64_t coroutine);
bool weft_host_interrupt(uint64_t coroutine);
void weft_host_interrupt_forget(void);
bool weft_host_cancel(uint64_t coroutine);
typedef struct {
	uint64_t at;
	uint64_t sequence;
} weft_timer;
weft_timer weft_host_interrupt_at(uint64_t at);
bool weft_host_disarm(weft_timer timer);
uint64_t weft_host_now(void);
uint64_t weft_host_since(uint64_t coroutine);
bool weft_host_has_brief_lock(void);

static inline weft_slice weft_slice_of(const zend_string *string)
{
	weft_slice slice = {ZSTR_VAL(string), ZSTR_LEN(string)};
	return slice;
}

static inline weft_slice weft_slice_text(const char *text)
{
	weft_slice slice = {text, strlen(text)};
	return slice;
}

#endif
