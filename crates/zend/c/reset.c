/* PHP after a bailout: restores a state from which PHP can continue.
 *
 * A bailout leaves by longjmp. The frames that it skips are gone in the middle of their work, in PHP and in weft's
 * modules. Invariant: what the coroutine owns stays its own; it is freed at its end (isolate.c). */
#include "reset.h"
#include "coroutine.h"
#include "guard.h"
#include "outcome.h"
#include "persistent.h"
#include "php/version.h"
#include "wait.h"

void weft_reset(void)
{
	EG(error_handling) = EH_NORMAL;
	EG(exception_class) = NULL;
	if (weft_loading()) {
		zend_hash_clean(weft_loading()); /* its own: nothing is being loaded any more */
	}
	if (CG(delayed_autoloads)) { /* nor linked */
		zend_hash_destroy(CG(delayed_autoloads));
		FREE_HASHTABLE(CG(delayed_autoloads));
		CG(delayed_autoloads) = NULL;
	}
	CG(current_linking_class) = NULL;
	EG(record_errors) = false;
	zend_free_recorded_errors();
	EG(fake_scope) = NULL;
	BG(serialize_lock) = 0;
	memset(&BG(serialize), 0, sizeof(BG(serialize)));
	memset(&BG(unserialize), 0, sizeof(BG(unserialize)));
	memset(&BG(user_compare_fci), 0, sizeof(BG(user_compare_fci)));
	memset(&BG(user_compare_fci_cache), 0, sizeof(BG(user_compare_fci_cache)));
	CG(unclean_shutdown) = 0;
	weft_wait_reset(weft_current);
	weft_exchanging = false;
	weft_persistent_reset(weft_current);
	weft_guard_reset(weft_current);
	while (zend_fiber_switch_blocked()) { /* the destructor that blocked it is gone */
		zend_fiber_switch_unblock();
	}
	weft_take_out_of_memory();
}
