/* The PHP stack of a coroutine in one line, for the profiler: "/srv/index.php;Shop\Cart::total;array_sum"; and the place where
 * code runs that holds its worker.
 *
 * The frames of a coroutine that is parked do not change. Those of the code that runs are read by another thread while it goes
 * on, so a pointer in them may lead nowhere: such memory is read by the kernel (process_vm_readv(2) of this process), which
 * says so where a read of our own would crash. The end of the VM's stack is copied at once, so that the frames in it belong
 * together. What is read may still be half old and half new: a profile is made of many samples.
 *
 * Invariants: nothing is allocated, locked or changed; the running code is not stopped and gets no signal; whatever is read,
 * no more than FRAMES_MAX frames and NAME_BYTES_MAX bytes of a name are. */
#include "code_stack.h"
#include "coroutine.h"
#include "weft.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FRAMES_MAX 128
#define NAME_BYTES_MAX 240
#define WINDOW_BYTES 8192

typedef bool (*reader)(void *to, const void *from, size_t size);

static bool read_directly(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return true;
}

static bool read_checked(void *to, const void *from, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *) (uintptr_t) from, size};
	return syscall(SYS_process_vm_readv, (long) getpid(), &local, 1l, &remote, 1l, 0l) == (long) size;
}

/* A copy of the end of the VM's stack, up to and with the frame on top; empty if memory is read directly. */
typedef struct {
	reader read;
	const char *low, *high;
	char copy[WINDOW_BYTES];
} window;

static void open_window(window *window, const zend_execute_data *top)
{
	size_t size = WINDOW_BYTES;
	window->low = window->high = (const char *) (top + 1);
	if (window->read == read_directly) {
		return;
	}
	/* What lies below the first frame may belong to nobody. */
	while (size > sizeof(*top) && !window->read(window->copy, window->high - size, size)) {
		size /= 2;
	}
	window->low = size > sizeof(*top) ? window->high - size : window->high;
}

static bool read_frame(const window *window, const zend_execute_data *frame, zend_execute_data *read)
{
	const char *at = (const char *) frame;
	if (at >= window->low && at + sizeof(*read) <= window->high) {
		memcpy(read, window->copy + (at - window->low), sizeof(*read));
		return true;
	}
	return window->read(read, frame, sizeof(*read));
}

/* The text of a string, of a long one its end, as it can stand in a line of stacks. 0: there is none. */
static size_t read_name(reader read, const zend_string *string, char *text)
{
	size_t length;
	if (!string || !read(&length, &string->len, sizeof(length)) || !length || length > MAXPATHLEN) {
		return 0;
	}
	size_t taken = length < NAME_BYTES_MAX ? length : NAME_BYTES_MAX;
	if (!read(text, string->val + (length - taken), taken)) {
		return 0;
	}
	for (size_t i = 0; i < taken; i++) {
		if (!text[i]) {
			return i; /* what follows makes the name of an anonymous class unique */
		}
		text[i] = text[i] == ';' ? ':' : (unsigned char) text[i] < ' ' ? '_' : text[i];
	}
	return taken;
}

/* "function", "Class::method", "{closure:file:line}", or the file. 0: it is none of PHP's functions. */
static size_t describe(reader read, const zend_function *function, char *text, size_t size)
{
	static const char closure[] = "{closure}";
	char class[NAME_BYTES_MAX], name[NAME_BYTES_MAX], file[NAME_BYTES_MAX];
	size_t class_length = 0, name_length, file_length = 0;
	const zend_string *class_name = NULL, *filename = NULL;
	uint32_t line = 0;
	zend_function copy;
	if (!read(&copy, function, sizeof(copy.common))) {
		return 0;
	}
	bool is_php = ZEND_USER_CODE(copy.type);
	name_length = read_name(read, copy.common.function_name, name);
	if (copy.common.scope && read((void *) &class_name, &copy.common.scope->name, sizeof(class_name))) {
		class_length = read_name(read, class_name, class);
	}
	bool is_closure = name_length == sizeof(closure) - 1 && memcmp(name, closure, name_length) == 0;
	if (is_php && (!name_length || is_closure) && read((void *) &filename, &function->op_array.filename, sizeof(filename))
		&& read(&line, &function->op_array.line_start, sizeof(line))) {
		file_length = read_name(read, filename, file);
	}
	int length = is_closure ? snprintf(text, size, "{closure:%.*s:%u}", (int) file_length, file, line)
		: name_length ? snprintf(text, size, "%.*s%s%.*s", (int) class_length, class, class_length ? "::" : "", (int) name_length, name)
		: snprintf(text, size, "%.*s", (int) file_length, file);
	return length > 0 && (size_t) length < size ? (size_t) length : 0;
}

/* The functions of these frames, of which the last is the outermost; 0 if they do not fit. */
static size_t describe_all(reader read, const zend_function *const *functions, int count, bool cut, char *text, size_t size)
{
	size_t length = cut ? (size_t) snprintf(text, size, "[cut]") : 0;
	while (count-- > 0) {
		char name[2 * NAME_BYTES_MAX + 64];
		size_t more = describe(read, functions[count], name, sizeof(name));
		if (length + 1 + more > size) {
			return 0;
		}
		if (more) {
			if (length) {
				text[length++] = ';';
			}
			memcpy(text + length, name, more);
			length += more;
		}
	}
	return length;
}

static size_t stack_of(reader read, const zend_execute_data *frame, char *text, size_t size)
{
	const zend_function *functions[FRAMES_MAX] = {NULL};
	window window = {.read = read};
	int count = 0, steps_left = 8 * FRAMES_MAX; /* frames that change meanwhile may form a ring */
	open_window(&window, frame);
	while (frame && count < FRAMES_MAX && steps_left-- > 0) {
		zend_execute_data data;
		if (!read_frame(&window, frame, &data)) {
			break;
		}
		if (data.func) {
			functions[count++] = data.func;
		}
		frame = data.prev_execute_data;
	}
	size_t length = describe_all(read, functions, count, frame != NULL, text, size);
	while (!length && count > 1) {
		count /= 2;
		length = describe_all(read, functions, count, true, text, size);
	}
	return length;
}

size_t weft_code_stack(const weft_coroutine *coroutine, char *text, size_t size)
{
	return coroutine->frame ? stack_of(read_directly, coroutine->frame, text, size) : 0;
}

/* While the loop exchanges what belongs to a coroutine, no coroutine is current, and the frames are those of the last one. */
size_t weft_code_stack_running(char *text, size_t size)
{
	weft_coroutine *const volatile *current = &weft_current;
	zend_execute_data *const volatile *top = &EG(current_execute_data);
	const weft_coroutine *running = *current;
	const zend_execute_data *frame = *top;
	if (!running || !frame) {
		return 0;
	}
	size_t length = stack_of(read_checked, frame, text, size);
	return *current == running ? length : 0;
}

/* "function() at file:line" of the PHP code nearest to the top, and the C function that it has called, if it has. 0: there is none. */
static size_t place_of(const zend_execute_data *frame, char *text, size_t size)
{
	const zend_function *called = NULL;
	const zend_string *filename;
	zend_execute_data data;
	zend_function function;
	char name[2 * NAME_BYTES_MAX + 64], file[NAME_BYTES_MAX];
	uint32_t line;
	for (int steps_left = FRAMES_MAX; frame && steps_left-- > 0; frame = data.prev_execute_data) {
		if (!read_checked(&data, frame, sizeof(data)) || (data.func && !read_checked(&function, data.func, sizeof(function.common)))) {
			return 0;
		}
		if (data.func && !called) {
			called = data.func;
		}
		if (data.func && ZEND_USER_CODE(function.type)) {
			break;
		}
	}
	if (!frame || !called || !read_checked((void *) &filename, &data.func->op_array.filename, sizeof(filename))
		|| !data.opline || !read_checked(&line, &data.opline->lineno, sizeof(line))) {
		return 0;
	}
	size_t file_length = read_name(read_checked, filename, file);
	size_t name_length = function.common.function_name || called != data.func ? describe(read_checked, called, name, sizeof(name)) : 0;
	int length = snprintf(text, size, "%.*s%s%.*s:%u", (int) name_length, name, name_length ? "() at " : "", (int) file_length, file, line);
	return file_length && length > 0 && (size_t) length < size ? (size_t) length : 0;
}

size_t weft_code_place_running(char *text, size_t size, uint64_t *request)
{
	weft_coroutine *const volatile *current = &weft_current;
	zend_execute_data *const volatile *top = &EG(current_execute_data);
	const weft_coroutine *running = *current;
	const zend_execute_data *frame = *top;
	*request = 0;
	if (!running || !frame || !read_checked(request, &running->request, sizeof(*request))) {
		return 0;
	}
	size_t length = place_of(frame, text, size);
	return *current == running ? length : 0;
}

bool weft_code_stack_can_run(void)
{
	char here = 0, copy;
	return read_checked(&copy, &here, sizeof(here));
}
