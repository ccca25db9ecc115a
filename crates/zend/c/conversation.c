/* Whether the current wait is in the middle of a conversation with a server, which cannot be continued if the wait is
 * cut short.
 *
 * Must not know which coroutine waits, or why the wait ends. */
#include "conversation.h"
#include "clients.h"
#include "persistent.h"

#include <ext/standard/file.h>

/* Functions of these modules wait for connections on which PHP code itself communicates: it knows what it has
 * read. */
static const char *const plain_modules[] = {"standard", "sockets", "curl", "SPL", "pcntl", "weft"};

/* Whether the current wait is in the middle of a protocol: in a client's function or, if PHP code runs, in its
 * iterator or destructor. */
bool weft_in_conversation(void)
{
	zend_execute_data *frame = EG(current_execute_data);
	const zend_function *function = frame ? frame->func : NULL;
	if (!function || function->type != ZEND_INTERNAL_FUNCTION || !function->internal_function.module) {
		return true;
	}
	for (size_t i = 0; i < sizeof(plain_modules) / sizeof(*plain_modules); i++) {
		if (!strcmp(function->internal_function.module->name, plain_modules[i])) {
			return false;
		}
	}
	if (!strcmp(function->internal_function.module->name, "odbc")) {
		zval *link = ZEND_CALL_NUM_ARGS(frame) > 0 ? ZEND_CALL_ARG(frame, 1) : NULL;
		weft_persistent_spoil(link ? weft_odbc_connection_of(link) : NULL);
	}
	return true;
}

bool weft_asks_for_status(void)
{
	return FG(pclose_wait);
}
