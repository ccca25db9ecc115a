/* The variables marked WEFT_BOOT (boot.h), for each loaded script.
 *
 * They change only while an application boots. So loading a script's values is one copy of some kilobytes, and nothing
 * has to be saved. Must not know what they are. */
#include "boot.h"

#include <stdlib.h>
#include <string.h>

extern char __start_weft_boot[], __stop_weft_boot[];

bool weft_boots;

static void *pristine;     /* as they are when the modules have started */
static const void *placed; /* NULL: the pristine ones */

static size_t size(void)
{
	return (size_t) (__stop_weft_boot - __start_weft_boot);
}

static void *copy(void)
{
	void *kept = malloc(size());
	return kept ? memcpy(kept, __start_weft_boot, size()) : NULL;
}

void *weft_boot_keep(void)
{
	void *kept = copy();
	placed = kept;
	return kept;
}

void weft_boot_place(const void *kept)
{
	if (!pristine) {
		pristine = copy();
		weft_boots = true;
	}
	const void *from = kept ? kept : pristine;
	if (kept != placed && from) {
		memcpy(__start_weft_boot, from, size());
		placed = kept;
	}
}
