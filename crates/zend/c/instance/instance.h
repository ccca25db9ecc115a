/* The inside of zend/instance: many isolated PHPs in one process, one of them active at a time.
 *
 * PHP without ZTS keeps its state in libraries' global variables. JIT code and opcache's shared memory contain the
 * addresses of those, so the addresses stay and the contents are exchanged: "fork in user space". In reading order:
 *
 *   libraries.c  which libraries belong to an instance: libphp, its extensions, libxml2 and libraries built on it
 *   arena.c      malloc and its family: allocations of those libraries during PHP's start lie in one arena
 *   fitness.c    which extensions cannot be in one
 *   pages.c      the writable pages (arena and libraries' data) that were written to: protection, pristine copies
 *   image.c      the exchange of their contents
 *   heap.c       the Zend heap of each instance, cut from one region
 *   tables.c     functions, classes and constants: in the arena, or in memory of the instance
 *   patterns.c   regular expressions, compiled once for all
 *   thread_local.c  thread-local variables of those libraries
 *   messages.c   gettext's domain and bindings
 *   process.c    process state that PHP changes: environment, directory, locale, umask, timer, opcache's lock
 *   check.c      debugging: compares whole pages, looks for pointers between instances
 *   instance.c   joins all of it with a native stack: create, enter, leave, destroy, trim
 *
 * docs/internals/instances.md shows which instance owns which page at which time. */
#ifndef WEFT_INSTANCE_H
#define WEFT_INSTANCE_H

#include "../snmp.h"
#include "../variables.h"
#include "../weft.h"

#include <sys/time.h>

/* An instance is put aside in pages of this size: where the kernel has others, there are no instances. */
#define WEFT_PAGE_BYTES ((size_t) 4096)

/* ---- libraries.c ---- */
/* Whether code at this address belongs to a library whose state belongs to an instance. */
bool weft_library_owns(const void *address);
/* Calls visit for each range of writable pages of the libraries of that kind that are loaded now. */
typedef void (*weft_library_visit)(char *low, char *high);
void weft_libraries_each(weft_library_visit visit);
/* Calls visit for each of those libraries that has thread-local variables: the linker's number for it, and their size
 * in bytes. */
typedef void (*weft_thread_local_visit)(size_t module, size_t bytes);
void weft_libraries_each_thread_local(weft_thread_local_visit visit);
/* The library in which an address lies; "?" if it is not one of these. */
const char *weft_library_name(const void *address);

/* ---- fitness.c ---- */
/* The first loaded extension that cannot be in an instance, as a reason; NULL: none is known. */
const char *weft_unfit_extension(void);

/* ---- arena.c ---- */
/* Closes the arena: from here on, every malloc is the C library's. The range of used pages is put into low and high. */
void weft_arena_close(char **low, char **high);
bool weft_arena_holds(const void *address);
/* Called before PHP starts. Returns 0, or an error if it cannot be reserved. */
int weft_arena_open(void);
bool weft_arena_is_open(void);

/* ---- pages.c ---- */
/* The addresses of the listed pages, those that somebody has written to; their pristine copies, in the same order. */
extern char **weft_pages;
extern char *weft_pages_pristine;
extern uint32_t weft_pages_count;
/* Write-protects all pages. NULL, or why this process cannot have instances. */
const char *weft_pages_start(void);
/* A first write to a page: true if it belongs to the image, and the write may be tried again. */
bool weft_pages_fault(void *address);
/* Address space that occupies memory where it is written to; NULL: there is none. */
void *weft_pages_reserve(size_t bytes);

/* ---- image.c ---- */
/* What an instance has changed of the image: the lines (64 bytes) that differ from the pristine pages. */
typedef struct {
	char *lines;
	size_t room_pages;   /* lines has room for every line of this many pages; so does masks */
	uint32_t pages;      /* the number of valid masks: a page listed later is pristine in this instance */
	uint32_t line_count;
	uint64_t *masks;     /* for each listed page: which of its 64 lines are in `lines` */
} weft_image;

/* Records the pristine state. NULL, or why this process cannot have instances. */
const char *weft_image_start(void);
/* Saves what `out` has changed and loads what `in` has changed; NULL stands for the pristine image. */
void weft_image_exchange(weft_image *out, weft_image *in);
void weft_image_restore(char *low, size_t bytes);
void weft_image_free(weft_image *image);
void weft_image_trim(weft_image *image);
/* pages.c: takes pages from the list, of those that may leave, in which no instance differs. `image_of` gives what the instance
 * with an index below `count` has changed, or NULL; none may be loaded. */
typedef weft_image *(*weft_image_of)(uint32_t index);
void weft_pages_unlist(bool (*may_leave)(const char *page), weft_image_of image_of, uint32_t count);

/* ---- thread_local.c ---- */
/* Records the pristine state. NULL, or why this process cannot have instances. */
const char *weft_thread_local_start(void);
/* Memory for an instance's variables while another is loaded. false: no memory. */
bool weft_thread_local_create(char **kept);
/* NULL stands for the pristine state, whose changes are dropped. */
void weft_thread_local_exchange(char *out, char *in);

/* ---- messages.c ---- */
typedef struct {
	char *domain; /* NULL: that of start-up */
	struct weft_binding *bindings;
} weft_messages;

void weft_messages_start(void);
void weft_messages_place(const weft_messages *messages);
/* NULL: the loop runs. */
void weft_messages_activate(weft_messages *messages);
void weft_messages_free(weft_messages *messages);
void weft_messages_forget(void);

/* ---- heap.c ---- */
/* Whether a region of this many bytes can be reserved. */
bool weft_heap_is_possible(size_t region_bytes);
/* Reserves the region. false: the address space is not available. */
bool weft_heap_start(size_t region_bytes);
/* A heap whose chunks belong to `owner` (above 0); NULL if the region is used up. */
zend_mm_heap *weft_heap_create(uint32_t owner, zend_mm_storage **storage);
void weft_heap_trim(uint32_t owner);
/* Returns the free memory in the chunks that a heap uses. */
void weft_heap_give_back(const zend_mm_heap *heap);
void weft_heap_destroy(uint32_t owner);
/* The owner of the chunk in which an address lies; 0 for none. */
uint32_t weft_heap_owner(const void *address);
/* Whether an address lies in the region, whatever its current owner. */
bool weft_heap_holds(const void *address);
size_t weft_heap_bytes(void);
/* The address space that an owner holds, and its maximum since the mark. */
size_t weft_heap_held(uint32_t owner);
size_t weft_heap_most(uint32_t owner);
void weft_heap_mark(uint32_t owner);
/* How much of that is in memory. */
size_t weft_heap_resident(uint32_t owner);

/* ---- tables.c ---- */
void weft_tables_note(void);
bool weft_tables_hold(const char *page);
uint32_t weft_tables_pages(void);
bool weft_tables_are_large(void);
void weft_tables_move(void);
void weft_tables_return(void);

/* ---- patterns.c ---- */
/* From here on, in this thread, instances share the patterns that they compile. */
void weft_patterns_start(void);

/* ---- process.c ---- */
typedef struct {
	char **environment;        /* environ while it is active; that of start-up until it changes one */
	weft_variables variables;  /* its variables */
	char *directory;           /* NULL: that of start-up */
	char *locale;              /* NULL: that of start-up */
	int mask;                  /* -1: that of start-up */
	struct itimerval profile;  /* the rest of its time limit while its image is saved */
	bool timed;
	bool reads_opcache;
	weft_messages messages;
	weft_snmp_output snmp;     /* what Net-SNMP was told by ext/snmp */
} weft_process;

void weft_process_start_instances(void);
void weft_process_init(weft_process *process);
/* Before the image of `out` is saved; after that of `in` is loaded. */
void weft_process_put_aside(weft_process *out);
void weft_process_put_in(weft_process *in);
/* The active instance begins to run PHP code, or (NULL) the loop runs. */
void weft_process_activate(weft_process *process);
void weft_process_free(weft_process *process);
/* opcache's lock for readers, which the kernel counts per process: true if it was answered here. */
bool weft_process_record_lock(int fd, int command, void *lock, int *result);
/* The end of a turn of the loop. */
void weft_process_turn(void);

/* ---- check.c ---- */
/* For instances numbered up to max; 0: no checks. */
void weft_check_start(uint32_t max);
/* The loaded pages belong to `instance`, which is about to be saved, or has just been loaded. */
void weft_check_out(uint32_t instance);
void weft_check_in(uint32_t instance);
/* The loaded pages belong to `instance`, whose request has ended. */
void weft_check_idle(uint32_t instance);
/* The list of pages has been shortened: what was saved is of no use. */
void weft_check_begin_again(void);
void weft_check_forget(uint32_t instance);

/* ---- instance.c ---- */
extern bool weft_collects_garbage; /* the value of zend.enable_gc for instances, which begin without it */
typedef struct weft_instances_figures {
	uint32_t instances;  /* existing ones */
	uint32_t pages;      /* of the image that differ between instances */
	uint32_t lines;      /* of 64 bytes, saved for the instance that ran last */
	uint64_t switches;   /* images exchanged since start */
	uint64_t heap_bytes; /* address space of all heaps */
	uint64_t typical_bytes;  /* the peak heap use of a request: the largest recent one */
	uint64_t promised_bytes; /* the part of it that the requests in flight do not use yet */
} weft_instances_figures;

typedef struct {
	weft_coroutine *coroutine; /* with its native stack (native.c) */
	uint32_t number;           /* from 1 */
	bool begun;                /* its heap and tables are in its image */
	bool moved;                /* tables that grow with the application have left the arena */
	bool seen_waiting;         /* at the last check it was in the same wait as now */
	bool trimmed;              /* since it last ran */
	uint64_t idle_since;       /* monotonic nanoseconds at the end of its last job */
	zend_mm_heap *heap;
	zend_mm_storage *storage;  /* the storage from which the heap gets its chunks */
	weft_image image;
	char *thread_local_kept;
	weft_process process;
	int saved_errno;
} weft_instance;

/* 0: parked. 1: the job has ended, the instance is idle. 2: its C stack has overflowed, and the instance is
 * gone. */
weft_enter_result weft_instance_enter(weft_instance *instance, bool has_job, uint32_t job, uint64_t argument);
/* The instance whose jobs this coroutine runs; NULL: none. */
weft_instance *weft_instance_of(const weft_coroutine *coroutine);
/* The running C stack is used up, at this instruction. Returns if that cannot be contained. */
void weft_instance_overrun(const void *instruction);
/* The instance in whose stack an address lies; 0 for none. */
uint32_t weft_instance_of_stack(const void *address);

#endif
