/* The rows of WEFT_OWNED that differ by version of PHP: fields that were added, renamed or became structures.
 *
 * Must not know when they are exchanged (../owned.h, ../isolate.c). */
#ifndef WEFT_PHP_OWNED_H
#define WEFT_PHP_OWNED_H

#include "../weft.h"

#if PHP_VERSION_ID >= 80600
#define WEFT_OWNED_RENAMED(OWN)                                                                                       \
	OWN(recorded_errors, EG(errors))                                                                                  \
	OWN(in_autoload, EG(autoload_current_classnames))                                                                 \
	OWN(wrapper_errors, FG(wrapper_logged_errors))                                                                    \
	OWN(stream_errors, FG(stream_error_state))                                                                        \
	OWN(json_error, JSON_G(error_details))
#else
#define WEFT_OWNED_RENAMED(OWN)                                                                                       \
	OWN(previous_exception, EG(prev_exception))                                                                       \
	OWN(recorded_count, EG(num_errors))                                                                               \
	OWN(recorded_errors, EG(errors))                                                                                  \
	OWN(in_autoload, EG(in_autoload))                                                                                 \
	OWN(wrapper_errors, FG(wrapper_errors))                                                                           \
	OWN(json_error, JSON_G(error_code))
#endif

#if PHP_VERSION_ID >= 80400
#define WEFT_OWNED_SINCE_8_4(OWN)                                                                                     \
	OWN(response_headers, BG(last_http_headers))                                                                      \
	OWN(parsing_body, SG(request_parse_body_context))
#else
#define WEFT_OWNED_SINCE_8_4(OWN)
#endif

#if PHP_VERSION_ID >= 80500
#define WEFT_OWNED_SINCE_8_5(OWN)                                                                                     \
	OWN(backtrace_of_fatal_error, EG(last_fatal_error_backtrace))
#else
#define WEFT_OWNED_SINCE_8_5(OWN)
#endif

#define WEFT_OWNED_BY_VERSION(OWN) WEFT_OWNED_RENAMED(OWN) WEFT_OWNED_SINCE_8_4(OWN) WEFT_OWNED_SINCE_8_5(OWN)

#endif
