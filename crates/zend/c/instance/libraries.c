/* Which libraries belong to an instance: libphp, extensions, and libxml2 with the two that are built on it, whose
 * structures PHP shares with them. All others (OpenSSL, curl, libpq, SQLite, ICU ...) keep their state in objects that
 * only one instance knows; they belong to the process.
 *
 * It must not allocate: it is called from inside malloc, also while the dynamic linker loads a library. A library is
 * known by its path: extensions lie in PHP's extension directory. */
#include "instance.h"

#include <link.h>

#define LIBRARIES_MAX 512

typedef struct {
	char *low, *high;
	bool owned;
	char name[64];
} library;

static library libraries[LIBRARIES_MAX];
static size_t library_count;
static const library *latest;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_owned(const char *path)
{
	const char *name = base_name(path);
	return begins(name, "libphp") || begins(name, "libxml2.so") || begins(name, "libxslt.so") || begins(name, "libexslt.so")
		|| strstr(path, "/lib/php/") || strstr(path, "/no-debug-non-zts-") || strstr(path, "/debug-non-zts-");
}

static char *page_below(uintptr_t address)
{
	return (char *) (address & ~(WEFT_PAGE_BYTES - 1));
}

static char *page_above(uintptr_t address)
{
	return page_below(address + WEFT_PAGE_BYTES - 1);
}

static int note(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void) size, (void) unused;
	if (library_count == LIBRARIES_MAX) {
		return 1;
	}
	library *one = &libraries[library_count];
	uintptr_t low = UINTPTR_MAX, high = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type == PT_LOAD) {
			uintptr_t begin = info->dlpi_addr + part->p_vaddr;
			low = begin < low ? begin : low;
			high = begin + part->p_memsz > high ? begin + part->p_memsz : high;
		}
	}
	one->low = (char *) low;
	one->high = (char *) high;
	one->owned = info->dlpi_name && is_owned(info->dlpi_name);
	strncpy(one->name, info->dlpi_name ? base_name(info->dlpi_name) : "", sizeof(one->name) - 1);
	library_count++;
	return 0;
}

static const library *find(const void *address)
{
	for (size_t i = 0; i < library_count; i++) {
		if ((char *) address >= libraries[i].low && (char *) address < libraries[i].high) {
			return &libraries[i];
		}
	}
	return NULL;
}

static const library *library_of(const void *address)
{
	const library *found = latest;
	if (found && (char *) address >= found->low && (char *) address < found->high) {
		return found;
	}
	found = find(address);
	if (!found) { /* loaded since */
		library_count = 0;
		dl_iterate_phdr(note, NULL);
		found = find(address);
	}
	latest = found;
	return found;
}

bool weft_library_owns(const void *address)
{
	const library *found = library_of(address);
	return found && found->owned;
}

const char *weft_library_name(const void *address)
{
	const library *found = find(address);
	return found ? found->name : "?";
}

/* The writable pages of a library: its writable segments without what the dynamic linker makes read-only (RELRO). */
static int visit_data(struct dl_phdr_info *info, size_t size, void *visit)
{
	(void) size;
	if (!info->dlpi_name || !is_owned(info->dlpi_name)) {
		return 0;
	}
	uintptr_t relro_low = 0, relro_high = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type == PT_GNU_RELRO) {
			relro_low = info->dlpi_addr + part->p_vaddr;
			relro_high = relro_low + part->p_memsz;
		}
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) {
			continue;
		}
		uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
		bool has_relro = relro_low >= begin && relro_low < end;
		char *low = page_below(has_relro ? relro_high : begin);
		if (low < page_above(end)) {
			((weft_library_visit) visit)(low, page_above(end));
		}
	}
	return 0;
}

void weft_libraries_each(weft_library_visit visit)
{
	dl_iterate_phdr(visit_data, (void *) visit);
}

static int visit_thread_local(struct dl_phdr_info *info, size_t size, void *visit)
{
	(void) size;
	for (int i = 0; info->dlpi_name && is_owned(info->dlpi_name) && i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_TLS) {
			((weft_thread_local_visit) visit)(info->dlpi_tls_modid, info->dlpi_phdr[i].p_memsz);
		}
	}
	return 0;
}

void weft_libraries_each_thread_local(weft_thread_local_visit visit)
{
	dl_iterate_phdr(visit_thread_local, (void *) visit);
}
