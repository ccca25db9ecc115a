/* Weft\Coroutine::parkOn(): waiting for streams and for a wake at the same time. PHP's stream_select() supports
 * neither a wake nor descriptors above FD_SETSIZE.
 *
 * It must not know which code waits with it. Invariant: a stream whose data PHP has already read counts as ready. */
#include "schedule.h"
#include "wait.h"
#include "php_network.h"

#include <poll.h>

/* Adds the streams of an array. false: an element is not a stream, and an exception says so. */
static bool add(HashTable *streams, short events, struct pollfd *fds, size_t *count, bool *buffered)
{
	zval *value;
	ZEND_HASH_FOREACH_VAL(streams, value) {
		php_stream *stream;
		php_socket_t fd;
		ZVAL_DEREF(value);
		php_stream_from_zval_no_verify(stream, value);
		if (!stream || php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void *) &fd, 0) != SUCCESS) {
			zend_throw_error(NULL, "A stream that is waited for is closed, or cannot be waited for: cancel what waits for it "
				"before it is closed");
			return false;
		}
		bool has_data = (events & POLLIN) && stream->writepos > stream->readpos;
		*buffered |= has_data;
		fds[*count] = (struct pollfd) {.fd = fd, .events = events, .revents = has_data ? POLLIN : 0};
		++*count;
	} ZEND_HASH_FOREACH_END();
	return true;
}

/* The keys of the streams that are ready. */
static void ready_keys(zval *result, HashTable *streams, const struct pollfd *fds)
{
	zend_string *key;
	zend_ulong index;
	array_init(result);
	ZEND_HASH_FOREACH_KEY(streams, index, key) {
		if (!(fds++)->revents) {
			continue;
		}
		zval ready;
		if (key) {
			ZVAL_STR_COPY(&ready, key);
		} else {
			ZVAL_LONG(&ready, (zend_long) index);
		}
		zend_hash_next_index_insert(Z_ARRVAL_P(result), &ready);
	} ZEND_HASH_FOREACH_END();
}

ZEND_METHOD(Weft_Coroutine, parkOn)
{
	zend_long wait;
	HashTable *read, *write;
	double seconds = 0;
	bool for_ever = true, buffered = false;
	ZEND_PARSE_PARAMETERS_START(3, 4)
		Z_PARAM_LONG(wait)
		Z_PARAM_ARRAY_HT(read)
		Z_PARAM_ARRAY_HT(write)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, for_ever)
	ZEND_PARSE_PARAMETERS_END();
	size_t count = 0;
	struct pollfd *fds = safe_emalloc(zend_hash_num_elements(read) + zend_hash_num_elements(write) + 1, sizeof(*fds), 0);
	if (!add(read, POLLIN, fds, &count, &buffered) || !add(write, POLLOUT, fds, &count, &buffered)) {
		efree(fds);
		RETURN_THROWS();
	}
	weft_wait_end end;
	if (buffered) { /* the kernel does not know about it */
		weft_host_wake((uint64_t) wait);
		end = weft_wait_opened((uint64_t) wait, NULL, 0, WEFT_NEVER);
	} else {
		end = weft_wait_opened((uint64_t) wait, fds, count, weft_wait_deadline(seconds, for_ever));
	}
	if (end != WEFT_WOKEN && end != WEFT_TIMED_OUT) {
		efree(fds);
		RETURN_THROWS();
	}
	zval keys;
	array_init_size(return_value, 2);
	ready_keys(&keys, read, fds);
	zend_hash_next_index_insert(Z_ARRVAL_P(return_value), &keys);
	ready_keys(&keys, write, fds + zend_hash_num_elements(read));
	zend_hash_next_index_insert(Z_ARRVAL_P(return_value), &keys);
	efree(fds);
}
