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
	void *kept;  /* those of the script that stays loaded in it; NULL: it has none, and finds them as before any boot */
	bool change; /* the script boots or ends, so that they change: they are saved whenever the coroutine leaves */
} weft_boot;

WEFT_SLOT(boot, weft_boot)

/* A script that stays loaded has been in this process: its variables may be in place. */
extern bool weft_boots;

/* The coroutine, which runs, begins to boot a script. false: no memory. */
bool weft_boot_begin(weft_coroutine *coroutine);
/* The script has booted: from here on its variables stay as they are. */
void weft_boot_keep(weft_coroutine *coroutine);
/* What they refer to is freed, and they change again. */
void weft_boot_change(weft_coroutine *coroutine);
/* The coroutine is entered: its variables are loaded. */
void weft_boot_enter(const weft_coroutine *coroutine);
/* It leaves: another script may boot before it goes on. */
void weft_boot_leave(const weft_coroutine *coroutine);
/* Its script has ended. */
void weft_boot_end(weft_coroutine *coroutine);

#endif
