/* The layouts of extensions' globals that no installed header defines, each after the source it names.
 *
 * The names are ours. A layout is used if a module reports globals of exactly its size; docs/internals/globals.md has
 * a verdict for each field. Must not know how they are used (extension_rows.c). */
#ifndef WEFT_LAYOUTS_H
#define WEFT_LAYOUTS_H

#include "weft.h"

/* ext/libxml/php_libxml.h */
typedef struct {
	zval stream_context;
	smart_str error_buffer;
	zend_llist *error_list;
	zval entity_loader;
	zend_fcall_info entity_loader_call;
	zend_fcall_info_cache entity_loader_cache;
	bool entity_loader_disabled;
} libxml_globals;

/* ext/intl/php_intl.h, intl_error.h */
typedef struct {
	void *collator;
	char *default_locale;
	void *compare, *grapheme_iterator;
	int error;
	int message_is_ours;
	char *message;
	zend_long error_level;
	bool use_exceptions;
} intl_globals;

/* ext/mysqli/php_mysqli_structs.h */
typedef struct {
	zend_long links[5];
	bool allow_persistent;
	zend_ulong default_port;
	char *defaults[4];
	bool allow_local_infile;
	char *local_infile_directory;
	zend_long error;
	char *error_message;
	zend_long report_mode;
	bool rollback_on_cached_plink;
} mysqli_globals;

/* ext/zlib/php_zlib.h */
typedef struct {
	zend_long compression, compression_level;
	char *output_handler;
	void *ob_gzhandler;
	zend_long compression_default;
	bool handler_registered;
	int coding;
} zlib_globals;

/* ext/soap/php_soap.h */
typedef struct {
	HashTable encodings[3];
	HashTable *typemap;
	int unique_namespace;
	int version;
	void *sdl;
	bool use_error_handler;
	char *error_code;
	zval error_object;
	char cache, cache_mode, cache_enabled;
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
	int processing;
	void *queue[3];
	int last_error;
	volatile char pending;
	bool asynchronous;
	unsigned signals;
} pcntl_globals;

/* ext/mbstring/php_mbregex.c */
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

/* ext/mbstring/mbstring.h */
typedef struct {
	char *internal_encoding_name;
	void *internal_encoding_setting, *internal_encoding;
	void *http_output, *current_http_output;
	void *identify[5], *input_list;
	size_t input_list_size;
	void *detect_order;
	size_t detect_order_size;
	void *current_detect_order;
	size_t current_detect_order_size;
	void *default_detect_order;
	size_t default_detect_order_size;
	int illegal_mode, illegal_character;
	int current_illegal_mode, current_illegal_character;
	int language;
	bool encoding_translation, strict_detection;
	size_t illegal_characters;
	void *output_converter, *output_types;
	mb_regex_globals *regex;
	zend_long regex_stack_limit;
	zend_string *last_encoding_name;
	void *last_encoding;
	bool internal_encoding_set, http_output_set, http_input_set;
	zend_long regex_retry_limit;
} mbstring_globals;

/* ext/odbc/php_odbc_includes.h */
typedef struct {
	char *defaults[3];
	bool allow_persistent, check_persistent;
	zend_long max_persistent, max_links, num_persistent, num_links;
	int default_connection;
	zend_long default_lrl, default_binmode, default_cursor_type;
	char last_state[6];
	char last_error[512]; /* SQL_MAX_MESSAGE_LENGTH */
	HashTable *connections, *persistent_connections;
} odbc_globals;

/* amqp's php_amqp.h */
typedef struct {
	char *error_message;
	zend_long error_code;
} amqp_globals;

/* ext/sockets/php_sockets.h */
typedef struct {
	int last_error;
	char *text;
} sockets_globals;

#endif
