/* The place in PHP code where a worker is stuck, in a C function or in a loop, read by a signal handler; or where a
 * coroutine waits.
 *
 * Invariant: nothing is allocated, locked or changed. A frame that is being created at this moment may be read half
 * complete: the caller has given up on the process and ends it soon. The frames of a coroutine that is parked lie in
 * memory of its own, which stays where it is while others run. */
#include "code_location.h"
#include "coroutine.h"
#include "weft.h"

static size_t location_of(const zend_execute_data *frame, char *text, size_t size)
{
	const zend_function *called = NULL;
	/* The C functions on top: the innermost is the one that runs; the PHP code below gives the line. */
	for (; frame && (!frame->func || !ZEND_USER_CODE(frame->func->type)); frame = frame->prev_execute_data) {
		if (!called && frame->func && frame->func->common.function_name) {
			called = frame->func;
		}
	}
	if (!frame || !frame->opline || !frame->func->op_array.filename) {
		return 0;
	}
	if (!called && frame->func->common.function_name) {
		called = frame->func;
	}
	const zend_class_entry *scope = called ? called->common.scope : NULL;
	int length = snprintf(text, size, "%s%s%s%s at %s:%u", scope ? ZSTR_VAL(scope->name) : "", scope ? "::" : "",
		called ? ZSTR_VAL(called->common.function_name) : "{main}", called ? "()" : "",
		ZSTR_VAL(frame->func->op_array.filename), frame->opline->lineno);
	return length < 0 ? 0 : (size_t) length < size ? (size_t) length : size - 1;
}

size_t weft_code_location(char *text, size_t size)
{
	return location_of(EG(current_execute_data), text, size);
}

size_t weft_code_function(char *text, size_t size)
{
	const int argument_max = 16; /* a scheme */
	const zend_execute_data *frame = EG(current_execute_data);
	if (!frame || !frame->func || ZEND_USER_CODE(frame->func->type) || !frame->func->common.function_name) {
		return 0;
	}
	const zend_class_entry *scope = frame->func->common.scope;
	const zval *first = ZEND_CALL_NUM_ARGS(frame) ? ZEND_CALL_ARG(frame, 1) : NULL;
	bool has_text = first && Z_TYPE_P(first) == IS_STRING;
	int length = snprintf(text, size, "%s%s%s %.*s", scope ? ZSTR_VAL(scope->name) : "", scope ? "::" : "",
		ZSTR_VAL(frame->func->common.function_name), argument_max, has_text ? Z_STRVAL_P(first) : "");
	return length < 0 ? 0 : (size_t) length < size ? (size_t) length : size - 1;
}

static const zend_execute_data *caller_of(const zend_execute_data *frame, int *steps_left)
{
	while (frame && (*steps_left)-- > 0) {
		frame = frame->prev_execute_data;
		if (frame && frame->func && ZEND_USER_CODE(frame->func->type) && frame->opline && frame->func->op_array.filename) {
			return frame;
		}
	}
	return NULL;
}

static size_t trace_of(const zend_execute_data *frame, char *text, size_t size)
{
	const int shown_max = 8;
	int steps_left = 1000; /* damaged frames may form a ring */
	size_t length = location_of(frame, text, size);
	if (!length) {
		return 0;
	}
	while (frame && (!frame->func || !ZEND_USER_CODE(frame->func->type)) && steps_left-- > 0) {
		frame = frame->prev_execute_data;
	}
	for (int shown = 0; shown < shown_max && (frame = caller_of(frame, &steps_left)); shown++) {
		int more = snprintf(text + length, size - length, "%s %s:%u", shown ? "," : ", called at",
			ZSTR_VAL(frame->func->op_array.filename), frame->opline->lineno);
		if (more < 0 || (size_t) more >= size - length) {
			break;
		}
		length += (size_t) more;
	}
	return length;
}

size_t weft_code_trace(char *text, size_t size)
{
	return trace_of(EG(current_execute_data), text, size);
}

size_t weft_code_waiting(const weft_coroutine *coroutine, char *text, size_t size)
{
	return coroutine->frame ? trace_of(coroutine->frame, text, size) : 0;
}
