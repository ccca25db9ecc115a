/* {main} of a script, as its tasks see it: what they do to it, and how it waits for them.
 *
 * Must not know what a task is. */
#include "script_main.h"
#include "coroutine.h"
#include "isolate.h"
#include "schedule.h"

static uint64_t end_wait; /* {main} has ended, and waits for its tasks */

weft_wait_end weft_main_wait(void)
{
	end_wait = weft_host_wait_begin();
	weft_wait_end end = weft_host_wait(end_wait, WEFT_NEVER);
	end_wait = 0;
	return end;
}

void weft_main_wake(void)
{
	if (end_wait) {
		weft_host_wake(end_wait);
	}
}

/* The exit status, in whatever state {main} is. */
static int *main_status(void)
{
	return weft_current == weft_main ? &EG(exit_status) : weft_isolate_exit_status(weft_main);
}

void weft_main_failed(void)
{
	if (weft_main && *main_status() == 0) {
		*main_status() = 255;
	}
}

/* exit() in a task: {main}'s wait ends as if it had called exit() itself. In a server it ends only the task. */
void weft_main_exit(int with)
{
	if (weft_main) {
		*main_status() = with;
		weft_host_cancel(weft_main->id);
	}
}
