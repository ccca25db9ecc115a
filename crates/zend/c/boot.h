/* Variables of ours that say what the booted application has left: from them each request starts, and to them its end goes back.
 *
 * In coroutine mode there is one application in a process. In resident mode there are as many as scripts are loaded, each with
 * what it has left: boot.c keeps these variables for each and puts those of the running script in place. So whatever is noted
 * of the boot MUST be declared WEFT_BOOT, or the scripts of a worker share it. */
#ifndef WEFT_BOOT_H
#define WEFT_BOOT_H

#include "coroutine.h"

/* A section of the executable; its name makes the linker give us its bounds. */
#define WEFT_BOOT __attribute__((section("weft_boot")))

/* Whose variables are in place while the coroutine runs. */
typedef struct {
	bool own;         /* it runs a script that stays loaded */
	const void *kept; /* what that script's boot has left; NULL: it boots */
} weft_boot;

WEFT_SLOT(boot, weft_boot)

/* Notes what they hold now. NULL: no memory. Freed by free(). */
void *weft_boot_keep(void);
/* Puts kept ones in place; NULL: those from before any application has booted. */
void weft_boot_place(const void *kept);

#endif
