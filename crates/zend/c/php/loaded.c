/* Which libphp the loader has found, and whether it is the PHP that weft was compiled for.
 *
 * All versions have the SONAME libphp.so, so the loader takes whatever has that name. Their structures differ, so nothing of
 * PHP may be called before they are compared. Libraries of all versions contain two texts: the build id that PHP compares for
 * extensions (ZEND_MODULE_BUILD_ID), and the header X-Powered-By. Invariant: this file calls no function of PHP. */
#include "loaded.h"

#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

typedef struct {
	uintptr_t inside; /* an address in the library */
	weft_loaded_php *loaded;
} search;

/* The constants of an object, one segment after the other. On arm64 they lie in one with the code. */
static const char *constants_end(const struct dl_phdr_info *object, size_t segment, const char **start)
{
	const ElfW(Phdr) *header = &object->dlpi_phdr[segment];
	if (header->p_type != PT_LOAD || !(header->p_flags & PF_R) || (header->p_flags & PF_W)) {
		return NULL;
	}
	*start = (const char *) object->dlpi_addr + header->p_vaddr;
	return *start + header->p_memsz;
}

static void copy_text(char *to, size_t size, const char *text, const char *end)
{
	size_t length = strnlen(text, (size_t) (end - text));
	if (length < size) {
		memcpy(to, text, length);
		to[length] = '\0';
	}
}

/* "API", eight digits, a comma, and how PHP was built. */
static bool is_build(const char *text, const char *end)
{
	if (end - text < 13) {
		return false;
	}
	for (int i = 3; i < 11; i++) {
		if (!isdigit((unsigned char) text[i])) {
			return false;
		}
	}
	return text[11] == ',';
}

static void read_constants(const char *start, const char *end, weft_loaded_php *loaded)
{
	static const char header[] = "X-Powered-By: PHP/", build[] = "API";
	const char *found = memmem(start, (size_t) (end - start), header, sizeof(header) - 1);
	if (found && !loaded->version[0]) {
		copy_text(loaded->version, sizeof(loaded->version), found + sizeof(header) - 1, end);
	}
	for (found = start; !loaded->build[0] && (found = memmem(found, (size_t) (end - found), build, sizeof(build) - 1)); found++) {
		if (is_build(found, end)) {
			copy_text(loaded->build, sizeof(loaded->build), found, end);
		}
	}
}

static int examine(struct dl_phdr_info *object, size_t size, void *data)
{
	search *wanted = data;
	bool is_library = false;
	(void) size;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		uintptr_t start = object->dlpi_addr + header->p_vaddr;
		is_library |= header->p_type == PT_LOAD && wanted->inside >= start && wanted->inside < start + header->p_memsz;
	}
	for (size_t i = 0; is_library && i < object->dlpi_phnum; i++) {
		const char *start, *end = constants_end(object, i, &start);
		if (end) {
			read_constants(start, end, wanted->loaded);
		}
	}
	return is_library;
}

void weft_find_loaded_php(weft_loaded_php *loaded)
{
	search wanted = {(uintptr_t) sapi_startup, loaded};
	Dl_info place;
	memset(loaded, 0, sizeof(*loaded));
	dl_iterate_phdr(examine, &wanted);
	if (dladdr((void *) sapi_startup, &place) && place.dli_fname) {
		char *file = realpath(place.dli_fname, NULL);
		const char *name = file ? file : place.dli_fname;
		copy_text(loaded->file, sizeof(loaded->file), name, name + strlen(name));
		free(file);
	}
	/* Not by snprintf(), which PHP's headers replace with a function of PHP. */
	memcpy(loaded->wanted_build, ZEND_MODULE_BUILD_ID, sizeof(ZEND_MODULE_BUILD_ID));
	memcpy(loaded->wanted_version, PHP_VERSION, sizeof(PHP_VERSION));
}
