/* The base of the C side: PHP's headers, and the types that Rust and C pass to each other.
 *
 * Zend is called only from C. Its errors leave by longjmp (bailout), which must never cross a Rust frame that owns
 * something. So Rust functions that are called from here return plain values, and Zend is never called from inside
 * them except to switch contexts. Differences between PHP versions are handled in C and nowhere else.
 *
 * Must not know any module. Each module has its own header, and a file includes those of the modules that it uses. */
#ifndef WEFT_H
#define WEFT_H

#include "php.h"
#ifdef ZTS
#error "weft needs a PHP without thread safety: configure it without --enable-zts, or name another with PHP_CONFIG"
#endif
#include "php_main.h"
#include "php_output.h"
#include "php_variables.h"
#include "SAPI.h"
#include "zend_exceptions.h"
#include "zend_fibers.h"
#include "zend_smart_str.h"
#include "ext/json/php_json.h"
#include "ext/standard/basic_functions.h"
#include "ext/standard/file.h"

#include "weft_abi.h" /* made from src/abi.rs: the numbers that Rust and C share */

#include <stdbool.h>
#include <stdint.h>

/* What other versions of PHP do not have is weak: their library can be loaded, and weft can say that it is another version's
 * (php/loaded.c). Where a name is strong, the loader ends the command with a line of its own. */
#pragma weak smart_str_ferealloc         /* until 8.4 */
#pragma weak empty_fcall_info_cache      /* until 8.4; a variable */
#pragma weak zend_fiber_stack_base       /* since 8.3 */
#pragma weak zend_fiber_stack_limit      /* since 8.3 */
#if PHP_VERSION_ID < 80600
#pragma weak zend_call_known_function    /* until 8.5; then it is inline */
#endif
#pragma weak _php_stream_cast            /* until 8.5, and the next three */
#pragma weak _php_stream_free
#pragma weak jump_fcontext
#pragma weak make_fcontext
#pragma weak zend_call_known_function_ex /* since 8.6, and the next three */
#pragma weak php_stream_cast
#pragma weak php_stream_free
#pragma weak php_stream_error_state_cleanup

typedef struct weft_coroutine weft_coroutine; /* coroutine.h */

/* Bytes owned by Rust: valid until the next call into the host or the next park. Copy them at once. bytes is
 * NULL if there are none. */
typedef struct {
	const char *bytes;
	size_t length;
} weft_slice;

typedef struct {
	weft_slice name;
	weft_slice value;
} weft_header;

static inline weft_slice weft_slice_of(const zend_string *string)
{
	weft_slice slice = {ZSTR_VAL(string), ZSTR_LEN(string)};
	return slice;
}

static inline weft_slice weft_slice_text(const char *text)
{
	weft_slice slice = {text, strlen(text)};
	return slice;
}

/* Whether it is this text, without regard to case: so are names of fields compared (RFC 9110 section 5.1). */
static inline bool weft_slice_is(weft_slice slice, const char *text)
{
	size_t length = strlen(text);
	return slice.length == length && zend_binary_strcasecmp(slice.bytes, length, text, length) == 0;
}

#endif
