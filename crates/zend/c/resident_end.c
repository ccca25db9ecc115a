/* The end of the scripts of resident mode, with their worker: in this process's PHP, or each in its own instance. */
#include "classic_state.h"
#include "native.h"
#include "resident.h"
#include "instance/instance.h"

/* The worker ends: each script's frankenphp_handle_request() returns false, and the script runs to its end. Called
 * when the scheduler has returned. */
void weft_resident_end(void)
{
	for (weft_resident *resident = weft_residents, *next; resident; resident = next) {
		next = resident->next;
		if (weft_classic_of(resident->coroutine)) {
			continue; /* it did not end in time */
		}
		weft_instance *instance = weft_instance_of(resident->coroutine);
		if (instance) {
			weft_instance_enter(instance, true, WEFT_JOB_END, 0);
		} else {
			weft_native_enter(resident->coroutine, true, WEFT_JOB_END, 0);
		}
	}
}
