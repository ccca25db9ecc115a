/* The variables marked WEFT_BOOT (boot.h), for each loaded script.
 *
 * They change only while an application boots or ends. So loading a script's values is one copy of some kilobytes, and they
 * are saved only when a script leaves in the midst of that. Must not know what they are. Invariant: no script finds what the
 * boot of another has written. */
#include "boot.h"

#include <stdlib.h>
#include <string.h>

extern char __start_weft_boot[], __stop_weft_boot[];

bool weft_boots;

static void *pristine;     /* as they are when the modules have started */
static const void *placed; /* whose are in place; NULL: the pristine ones */

static size_t size(void)
{
	return (size_t) (__stop_weft_boot - __start_weft_boot);
}

static void place(const void *kept)
{
	if (kept != placed) {
		memcpy(__start_weft_boot, kept ? kept : pristine, size());
		placed = kept;
	}
}

static void save(void *kept)
{
	memcpy(kept, __start_weft_boot, size());
}

bool weft_boot_begin(weft_coroutine *coroutine)
{
	weft_boot *boot = weft_boot_slot(coroutine);
	if (!pristine) {
		pristine = malloc(size());
		if (!pristine) {
			return false;
		}
		save(pristine);
		weft_boots = true;
	}
	boot->kept = malloc(size());
	if (!boot->kept) {
		return false;
	}
	memcpy(boot->kept, pristine, size());
	boot->change = true;
	place(boot->kept);
	return true;
}

void weft_boot_keep(weft_coroutine *coroutine)
{
	weft_boot_leave(coroutine);
	weft_boot_slot(coroutine)->change = false;
}

void weft_boot_change(weft_coroutine *coroutine)
{
	weft_boot_slot(coroutine)->change = true;
}

void weft_boot_enter(const weft_coroutine *coroutine)
{
	if (weft_boots) {
		place(weft_boot_slot(coroutine)->kept);
	}
}

void weft_boot_leave(const weft_coroutine *coroutine)
{
	const weft_boot *boot = weft_boot_slot(coroutine);
	if (UNEXPECTED(boot->change)) {
		save(boot->kept);
	}
}

void weft_boot_end(weft_coroutine *coroutine)
{
	weft_boot *boot = weft_boot_slot(coroutine);
	if (boot->kept && placed == boot->kept) {
		place(NULL);
	}
	free(boot->kept);
	*boot = (weft_boot) {0};
}
