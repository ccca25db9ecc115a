/* Variables that record the state in which the booted application left PHP: each request starts from it, and its end
 * returns to it.
 *
 * In coroutine mode there is one application in a process. In resident mode there is one for each loaded script:
 * boot.c keeps these variables for each and loads those of the running script. So every variable that records
 * something of the boot MUST be declared WEFT_BOOT, or the scripts of a worker share it. */
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

/* A script that stays loaded has been in this process: what its boot has left may be in place. */
extern bool weft_boots;

/* Saves their current values. NULL: no memory. Freed by free(). */
void *weft_boot_keep(void);
/* Loads saved values; NULL: those from before any application has booted. */
void weft_boot_place(const void *kept);

#endif
