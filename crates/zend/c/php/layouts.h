/* The layouts of extensions' globals.
 *
 * libxml, mbstring and mysqli install a header for theirs. The others are written out here, each after the source it names, and with
 * names of ours; docs/internals/globals.md has a verdict for each field. A layout is used only where the loaded module
 * confirms it (extension_globals.c). Must not know: what is done with them (extension_rows.c). */
#ifndef WEFT_LAYOUTS_H
#define WEFT_LAYOUTS_H

#include "../weft.h"

/* Debian builds mbstring apart from PHP, whose configuration therefore does not mention mbregex; the size tells if it is there. */
#ifndef HAVE_MBREGEX
#define HAVE_MBREGEX 1
#endif
#include "ext/libxml/php_libxml.h"

/* PHP from source installs an extension's header only if it builds the extension. One that was built later has another size than
 * these, and so is unknown. */
#if __has_include("ext/mbstring/mbstring.h")
#include "ext/mbstring/mbstring.h"
#else
typedef struct {
	void *current_internal_encoding, *current_http_output_encoding, *current_detect_order_list;
	size_t current_detect_order_list_size, illegalchars;
	int current_filter_illegal_mode, current_filter_illegal_substchar;
	zend_long strict_detection, regex_stack_limit, regex_retry_limit;
	void *mb_regex_globals;
} zend_mbstring_globals;
#endif
#if __has_include("ext/mysqli/php_mysqli_structs.h")
#include "ext/mysqli/php_mysqli_structs.h"
#else
typedef struct {
	zend_long error_no;
	char *error_msg;
	zend_long report_mode, max_links, allow_local_infile, rollback_on_cached_plink;
} zend_mysqli_globals;
#endif

/* ext/intl/php_intl.h, intl_error.h */
typedef struct {
	void *collator;
	char *default_locale;
	void *compare, *grapheme_iterator;
	struct {
#if PHP_VERSION_ID >= 80500
		zend_string *message;
		int code;
#else
		int code;
		int message_is_ours;
		char *message;
#endif
	} error;
	zend_long error_level;
	bool use_exceptions;
} intl_globals;

/* ext/zlib/php_zlib.h */
typedef struct {
	zend_long compression, compression_level;
	char *output_handler;
	void *ob_gzhandler;
	zend_long compression_default;
	bool handler_registered;
	int coding;
} zlib_globals;

/* ext/soap/php_soap.h; the tables of encodings are elsewhere since 8.5. */
typedef struct {
#if PHP_VERSION_ID < 80500
	HashTable encodings[3];
#endif
	HashTable *typemap;
	int unique_namespace;
	int version;
	void *sdl;
#if PHP_VERSION_ID < 80400
	bool use_error_handler;
#endif
	char *error_code;
	zval error_object;
#if PHP_VERSION_ID < 80400
	char cache;
#else
	bool use_error_handler;
#endif
	char cache_mode, cache_enabled;
	char *cache_dir;
	zend_long cache_ttl, cache_limit;
	HashTable *cached;
	void *encoding;
	HashTable *class_map;
	int features;
	HashTable wsdl_cache;
	int unique_reference;
	HashTable *references;
} soap_globals;

/* ext/pcntl/php_pcntl.h */
typedef struct {
	HashTable handlers;
#if PHP_VERSION_ID >= 80500
	bool processing;
	volatile bool pending;
	bool asynchronous;
	uint16_t signals;
	int last_error;
	void *queue[3];
#else
	int processing;
	void *queue[3];
	int last_error;
	volatile char pending;
	bool asynchronous;
	unsigned signals;
#endif
} pcntl_globals;

/* ext/openssl/php_openssl.h, php_openssl_backend.h */
typedef struct {
	void *errors;
#if PHP_VERSION_ID >= 80300
	void *errors_mark;
#endif
#if PHP_VERSION_ID >= 80500
	void *context[4];
#endif
} openssl_globals;

/* ext/mbstring/php_mbregex.c: what mbstring's globals point to. */
typedef struct {
	void *default_encoding, *encoding, *encoding_for_mbstring;
	HashTable compiled;
	zval searched;
	zval *searched_value;
	size_t search_position;
	void *search_pattern;
	void *search_result;
	unsigned options;
	void *syntax;
} mb_regex_globals;

/* ext/odbc/php_odbc_includes.h */
typedef struct {
#if PHP_VERSION_ID < 80400
	char *defaults[3];
#endif
	bool allow_persistent, check_persistent;
	zend_long max_persistent, max_links, num_persistent, num_links;
#if PHP_VERSION_ID < 80500
	int default_connection;
#endif
	zend_long default_lrl, default_binmode, default_cursor_type;
	char last_state[6];
	char last_error[512]; /* SQL_MAX_MESSAGE_LENGTH */
#if PHP_VERSION_ID < 80400
	HashTable *connections, *persistent_connections;
#else
	HashTable connections;
#endif
} odbc_globals;

/* ext/snmp/php_snmp.h */
typedef struct {
	int valueretrieval;
} snmp_globals;

/* ext/gmp/php_gmp.h, and gmp_randstate_t of gmp.h */
typedef struct {
	bool initialized;
	struct {
		struct {
			int allocated, size;
			void *digits;
		} seed;
		int algorithm;
		void *state;
	} random;
} gmp_globals;

/* amqp's php_amqp.h, up to 1.11 and since 2.0 */
typedef struct {
	char *error_message;
	zend_long error_code;
} amqp_globals;

typedef struct {
	amqp_globals error;
	zend_long deserialization_depth, serialization_depth;
} amqp2_globals;

/* ext/sockets/php_sockets.h */
typedef struct {
	int last_error;
	char *text;
} sockets_globals;

/* ext/posix/php_posix.h */
typedef struct {
	int last_error;
} posix_globals;

/* ext/pgsql/php_pgsql.h */
typedef struct {
	zend_long links, persistent_links, links_max, persistent_links_max;
#if PHP_VERSION_ID >= 80500
	zend_long auto_reset_persistent;
	zend_object *default_link;
	zend_string *patterns[11];
	bool allow_persistent, ignore_notices, log_notices;
#else
	bool allow_persistent;
	int ignore_notices;
	zend_long auto_reset_persistent;
	int log_notices;
	zend_object *default_link;
#if PHP_VERSION_ID >= 80400
	zend_string *patterns[11];
#endif
#endif
	HashTable field_oids;
	HashTable table_oids;
	HashTable connections;     /* those of pg_connect(), which it finds again by their name */
} pgsql_globals;

#if PHP_VERSION_ID < 80400
/* Before 8.2.15 and 8.3.2 some settings were elsewhere, and all that is used in the same places. */
typedef struct {
	zend_long links, persistent_links, links_max, persistent_links_max;
	zend_long allow_persistent, auto_reset_persistent;
	int ignore_notices, log_notices;
	zend_object *default_link;
	HashTable field_oids;
	HashTable table_oids;
	HashTable connections;
} first_pgsql_globals;

_Static_assert(sizeof(first_pgsql_globals) == sizeof(pgsql_globals)
		&& offsetof(first_pgsql_globals, default_link) == offsetof(pgsql_globals, default_link)
		&& offsetof(first_pgsql_globals, connections) == offsetof(pgsql_globals, connections),
	"one structure stands for both");
#endif

#endif
