/* Layouts of globals that weft does not use, so that the walk sees their fields; each is copied from the source that it names.
 * The names are ours. The layouts that weft uses are in crates/zend/c/php/layouts.h. */
typedef struct { bool key_initialized; unsigned char key[16]; } reflection_globals; /* ext/reflection/php_reflection.h */
typedef struct { void *default_encoding; } xml_globals;               /* ext/xml/xml.c */
#if PHP_VERSION_ID >= 80400
typedef struct { zend_long links[2]; bool new_context; } ldap_globals; /* ext/ldap/php_ldap.h */
typedef struct { bool suppress_warnings; } dom_globals;               /* ext/dom/php_dom.h */
#define STRUCTURES_SINCE_8_4(OF) OF("dom", dom_globals)
#else
typedef struct { zend_long links[2]; } ldap_globals;                  /* ext/ldap/php_ldap.h */
#define STRUCTURES_SINCE_8_4(OF)
#endif
typedef struct { char *encodings[6]; HashTable *tag_table_cache; } exif_globals; /* ext/exif/exif.c */
/* ext/bcmath/php_bcmath.h */
typedef struct {
	void *zero, *one, *two;
	int precision;
#if PHP_VERSION_ID >= 80400
	char *arena;
	size_t arena_offset;
#endif
} bcmath_globals;
typedef struct { char *default_socket; } pdo_mysql_globals;           /* ext/pdo_mysql/php_pdo_mysql_int.h */
typedef struct { char *extension_dir; int defensive; } sqlite3_globals; /* ext/sqlite3/php_sqlite3.h */
typedef struct { char *input_encoding, *internal_encoding, *output_encoding; } iconv_globals; /* ext/iconv/php_iconv.h */
typedef struct { zend_resource *default_dir; } php_dir_globals;       /* ext/standard/dir.c */
typedef struct { zval callback; char *cb; bool active, bail, warning, exception; } php_assert_globals; /* ext/standard/assert.c */
typedef struct { void *activation_bdata; } php_browscap_globals;      /* ext/standard/browscap.c, a structure of its own */

/* ext/ffi/php_ffi.h */
typedef struct {
	int restriction;
	bool is_cli;
	HashTable types;
	char *preload;
	HashTable *scopes, *callbacks, *weak_types;
	JMP_BUF bailout;
	unsigned const char *buffer, *end, *position, *text;
	int line;
	HashTable *symbols, *tags;
	bool allow_vla, attribute_parsing, persistent;
	uint32_t default_attributes;
} ffi_globals;

/* ext/phar/phar_internal.h */
#if PHP_VERSION_ID >= 80400
typedef bool phar_flag;
#else
typedef int phar_flag;
#endif
typedef struct {
	HashTable persistent, archives;
	void *cached_files;
	HashTable aliases;
	int server_variables;
#if PHP_VERSION_ID >= 80400
	char *cache_list;
	bool readonly;
#else
	int readonly;
	char *cache_list;
#endif
	phar_flag manifest_cached, persist, has_compression[2];
	bool readonly_setting, require_hash_setting, intercepted;
	phar_flag request_init, require_hash, request_done, request_ends;
	zif_handler stock[22];
	char *cwd;
	uint32_t cwd_length;
	phar_flag cwd_init;
	char *private_key;
	uint32_t private_key_length;
	char *last_name;
	uint32_t last_name_length;
	char *last_alias;
	uint32_t last_alias_length;
	void *last;
	HashTable mime_types;
} phar_globals;
