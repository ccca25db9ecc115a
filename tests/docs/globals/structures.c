/* Every structure of globals, for its debug information; as a program, it prints which loaded modules have globals, and their sizes.
 *
 * STRUCTURES names the module to which a structure of globals belongs; "" if PHP has a separate name for them. */
#include "php/layouts.h"      /* weft's own; it includes PHP's headers */
#include "zend_language_scanner.h"
#include "zend_ini_scanner.h"
#include "ext/standard/php_array.h"
#include "ext/pcre/php_pcre.h"
#include "ext/date/php_date.h"
#include "ext/random/php_random.h"
#include "ext/session/php_session.h"
#include "ext/filter/php_filter.h"
#include "ext/mysqlnd/mysqlnd.h"
#if __has_include("ext/apcu/apc_globals.h")
#define APC_MMAP 1 /* as Debian builds it */
#include "ext/apcu/apc_globals.h"
#include "ext/igbinary/src/php7/php_igbinary.h"
#include "ext/msgpack/php_msgpack.h"
#define STRUCTURES_OF_PECL(OF) OF("", zend_apcu_globals) OF("", zend_igbinary_globals) OF("", zend_msgpack_globals)
#else /* no package has them for this version of PHP */
#define STRUCTURES_OF_PECL(OF)
#endif
#include "sapi/embed/php_embed.h"
#include "others.h"

#define STRUCTURES(OF)                                                                                                \
	OF("", zend_executor_globals) OF("", zend_compiler_globals) OF("", php_basic_globals) OF("", php_core_globals)      \
	OF("", sapi_globals_struct) OF("", php_file_globals) OF("", zend_output_globals) OF("", zend_php_scanner_globals)   \
	OF("", zend_ini_scanner_globals) OF("", zend_array_globals) OF("", php_dir_globals) OF("", php_assert_globals)      \
	OF("", php_browscap_globals) OF("json", zend_json_globals) OF("pcre", zend_pcre_globals) OF("date", zend_date_globals) \
	OF("random", zend_random_globals) OF("session", php_ps_globals) OF("", zend_filter_globals)                         \
	OF("libxml", zend_libxml_globals) OF("openssl", openssl_globals) OF("zlib", zlib_globals) OF("pcntl", pcntl_globals)     \
	OF("Reflection", reflection_globals) OF("mbstring", zend_mbstring_globals) OF("", mb_regex_globals)                      \
	OF("intl", intl_globals) OF("iconv", iconv_globals) OF("", soap_globals) OF("mysqli", zend_mysqli_globals)               \
	OF("mysqlnd", zend_mysqlnd_globals) OF("pgsql", pgsql_globals) OF("odbc", odbc_globals)                             \
	OF("sockets", sockets_globals) OF("posix", posix_globals) OF("ldap", ldap_globals) OF("xml", xml_globals)           \
	OF("exif", exif_globals) OF("sqlite3", sqlite3_globals) OF("pdo_mysql", pdo_mysql_globals) OF("FFI", ffi_globals)   \
	OF("Phar", phar_globals) OF("bcmath", bcmath_globals) OF("gmp", gmp_globals) OF("snmp", snmp_globals) OF("amqp", amqp_globals) OF("amqp", amqp2_globals) STRUCTURES_OF_PECL(OF)                  \
	STRUCTURES_SINCE_8_4(OF)

#define POINTER(module, structure) structure *walk_##structure;
STRUCTURES(POINTER)

int main(int argc, char **argv)
{
	zend_module_entry *module;
	php_embed_init(argc, argv);
#define SIZE(module, structure) printf("structure %s %zu %s\n", #structure, sizeof(structure), module);
	STRUCTURES(SIZE)
	ZEND_HASH_MAP_FOREACH_PTR(&module_registry, module) {
		printf("module %s %zu\n", module->name, module->globals_size);
	} ZEND_HASH_FOREACH_END();
	php_embed_shutdown();
	return 0;
}
