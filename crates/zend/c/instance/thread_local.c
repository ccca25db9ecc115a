/* Thread-local variables of the libraries that belong to an instance (libraries.c): libxml2 keeps its globals there
 * from 2.12 on, and an extension may.
 *
 * They lie in no segment that pages.c sees, but in a block for each library and thread, beside those of other
 * libraries. All PHP runs in one thread, so each such block has one address, and its bytes are copied at each
 * exchange. Debian 12's libraries have none. */
#include "instance.h"

#define BLOCKS_MAX 32

extern void *__tls_get_addr(size_t *index);

static struct {
	char *at;
	size_t bytes;
} blocks[BLOCKS_MAX];

static size_t count, bytes_of_all;
static char *pristine;
static bool too_many;

static void note(size_t module, size_t bytes)
{
	size_t index[] = {module, 0};
	too_many |= count == BLOCKS_MAX;
	if (!too_many && bytes) {
		blocks[count].at = __tls_get_addr(index);
		blocks[count++].bytes = bytes;
		bytes_of_all += bytes;
	}
}

static void copy(char *to, bool out)
{
	for (size_t i = 0; i < count; to += blocks[i++].bytes) {
		memcpy(out ? to : blocks[i].at, out ? blocks[i].at : to, blocks[i].bytes);
	}
}

const char *weft_thread_local_start(void)
{
	weft_libraries_each_thread_local(note);
	if (too_many) {
		return "too many libraries keep state for each thread";
	}
	if (bytes_of_all) {
		pristine = malloc(bytes_of_all);
		if (!pristine) {
			return "no memory";
		}
		copy(pristine, true);
	}
	return NULL;
}

bool weft_thread_local_create(char **kept)
{
	*kept = bytes_of_all ? malloc(bytes_of_all) : NULL;
	if (*kept) {
		memcpy(*kept, pristine, bytes_of_all);
	}
	return *kept || !bytes_of_all;
}

void weft_thread_local_exchange(char *out, char *in)
{
	if (EXPECTED(!bytes_of_all)) {
		return;
	}
	if (out) {
		copy(out, true);
	}
	copy(in ? in : pristine, false);
}
