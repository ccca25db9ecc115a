/* malloc and its family, in place of the C library's. While PHP starts, the allocations of libphp, its extensions and
 * libxml2 come from one arena, which is part of every instance's image. The caller's address decides; all other code
 * (Rust, curl, OpenSSL, the C library) gets the C library's memory as usual.
 *
 *     closed (coroutine mode; after start-up):  malloc -> C library          one flag is checked
 *     open (start-up of instances):             malloc -> arena or C library
 *     always:                                   free(p), realloc(p) -> nothing, or a copy, if p lies in the arena; the old
 *                                              place is pristine again in the active instance
 *
 * Invariants: arena memory is never returned, so that a pointer in a pristine page is valid in every instance; an
 * allocation never calls anything that allocates. */
#include "instance.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* More than any set of extensions needs (3.9 MB with forty of them); preloaded applications grow in opcache's memory. */
#define ARENA_BYTES ((size_t) 512 << 20)
#define HEADER_BYTES 16

/* glibc's own, under the names it keeps for replacements of malloc. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void __libc_free(void *pointer);

/* Of the thread that starts PHP: other threads' memory never belongs to an instance. */
static __thread bool is_open __attribute__((tls_model("initial-exec")));
static uintptr_t arena_low = UINTPTR_MAX - ARENA_BYTES; /* an address where nothing can lie, until there is an arena */
static char *arena_next;

#define IN_ARENA(pointer) UNEXPECTED((uintptr_t) (pointer) - arena_low < ARENA_BYTES)
#define FROM_ARENA() (UNEXPECTED(is_open) && weft_library_owns(__builtin_return_address(0)))

static size_t *header(void *pointer)
{
	return (size_t *) ((char *) pointer - HEADER_BYTES);
}

static char *end_of(void *pointer)
{
	return (char *) pointer + ((*header(pointer) + 15) & ~(size_t) 15);
}

static void *take(size_t size)
{
	size_t bytes = HEADER_BYTES + ((size + 15) & ~(size_t) 15);
	if (bytes < size || bytes > arena_low + ARENA_BYTES - (uintptr_t) arena_next) {
		errno = ENOMEM;
		return NULL;
	}
	char *pointer = arena_next + HEADER_BYTES;
	*header(pointer) = size;
	arena_next += bytes;
	return pointer;
}

/* The latest block can grow and shrink in place. */
static void *take_again(void *pointer, size_t size)
{
	size_t old = *header(pointer);
	if (end_of(pointer) == arena_next) {
		arena_next = (char *) pointer - HEADER_BYTES;
		void *same = take(size);
		if (!same) {
			arena_next = end_of(pointer);
		}
		return same;
	}
	if (size <= old) {
		return pointer;
	}
	void *copy = take(size);
	return copy ? memcpy(copy, pointer, old) : NULL;
}

int weft_arena_open(void)
{
	void *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED) {
		return 1;
	}
	madvise(arena, ARENA_BYTES, MADV_NOHUGEPAGE);
	arena_low = (uintptr_t) arena;
	arena_next = arena;
	is_open = true;
	return 0;
}

void weft_arena_close(char **low, char **high)
{
	is_open = false;
	*low = (char *) arena_low;
	*high = (char *) (((uintptr_t) arena_next + WEFT_PAGE_BYTES - 1) & ~(WEFT_PAGE_BYTES - 1));
}

bool weft_arena_is_open(void)
{
	return is_open;
}

bool weft_arena_holds(const void *address)
{
	return IN_ARENA(address);
}

/* ---- the family ---- */

void *malloc(size_t size)
{
	return FROM_ARENA() ? take(size) : __libc_malloc(size);
}

void free(void *pointer)
{
	if (!IN_ARENA(pointer)) {
		__libc_free(pointer);
	} else {
		weft_image_restore(pointer, *header(pointer));
	}
}

void *calloc(size_t count, size_t size)
{
	if (!FROM_ARENA()) {
		return __libc_calloc(count, size);
	}
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	void *pointer = take(bytes);
	return pointer ? memset(pointer, 0, bytes) : NULL;
}

static void *resize(void *pointer, size_t size, bool from_arena)
{
	if (!pointer && from_arena) {
		return take(size);
	}
	if (!IN_ARENA(pointer)) {
		return __libc_realloc(pointer, size);
	}
	if (from_arena) {
		return take_again(pointer, size);
	}
	size_t old = *header(pointer);
	void *copy = __libc_malloc(size);
	if (copy) {
		memcpy(copy, pointer, old < size ? old : size);
		weft_image_restore(pointer, old);
	}
	return copy;
}

void *realloc(void *pointer, size_t size)
{
	return resize(pointer, size, FROM_ARENA());
}

void *reallocarray(void *pointer, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(pointer, bytes, FROM_ARENA());
}

/* For an arena block, the usable size is the requested size. */
size_t malloc_usable_size(void *pointer)
{
	static size_t (*real)(void *);
	if (IN_ARENA(pointer)) {
		return *header(pointer);
	}
	if (!real) {
		real = (size_t (*)(void *)) weft_real("malloc_usable_size");
	}
	return pointer ? real(pointer) : 0;
}

/* The C library's function would call malloc from its own address. */
static char *copy_text(const char *text, size_t length, bool from_arena)
{
	char *copy = from_arena ? take(length + 1) : __libc_malloc(length + 1);
	if (copy) {
		memcpy(copy, text, length);
		copy[length] = '\0';
	}
	return copy;
}

char *strdup(const char *text)
{
	return copy_text(text, strlen(text), FROM_ARENA());
}

char *__strdup(const char *text)
{
	return copy_text(text, strlen(text), FROM_ARENA());
}

char *strndup(const char *text, size_t max)
{
	return copy_text(text, strnlen(text, max), FROM_ARENA());
}

char *__strndup(const char *text, size_t max)
{
	return copy_text(text, strnlen(text, max), FROM_ARENA());
}
