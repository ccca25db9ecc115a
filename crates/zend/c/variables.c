/* putenv(), setenv(), unsetenv() and clearenv() for PHP's thread, in memory that other threads can continue to read.
 *
 * Threads that look up names call getenv() (resolv.conf(5): LOCALDOMAIN, RES_OPTIONS), which walks `environ` without a
 * lock. The C library's setenv() frees an array that has become too small, and PHP frees the text that it gave to
 * putenv(). Here neither is ever freed: a replaced array or text waits in a queue until the next one of its size is
 * made. A thread that still reads an old one may see another variable, but never invalid memory: a block always stays
 * of one kind, array or text, and ends with zeros that are never overwritten.
 *
 * A value is complete before it is published. It must not know whose variables they are. Invariant: PHP may have kept
 * a pointer to an entry in order to restore it, so that text must not change: the texts that putenv() was given and
 * those that replaced them have different lifetimes (`replaced`). Memory is limited by what was set at one time. */
#include "variables.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/* When a text that is no longer in the array is released. */
typedef enum {
	AT_ONCE,
	WITH_ALL,  /* PHP may restore it, or setenv() set it again */
	WHEN_TOLD, /* weft_variable_let_go() */
} weft_fate;

/* A block of a kind and size. */
typedef struct weft_block {
	struct weft_block *next;
	unsigned size;  /* its content has 64 << size bytes */
	weft_fate fate; /* a text's */
	_Alignas(sizeof(void *)) char content[];
} weft_block;

#define SIZES 26 /* up to 2 GiB */

typedef struct {
	weft_block *first[SIZES], *last[SIZES];
} line;

static line arrays, texts;

/* The variables before the first change. */
static char **start;

static __thread weft_variables *mine __attribute__((tls_model("initial-exec")));

static weft_block *take(line *from, size_t bytes)
{
	unsigned size = 0;
	bytes += sizeof(void *); /* the zeros at the end */
	while (((size_t) 64 << size) < bytes) {
		if (++size == SIZES) {
			errno = ENOMEM;
			return NULL;
		}
	}
	weft_block *block = from->first[size];
	if (block) {
		from->first[size] = block->next;
	} else if (!(block = calloc(1, sizeof(*block) + ((size_t) 64 << size)))) {
		return NULL;
	}
	block->next = NULL;
	block->size = size;
	return block;
}

static void leave(line *to, weft_block *block)
{
	block->next = NULL;
	if (to->first[block->size]) {
		to->last[block->size]->next = block;
	} else {
		to->first[block->size] = block;
	}
	to->last[block->size] = block;
}

static weft_block *block_of(char *content)
{
	return (weft_block *) (content - offsetof(weft_block, content));
}

static void publish(char **entry, char *text)
{
	__atomic_store_n(entry, text, __ATOMIC_RELEASE);
}

/* ---- texts ---- */

static char *new_text(const char *name, size_t name_length, const char *value, weft_fate fate)
{
	size_t value_length = strlen(value);
	weft_block *block = take(&texts, name_length + value_length + 2);
	if (!block) {
		return NULL;
	}
	memcpy(block->content, name, name_length);
	block->content[name_length] = '=';
	memcpy(block->content + name_length + 1, value, value_length + 1);
	block->fate = fate;
	block->next = mine->texts;
	mine->texts = block;
	return block->content;
}

static weft_block **place_of(const char *text)
{
	weft_block **place = &mine->texts;
	while (*place && (*place)->content != text) {
		place = &(*place)->next;
	}
	return place;
}

static void let_go(weft_block **place)
{
	weft_block *block = *place;
	*place = block->next;
	leave(&texts, block);
}

/* An entry has been removed from the array. */
static void removed(const char *text)
{
	weft_block **place = place_of(text);
	if (*place && (*place)->fate == AT_ONCE) {
		let_go(place);
	}
}

/* Another text is in its place. PHP restores the text that it found before its own: if that happens, PHP's own text is
 * released for good; if PHP's own text comes first, the old one may come back. */
static void replaced(const char *text, bool by_known)
{
	weft_block **place = place_of(text);
	if (by_known) {
		removed(text);
	} else if (*place && (*place)->fate == AT_ONCE) {
		(*place)->fate = WITH_ALL;
	}
}

static bool is_of_start(const char *text)
{
	char **entry = start;
	while (entry && *entry && *entry != text) {
		entry++;
	}
	return entry && *entry;
}

/* ---- the array ---- */

static size_t entries(char **array)
{
	size_t count = 0;
	while (array && array[count]) {
		count++;
	}
	return count;
}

/* Its own array, with room for one more. */
static char **own_array(void)
{
	size_t count = entries(environ);
	if (mine->array && mine->array == environ && count + 1 < mine->room) {
		return environ;
	}
	weft_block *block = take(&arrays, (count * 2 + 16) * sizeof(char *));
	if (!block) {
		return NULL;
	}
	char **before = mine->array;
	mine->array = (char **) (void *) block->content;
	mine->room = ((size_t) 64 << block->size) / sizeof(char *);
	memset(mine->array, 0, mine->room * sizeof(char *));
	if (count) {
		memcpy(mine->array, environ, count * sizeof(char *));
	}
	__atomic_store_n(&environ, mine->array, __ATOMIC_RELEASE);
	if (before) {
		leave(&arrays, block_of((char *) before));
	}
	return mine->array;
}

static char **entry_of(char **array, const char *name, size_t length)
{
	for (; array && *array; array++) {
		if (!strncmp(*array, name, length) && (*array)[length] == '=') {
			return array;
		}
	}
	return NULL;
}

static int put(char *text, size_t name_length, bool known)
{
	char **array = own_array();
	if (!array) {
		return -1;
	}
	char **entry = entry_of(array, text, name_length);
	if (!entry) {
		entry = array + entries(array);
		publish(entry + 1, NULL);
		publish(entry, text);
	} else if (*entry != text) {
		char *before = *entry;
		publish(entry, text);
		replaced(before, known);
	}
	return 0;
}

/* ---- the C library's functions ---- */

#define REAL(name) \
	static __typeof__(&name) real; \
	if (__builtin_expect(!real, 0)) { \
		real = (__typeof__(&name)) weft_real(#name); \
	}

static bool is_name(const char *name)
{
	if (*name && !strchr(name, '=')) {
		return true;
	}
	errno = EINVAL;
	return false;
}

int unsetenv(const char *name)
{
	REAL(unsetenv)
	if (!mine) {
		return real(name);
	}
	size_t length = strlen(name);
	if (!is_name(name)) {
		return -1;
	}
	if (!entry_of(environ, name, length)) {
		return 0;
	}
	char **array = own_array(), **entry;
	if (!array) {
		return -1;
	}
	while ((entry = entry_of(array, name, length))) {
		char *text = *entry;
		do {
			publish(entry, entry[1]);
		} while (*entry++);
		removed(text);
	}
	return 0;
}

/* The original texts stay in place, and so do texts that are kept: they are put into the array themselves. Any other
 * text is copied, because its owner may free it. */
int putenv(char *text)
{
	REAL(putenv)
	if (!mine) {
		return real(text);
	}
	const char *equals = strchr(text, '=');
	if (!equals) {
		return unsetenv(text);
	}
	size_t length = (size_t) (equals - text);
	bool known = *place_of(text) != NULL || is_of_start(text);
	if (!known && !(text = new_text(text, length, equals + 1, AT_ONCE))) {
		return -1;
	}
	return put(text, length, known);
}

/* Its texts are kept: there are few, from libraries and from values restored at each switch. Equal texts are made
 * once. */
int setenv(const char *name, const char *value, int overwrite)
{
	REAL(setenv)
	if (!mine) {
		return real(name, value, overwrite);
	}
	size_t length = strlen(name);
	if (!is_name(name)) {
		return -1;
	}
	if (!overwrite && entry_of(environ, name, length)) {
		return 0;
	}
	for (weft_block *known = mine->texts; known; known = known->next) {
		if (known->fate == WITH_ALL && !strncmp(known->content, name, length) && known->content[length] == '='
			&& !strcmp(known->content + length + 1, value)) {
			return put(known->content, length, true);
		}
	}
	char *text = new_text(name, length, value, WITH_ALL);
	return text ? put(text, length, false) : -1;
}

int clearenv(void)
{
	REAL(clearenv)
	if (!mine) {
		return real();
	}
	char **array = own_array();
	if (array) {
		publish(array, NULL);
	}
	return array ? 0 : -1;
}

/* ---- the owners of variables ---- */

void weft_variables_start(void)
{
	size_t bytes = (entries(environ) + 1) * sizeof(char *);
	free(start);
	start = malloc(bytes);
	if (start) {
		memcpy(start, environ, bytes);
	}
}

void weft_variables_use(weft_variables *variables)
{
	mine = variables;
}

void weft_variables_free(weft_variables *variables)
{
	if (variables->array) {
		leave(&arrays, block_of((char *) variables->array));
	}
	while (variables->texts) {
		weft_block *block = variables->texts;
		variables->texts = block->next;
		leave(&texts, block);
	}
	*variables = (weft_variables) {0};
}

char *weft_variable_text(const char *name, const char *value)
{
	return mine ? new_text(name, strlen(name), value, WHEN_TOLD) : NULL;
}

void weft_variable_let_go(char *text)
{
	weft_block **place = place_of(text);
	if (*place) {
		let_go(place);
	}
}
