/* System calls that a helper process of Weft\Process needs and for which PHP has no function. */
#include "weft.h"
#include "schedule.h"
#include "weft_arginfo.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

ZEND_FUNCTION(Weft_Internal_end_with_parent)
{
	zend_long parent;
	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(parent)
	ZEND_PARSE_PARAMETERS_END();
	if (weft_host_self() != 0) { /* a worker would end itself, and every request in it */
		zend_throw_error(NULL, "Weft\\Internal\\end_with_parent() is for a forked child");
		RETURN_THROWS();
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != (pid_t) parent) {
		kill(getpid(), SIGKILL); /* the parent was gone before the signal was requested */
	}
}
