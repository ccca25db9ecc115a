/* PHP instances: each has its image, its heap, its process state and a native stack, and runs one request at a time.
 *
 *     loop ── enter ──► instance (its image is loaded first, if another one ran in between)
 *     loop ◄── leave ── wherever it stands: the stack is changed below PHP (native.c), which sees one plain main stack. So
 *                       user Fibers, generators, sort callbacks and destructors may all wait
 *
 * Invariants: an image changes only while no PHP code runs; between two requests a heap is empty; the memory of these
 * files belongs to the process, never to an instance. */
#include "instance.h"
#include "../classic_response.h"
#include "../code_location.h"
#include "../code_stack.h"
#include "../coroutine.h"
#include "../host.h"
#include "../native.h"
#include "../resident.h"
#include "../schedule.h"
#include "../stack.h"
#include "../stack_zones.h"
#include "zend_gc.h"
#include "zend_ini.h"
#include "zend_virtual_cwd.h"

#include <errno.h>
#include <malloc.h>
#include <sys/mman.h>
#include <time.h>

#define REGION_BYTES ((size_t) 64 << 30)      /* for all heaps, if there is no limit */
#define REGION_BYTES_LEAST ((size_t) 8 << 30) /* if address space is scarce: ulimit -v, valgrind */

bool weft_collects_garbage;

static weft_instance **instances; /* by number - 1 */
static uint32_t instances_max;
static weft_instance *placed;     /* the instance whose image is loaded; NULL: none, the image is pristine */
static weft_instances_figures figures;

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t) time.tv_sec * 1000000000 + (uint64_t) time.tv_nsec;
}

/* Garbage collection is off while PHP starts, so that the buffer of roots belongs to this instance. */
static void collect_garbage(void)
{
	if (weft_collects_garbage) {
		zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("zend.enable_gc"));
		entry->value = ZSTR_CHAR('1');
		gc_enable(true);
	}
}

/* The process continues as one PHP: no malloc uses the arena any more, and garbage is collected as configured. */
static const char *without(const char *reason)
{
	char *low, *high;
	weft_arena_close(&low, &high);
	collect_garbage();
	return reason;
}

static const char other_pages[] = "the kernel's pages are not of 4 KiB";
static const char no_space[] = "no address space for their heaps (see ulimit -v and vm.overcommit_memory)";

/* Called in the master, after the engine has started for instances: NULL, or why no worker can have them. */
const char *weft_instances_unfit(void)
{
	const char *unfit = weft_page_bytes() == WEFT_PAGE_BYTES ? weft_unfit_extension() : other_pages;
	if (!unfit && !weft_heap_is_possible(REGION_BYTES_LEAST)) {
		unfit = no_space;
	}
	return unfit ? without(unfit) : NULL;
}

/* Called after the engine has started for instances, before any request. NULL, or why this process can have none. */
const char *weft_instances_start(uint32_t max, size_t heap_bytes, bool verify)
{
	if (!weft_arena_is_open()) {
		return "PHP was not started for instances";
	}
	const char *unfit = weft_unfit_extension();
	if (unfit) {
		return without(unfit);
	}
	instances_max = max;
	instances = calloc(max, sizeof(*instances));
	if (!instances) {
		return without("no memory");
	}
	size_t region = heap_bytes > REGION_BYTES ? heap_bytes : REGION_BYTES;
	while (!weft_heap_start(region)) {
		region /= 2;
		if (region < REGION_BYTES_LEAST) {
			return without(no_space);
		}
	}
	weft_check_start(verify ? max : 0);
	/* Start-up leaves one allocation in its heap; the next request would pass it on to another one. */
	virtual_cwd_deactivate();
	weft_process_start_instances();
	unfit = weft_thread_local_start();
	if (unfit) {
		return without(unfit);
	}
	weft_tables_note();
	weft_patterns_start();
	weft_stack_ask(weft_pages_fault, weft_instance_overrun);
	return weft_image_start();
}

/* The table of pointers that a request sets for every function of PHP: all of it differs between instances. */
static void move_map(void)
{
	size_t last = CG(map_ptr_last);
	zend_map_ptr_extend(CG(map_ptr_size) + 1);
	CG(map_ptr_last) = last;
}

/* The steps that a process takes once after its start; an instance takes them once in its image. */
static void begin(weft_instance *instance)
{
	instance->begun = true;
	zend_mm_set_heap(instance->heap);
	zend_set_memory_limit(PG(memory_limit));
	collect_garbage();
	move_map();
}

/* Loads the image and the process state of an instance; NULL: those of start-up. */
static void put_in_place(weft_instance *instance)
{
	if (placed) {
		weft_process_put_aside(&placed->process);
		weft_check_out(placed->number);
	}
	weft_image_exchange(placed ? &placed->image : NULL, instance ? &instance->image : NULL);
	weft_thread_local_exchange(placed ? placed->thread_local_kept : NULL, instance ? instance->thread_local_kept : NULL);
	figures.switches++;
	placed = instance;
	if (instance) {
		weft_check_in(instance->number);
		weft_process_put_in(&instance->process);
	}
}

static uint32_t free_number(void)
{
	for (uint32_t i = 0; i < instances_max; i++) {
		if (!instances[i]) {
			return i + 1;
		}
	}
	return 0;
}

static void free_instance(weft_instance *instance)
{
	if (instance->coroutine) {
		weft_native_destroy(instance->coroutine);
	}
	if (instance->heap) {
		weft_heap_destroy(instance->number);
	}
	free(instance->storage);
	free(instance->thread_local_kept);
	free(instance);
}

/* NULL: no memory, no mappings, or the maximum number exists. */
weft_instance *weft_instance_create(uint32_t pool)
{
	uint32_t number = free_number();
	weft_instance *instance = number ? calloc(1, sizeof(*instance)) : NULL;
	if (!instance) {
		return NULL;
	}
	instance->number = number;
	instance->coroutine = weft_native_create(pool);
	instance->heap = weft_heap_create(number, &instance->storage);
	if (!instance->coroutine || !instance->heap || !weft_thread_local_create(&instance->thread_local_kept)) {
		free_instance(instance);
		return NULL;
	}
	weft_process_init(&instance->process);
	instances[number - 1] = instance;
	figures.instances++;
	return instance;
}

/* Frees a loaded instance, in whatever state its PHP is. */
static void forget(weft_instance *instance)
{
	weft_process_put_aside(&instance->process);
	weft_image_exchange(NULL, NULL);
	weft_thread_local_exchange(NULL, NULL);
	placed = NULL;
	weft_process_free(&instance->process);
	weft_image_free(&instance->image);
	weft_check_forget(instance->number);
	instances[instance->number - 1] = NULL;
	figures.instances--;
	free_instance(instance);
}

/* C code has run over the end of the instance's stack, and was abandoned where it stood (weft_instance_overrun):
 * nothing that PHP could do would be safe. Its request is answered here, and its state is dropped. Its malloc memory
 * is lost, so the worker is replaced after the requests in flight. */
static void drop(weft_instance *instance)
{
	static const char reason[] = "C code has used up the stack of a PHP instance, which was dropped";
	weft_coroutine *coroutine = instance->coroutine;
	char line[512];
	snprintf(line, sizeof(line), "C code has used up the stack of this request's PHP instance at %s:%u (%zu KiB; data nested too deep "
		"for serialize(), a destructor or the like): the instance is dropped, others go on",
		zend_get_executed_filename(), zend_get_executed_lineno(), weft_native_slot(coroutine)->bytes >> 10);
	weft_host_log(WEFT_LOG_ERROR, coroutine->request, weft_slice_text(line));
	weft_classic_abandon(coroutine);
	weft_resident_abandon(coroutine);
	weft_host_replace(weft_slice_text(reason));
	forget(instance);
}

/* For the handler of SIGSEGV, on its own stack: the running instance's C stack is used up. Abandons it where it stands
 * and continues in the loop. Returns if that could do harm: in code that is not PHP's, which may hold a lock of the C
 * library or of a shared library, or while opcache's shared memory is being written. */
void weft_instance_overrun(const void *instruction)
{
	if (weft_current && weft_instance_of(weft_current) && weft_library_owns(instruction) && !weft_host_may_be_half_written()) {
		weft_current->lost = true;
		weft_native_leave(weft_current);
	}
}

/* Chunks that Zend keeps for the next request, except its first one, go to the instance that needs one first, while
 * they are hot. Zend frees what it keeps beyond a limit (zend_set_memory_limit in Zend/zend_alloc.c); for a heap with
 * a loaded script, nothing. */
static void hand_over(void)
{
	zend_set_memory_limit(ZEND_MM_CHUNK_SIZE);
	zend_set_memory_limit(PG(memory_limit));
}

/* 0: parked. 1: the job has ended, the instance is idle. 2: its C stack has overflowed, and the instance is
 * gone. */
/* The estimate of what requests need rises at once and falls slowly. */
static void learn(uint64_t most)
{
	figures.typical_bytes = most > figures.typical_bytes ? most : figures.typical_bytes - (figures.typical_bytes - most) / 16;
}

weft_enter_result weft_instance_enter(weft_instance *instance, bool has_job, uint32_t job, uint64_t argument)
{
	if (placed != instance) {
		put_in_place(instance);
	}
	if (UNEXPECTED(!instance->begun)) {
		begin(instance);
	}
	if (has_job && UNEXPECTED(!instance->moved) && weft_tables_are_large()) {
		weft_tables_move();
		instance->moved = true;
	}
	instance->trimmed = instance->seen_waiting = false;
	if (has_job) {
		weft_heap_mark(instance->number);
	}
	weft_process_activate(&instance->process);
	errno = instance->saved_errno;
	weft_enter_result left = weft_native_enter(instance->coroutine, has_job, job, argument);
	instance->saved_errno = errno;
	weft_process_activate(NULL);
	if (UNEXPECTED(instance->coroutine->lost)) {
		drop(instance);
		return WEFT_ENTER_LOST;
	}
	if (left == WEFT_ENTER_ENDED) {
		learn(weft_heap_most(instance->number));
		weft_check_idle(instance->number);
		hand_over();
		instance->idle_since = now();
	}
	return left;
}

void weft_instance_leave(weft_instance *instance)
{
	weft_native_leave(instance->coroutine);
}

/* Where its PHP code stands; it may be put aside: what is read lies in its heap. */
size_t weft_instance_waiting(const weft_instance *instance, char *text, size_t size)
{
	return weft_code_waiting(instance->coroutine, text, size);
}

/* Its PHP stack, in the same way. */
size_t weft_instance_stack(const weft_instance *instance, char *text, size_t size)
{
	return weft_code_stack(instance->coroutine, text, size);
}

/* What it alone has: its stack; its heap, and what is put aside of the pages that instances exchange. */
void weft_instance_footprint(const weft_instance *instance, weft_footprint *footprint)
{
	const size_t line_bytes = 64;
	size_t aside = instance->image.line_count * line_bytes + instance->image.pages * sizeof(*instance->image.masks);
	footprint->stack = weft_native_resident(instance->coroutine);
	footprint->heap = weft_heap_resident(instance->number) + aside;
}

static void move_tables(weft_instance *instance, bool out)
{
	put_in_place(instance);
	if (out) {
		weft_tables_move();
	} else {
		weft_tables_return();
	}
	instance->moved = out;
	put_in_place(NULL);
}

/* If a script is loaded (resident.c), the heap and the contents of the tables belong to it. */
static void trim(weft_instance *instance)
{
	weft_native_trim(instance->coroutine);
	if (!weft_resident_of(instance->coroutine)) {
		weft_heap_trim(instance->number);
		move_tables(instance, false);
	} else {
		weft_heap_give_back(instance->heap);
		if (!instance->moved && weft_tables_are_large()) {
			move_tables(instance, true);
		}
	}
	weft_image_trim(&instance->image);
	instance->trimmed = true;
}

static weft_image *image_of(uint32_t index)
{
	return instances[index] ? &instances[index]->image : NULL;
}

/* Before the first instances moved their tables, they wrote to pages that no switch needs to compare since. */
static void unlist_tables(void)
{
	if (weft_tables_are_large() && weft_tables_pages() > 0) {
		put_in_place(NULL);
		weft_check_begin_again();
		weft_pages_unlist(weft_tables_hold, image_of, instances_max);
	}
}

/* Instances that have been idle for `idle_ns` keep what they need; other memory is returned. */
void weft_instances_trim(uint64_t idle_ns)
{
	uint64_t before = now() - idle_ns;
	bool any = false;
	for (uint32_t i = 0; i < instances_max; i++) {
		weft_instance *instance = instances[i];
		bool idle = instance && instance->begun && instance->coroutine->ended && instance->idle_since < before;
		if (idle && !instance->trimmed) {
			trim(instance);
			any = true;
		}
	}
	if (any) {
		malloc_trim(0);
	}
	unlist_tables();
}

/* Memory is short: idle instances return what they can at once, and the instance with the largest loaded script loads
 * it again after its current request, or its next one. For the loop; does nothing anywhere else. */
void weft_instances_relieve(void)
{
	weft_instance *largest = NULL;
	if (weft_current) {
		return;
	}
	for (uint32_t i = 0; i < instances_max; i++) {
		bool loaded = instances[i] && weft_resident_of(instances[i]->coroutine) && weft_resident_of(instances[i]->coroutine)->handled;
		if (loaded && (!largest || weft_heap_held(i + 1) > weft_heap_held(largest->number))) {
			largest = instances[i];
		}
	}
	if (largest) {
		weft_resident_of(largest->coroutine)->spoilt = true;
	}
	weft_instances_trim(0);
}

static uint64_t promised(void)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < instances_max; i++) {
		if (instances[i] && !instances[i]->coroutine->ended && weft_heap_held(i + 1) < figures.typical_bytes) {
			bytes += figures.typical_bytes - weft_heap_held(i + 1);
		}
	}
	return bytes;
}

/* An instance that is in the same wait at two checks returns what it does not need now: free pages in its heap, of
 * which earlier requests used more, and its stack below the current frame. Returns whether another check is
 * worthwhile. */
bool weft_instances_look(void)
{
	bool again = false;
	for (uint32_t i = 0; i < instances_max; i++) {
		weft_instance *instance = instances[i];
		if (!instance || !instance->begun || instance->coroutine->ended || instance->trimmed) {
			continue;
		}
		if (!weft_host_is_parked(instance)) {
			again = true; /* it will soon need what it has */
			continue;
		}
		if (instance->seen_waiting) {
			weft_native_trim(instance->coroutine);
			weft_heap_give_back(instance->heap);
			weft_image_trim(&instance->image);
			instance->trimmed = true;
		}
		again |= !instance->seen_waiting;
		instance->seen_waiting = true;
	}
	return again;
}

/* Frees an idle instance. The malloc memory of its PHP (tables, caches) is lost with its image: instances are meant to
 * stay. */
void weft_instance_destroy(weft_instance *instance)
{
	if (placed != instance) {
		put_in_place(instance);
	}
	zend_try { /* connections kept by pconnect and similar */
		zend_hash_graceful_reverse_destroy(&EG(persistent_list));
	} zend_end_try();
	forget(instance);
}

weft_instance *weft_instance_of(const weft_coroutine *coroutine)
{
	for (uint32_t i = 0; i < instances_max; i++) {
		if (instances[i] && instances[i]->coroutine == coroutine) {
			return instances[i];
		}
	}
	return NULL;
}

uint32_t weft_instance_of_stack(const void *address)
{
	for (uint32_t i = 0; i < instances_max; i++) {
		if (instances[i] && weft_native_holds(instances[i]->coroutine, address)) {
			return i + 1;
		}
	}
	return 0;
}

weft_instances_figures weft_instances_report(void)
{
	figures.pages = weft_pages_count;
	figures.heap_bytes = weft_heap_bytes();
	figures.promised_bytes = promised();
	figures.lines = placed ? placed->image.line_count : 0;
	return figures;
}
