/* The part of PHP's globals that a coroutine owns: the table, and the structure it defines.
 *
 * Each row is a field name and the global that it keeps. All of it is exchanged when the coroutine parks and when it
 * resumes (isolate.c); about 900 bytes. Rows that differ by version of PHP are in php/owned.h. For every other global,
 * docs/internals/globals.md has a verdict that states its owner. */
#ifndef WEFT_OWNED_H
#define WEFT_OWNED_H

#include "weft.h"
#include "php/owned.h"

#define WEFT_OWNED(OWN)                                                                                               \
	OWN(output, output_globals)                                                                                       \
	OWN(error_handling, EG(error_handling))                                                                           \
	OWN(exception_class, EG(exception_class))                                                                         \
	OWN(ticks, EG(ticks_count))                                                                                      \
	OWN(linking_class, CG(current_linking_class))                                                                    \
	OWN(classes_to_load, CG(delayed_autoloads))                                                                      \
	OWN(recording_errors, EG(record_errors))                                                                         \
	OWN(file_override, EG(filename_override))                                                                         \
	OWN(line_override, EG(lineno_override))                                                                           \
	OWN(fake_scope, EG(fake_scope))                                                                                   \
	OWN(exit_status, EG(exit_status))                                                                                 \
	OWN(error_handler, EG(user_error_handler))                                                                        \
	OWN(error_handler_mask, EG(user_error_handler_error_reporting))                                                   \
	OWN(error_handlers, EG(user_error_handlers))                                                                      \
	OWN(error_handler_masks, EG(user_error_handlers_error_reporting))                                                 \
	OWN(exception_handler, EG(user_exception_handler))                                                                \
	OWN(exception_handlers, EG(user_exception_handlers))                                                              \
	OWN(last_error_message, PG(last_error_message))                                                                   \
	OWN(last_error_file, PG(last_error_file))                                                                         \
	OWN(last_error_type, PG(last_error_type))                                                                         \
	OWN(last_error_line, PG(last_error_lineno))                                                                       \
	OWN(connection_status, PG(connection_status))                                                                     \
	OWN(http_globals, PG(http_globals))                                                                               \
	OWN(sending_header, PG(header_is_being_sent))                                                                     \
	OWN(logging_error, PG(in_error_log))                                                                              \
	OWN(including_by_user, PG(in_user_include))                                                                       \
	OWN(opening_by_user, FG(user_stream_current_filename))                                                            \
	OWN(closing_pipe, FG(pclose_wait))                                                                                \
	OWN(closed_pipe, FG(pclose_ret))                                                                                  \
	OWN(ini_changes, EG(modified_ini_directives))                                                                     \
	OWN(headers, SG(sapi_headers))                                                                                    \
	OWN(headers_sent, SG(headers_sent))                                                                               \
	OWN(request_info, SG(request_info))                                                                               \
	OWN(protected_variables, PG(rfc1867_protected_variables))                                                         \
	OWN(uploaded_files, SG(rfc1867_uploaded_files))                                                                   \
	OWN(post_bytes, SG(read_post_bytes))                                                                              \
	OWN(post_read, SG(post_read))                                                                                     \
	OWN(shutdown_functions, BG(user_shutdown_function_names))                                                         \
	OWN(serialize_lock, BG(serialize_lock))                                                                           \
	OWN(serialize, BG(serialize))                                                                                     \
	OWN(unserialize, BG(unserialize))                                                                                 \
	OWN(compare_function, BG(user_compare_fci))                                                                       \
	OWN(compare_function_cache, BG(user_compare_fci_cache))                                                           \
	OWN(strtok_string, BG(strtok_string))                                                                             \
	OWN(strtok_last, BG(strtok_last))                                                                                 \
	OWN(strtok_length, BG(strtok_len))

typedef struct {
#define WEFT_OWNED_FIELD(field, global) __typeof__(global) field;
	WEFT_OWNED(WEFT_OWNED_FIELD)
	WEFT_OWNED_BY_VERSION(WEFT_OWNED_FIELD)
#undef WEFT_OWNED_FIELD
} weft_owned;

#endif
