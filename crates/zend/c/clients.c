/* Which classes and functions communicate over a connection, and how that connection is identified: the table of
 * guard.c.
 *
 * Must not know coroutines. A connection is identified by the library's handle if several objects share one (a PDO
 * object and its statements, two PDO objects with one persistent connection), else by the object. Layouts that no
 * installed header defines are stated beside the code, with their source. */
#include "clients.h"
#include "pgsql.h"
#include "ext/pdo/php_pdo_driver.h"
#if __has_include("ext/mysqli/php_mysqli_structs.h")
#include "ext/mysqli/php_mysqli_structs.h"
#define HAS_MYSQLI 1
#endif

static void *itself(zend_object *object)
{
	return object;
}

/* The word of an object at this index, before its zend_object. */
static void *word(zend_object *object, size_t index)
{
	return ((void **) ((char *) object - object->handlers->offset))[index];
}

/* PDO: pdo_dbh_object_t.inner. PgSql\Connection and Lob: conn (ext/pgsql/php_pgsql.h). Memcached: its memcached_st.
 * SQLite3Result: db_obj (ext/sqlite3/php_sqlite3_structs.h). */
static void *first_word(zend_object *object)
{
	return word(object, 0);
}

/* SQLite3Stmt: db_obj comes after the statement. */
static void *second_word(zend_object *object)
{
	return word(object, 1);
}

/* SQLite3: the same, for the connection itself. */
static void *its_storage(zend_object *object)
{
	return (char *) object - object->handlers->offset;
}

static void *of_pdo_statement(zend_object *object)
{
	return php_pdo_stmt_fetch_object(object)->dbh;
}

#ifdef HAS_MYSQLI
static void *of_mysqli(zend_object *object)
{
	const MYSQLI_RESOURCE *resource = php_mysqli_fetch_object(object)->ptr;
	const MY_MYSQL *link = resource ? resource->ptr : NULL;
	return link && link->mysql ? link->mysql->data : NULL;
}

static void *of_mysqli_statement(zend_object *object)
{
	const MYSQLI_RESOURCE *resource = php_mysqli_fetch_object(object)->ptr;
	const MY_STMT *statement = resource ? resource->ptr : NULL;
	return statement && statement->stmt && statement->stmt->data ? statement->stmt->data->conn : NULL;
}

/* A buffered result has arrived completely: reading it affects no other call. */
static void *of_mysqli_result(zend_object *object)
{
	const MYSQLI_RESOURCE *resource = php_mysqli_fetch_object(object)->ptr;
	const MYSQL_RES *result = resource ? resource->ptr : NULL;
	return result && !result->stored_data ? result->conn : NULL;
}
#else /* PHP was built without; coroutines run without it only (php/layouts.h) */
static void *of_mysqli(zend_object *object)
{
	(void) object;
	return NULL;
}
#define of_mysqli_statement of_mysqli
#define of_mysqli_result of_mysqli
#endif

static bool is(const zend_object *object, const char *class_name)
{
	for (const zend_class_entry *entry = object->ce; entry; entry = entry->parent) {
		if (entry->type == ZEND_INTERNAL_CLASS && zend_string_equals_cstr(entry->name, class_name, strlen(class_name))) {
			return true;
		}
	}
	return false;
}

/* The argument of a function of ext/mysqli. */
static void *of_mysqli_argument(zend_object *object)
{
	return is(object, "mysqli") ? of_mysqli(object) : is(object, "mysqli_stmt") ? of_mysqli_statement(object)
		: is(object, "mysqli_result") ? of_mysqli_result(object) : NULL;
}

static void *of_pgsql_argument(zend_object *object)
{
	return is(object, "PgSql\\Connection") || is(object, "PgSql\\Lob") ? first_word(object) : NULL;
}

/* Channels, queues and exchanges store their connection in a property. */
static void *of_amqp(zend_object *object)
{
	zval scratch;
	const zend_class_entry *declares = object->ce;
	while (declares->parent) {
		declares = declares->parent;
	}
	zval *connection = zend_read_property((zend_class_entry *) declares, object, ZEND_STRL("connection"), 1, &scratch);
	return Z_TYPE_P(connection) == IS_OBJECT ? Z_OBJ_P(connection) : NULL;
}

/* MongoDB\Driver\Manager begins with its client, and Server with its manager (a zval). Cursor and Session have theirs
 * after the library's handle (src/phongo_structs.h of the extension). */
static void *of_mongodb_server(zend_object *object)
{
	zend_object *manager = word(object, 0);
	return manager ? first_word(manager) : NULL;
}

static void *of_mongodb_handle(zend_object *object)
{
	zend_object *manager = word(object, 1);
	return manager ? first_word(manager) : NULL;
}

/* For ext/odbc, whose connections and results were resources before PHP 8.4: see weft_odbc_connection_of(). */
static void *of_odbc(zend_object *object)
{
	return NULL;
}

#define ODBC_RESULT_CONNECTION 6 /* the word of an odbc_result that points to its connection (ext/odbc/php_odbc_includes.h) */

void *weft_odbc_connection(const zend_resource *resource)
{
	const char *type = zend_rsrc_list_get_rsrc_type((zend_resource *) resource);
	if (!type || !resource->ptr || strncmp(type, "odbc ", 5)) {
		return NULL;
	}
	return strcmp(type, "odbc result") ? resource->ptr : ((void **) resource->ptr)[ODBC_RESULT_CONNECTION];
}

/* Since PHP 8.4 the argument is an object, which begins with the same fields as what a resource pointed to. */
void *weft_odbc_connection_of(const zval *argument)
{
	if (Z_TYPE_P(argument) == IS_RESOURCE) {
		return weft_odbc_connection(Z_RES_P(argument));
	}
	if (Z_TYPE_P(argument) != IS_OBJECT) {
		return NULL;
	}
	zend_object *object = Z_OBJ_P(argument);
	return is(object, "Odbc\\Connection") ? word(object, 0) : is(object, "Odbc\\Result") ? word(object, ODBC_RESULT_CONNECTION) : NULL;
}

#define PDO_LOCAL "__construct errorcode errorinfo getavailabledrivers intransaction quote sqlitecreatefunction " \
	"sqlitecreateaggregate sqlitecreatecollation pgsqlgetpid"
#define PDO_SQLITE_LOCAL "createaggregate createcollation createfunction loadextension setauthorizer"
#define PDO_STATEMENT_LOCAL "bindvalue bindparam bindcolumn columncount rowcount errorcode errorinfo getattribute " \
	"debugdumpparams setfetchmode getiterator"
#define MYSQLI_LOCAL "__construct init real_escape_string escape_string get_charset character_set_name get_client_info options " \
	"set_opt ssl_set more_results debug dump_debug_info get_connection_stats get_server_info"
#define MYSQLI_FUNCTIONS_LOCAL "mysqli_affected_rows mysqli_errno mysqli_error mysqli_error_list mysqli_field_count " \
	"mysqli_insert_id mysqli_info mysqli_sqlstate mysqli_warning_count mysqli_thread_id mysqli_get_host_info " \
	"mysqli_get_proto_info mysqli_get_server_info mysqli_get_server_version mysqli_real_escape_string mysqli_escape_string " \
	"mysqli_character_set_name mysqli_get_charset mysqli_options mysqli_set_opt mysqli_ssl_set mysqli_more_results " \
	"mysqli_get_connection_stats mysqli_stmt_affected_rows mysqli_stmt_errno mysqli_stmt_error mysqli_stmt_error_list " \
	"mysqli_stmt_field_count mysqli_stmt_insert_id mysqli_stmt_num_rows mysqli_stmt_param_count mysqli_stmt_sqlstate " \
	"mysqli_stmt_bind_param mysqli_stmt_bind_result mysqli_num_fields mysqli_num_rows mysqli_fetch_lengths " \
	"mysqli_fetch_field mysqli_fetch_fields mysqli_fetch_field_direct mysqli_field_seek mysqli_field_tell mysqli_report"
#define MYSQLI_STATEMENT_LOCAL "__construct bind_param bind_result num_rows param_count field_count more_results attr_get"
#define PGSQL_LOCAL "pg_connect pg_pconnect pg_last_error pg_last_notice pg_dbname pg_host pg_port pg_tty pg_options pg_version " \
	"pg_parameter_status pg_connection_status pg_transaction_status pg_connection_busy pg_get_pid pg_socket " \
	"pg_escape_string pg_escape_bytea pg_escape_literal pg_escape_identifier pg_unescape_bytea pg_client_encoding " \
	"pg_set_error_verbosity pg_set_error_context_visibility pg_trace pg_untrace"
#define ODBC_LOCAL "odbc_connect odbc_pconnect odbc_error odbc_errormsg odbc_num_fields odbc_num_rows odbc_field_name odbc_field_num " \
	"odbc_field_type odbc_field_len odbc_field_precision odbc_field_scale odbc_cursor odbc_binmode odbc_longreadlen"
#define REDIS_LOCAL "__construct __destruct getlasterror clearlasterror getmode getoption setoption getdbnum gethost getport " \
	"gettimeout getreadtimeout getpersistentid getauth isconnected _serialize _unserialize _prefix _pack _unpack " \
	"_compress _uncompress _masters _redir"
#define MEMCACHED_LOCAL "__construct getresultcode getresultmessage getoption setoption setoptions getserverlist " \
	"getserverbykey ispersistent ispristine getlasterrormessage getlasterrorcode getlasterrorerrno getlastdisconnectedserver " \
	"addserver addservers resetserverlist setsaslauthdata"
#define MONGODB_LOCAL "__construct __wakeup addsubscriber removesubscriber createclientencryption getencryptedfieldsmap getreadconcern " \
	"getreadpreference getservers getwriteconcern"
#define MONGODB_SERVER_LOCAL "__construct __wakeup gethost getinfo getlatency getport getserverdescription gettags gettype " \
	"isarbiter ishidden ispassive isprimary issecondary"
#define MONGODB_SESSION_LOCAL "__construct __wakeup advanceclustertime advanceoperationtime getclustertime getlogicalsessionid " \
	"getoperationtime getserver gettransactionoptions gettransactionstate isdirty isintransaction starttransaction"
#define SQLITE3_LOCAL "__construct lasterrorcode lasterrormsg lastextendederrorcode escapestring version enableexceptions " \
	"lastinsertrowid changes busytimeout"

const weft_client weft_clients[] = {
	{"PDO", "pdo", NULL, first_word, PDO_LOCAL},
	{"PDO", "pdo\\pgsql", NULL, first_word, "escapeidentifier getpid setnoticecallback"},
	{"PDO", "pdo\\sqlite", NULL, first_word, PDO_SQLITE_LOCAL},
	{"PDO", "pdostatement", NULL, of_pdo_statement, PDO_STATEMENT_LOCAL},
	{"mysqli", "mysqli", NULL, of_mysqli, MYSQLI_LOCAL},
	{"mysqli", "mysqli_stmt", NULL, of_mysqli_statement, MYSQLI_STATEMENT_LOCAL},
	{"mysqli", "mysqli_result", NULL, of_mysqli_result, "__construct getiterator fetch_field fetch_fields fetch_field_direct field_seek"},
	{"mysqli", NULL, "mysqli", of_mysqli_argument, MYSQLI_FUNCTIONS_LOCAL},
	{"pgsql", NULL, "pgsql", of_pgsql_argument, PGSQL_LOCAL},
	{"ODBC", NULL, "odbc", of_odbc, ODBC_LOCAL},
	{"Redis", "redis", NULL, itself, REDIS_LOCAL},
	{"RedisCluster", "rediscluster", NULL, itself, REDIS_LOCAL},
	{"Memcached", "memcached", NULL, first_word, MEMCACHED_LOCAL},
	{"AMQP", "amqpconnection", NULL, itself, "__construct isconnected pconnect preconnect"},
	{"AMQP", "amqpchannel", NULL, of_amqp, "isconnected getconnection getchannelid"},
	{"AMQP", "amqpqueue", NULL, of_amqp, ""},
	{"AMQP", "amqpexchange", NULL, of_amqp, ""},
	{"MongoDB", "mongodb\\driver\\manager", NULL, first_word, MONGODB_LOCAL},
	{"MongoDB", "mongodb\\driver\\server", NULL, of_mongodb_server, MONGODB_SERVER_LOCAL},
	{"MongoDB", "mongodb\\driver\\cursor", NULL, of_mongodb_handle, "__construct __wakeup getid getserver isdead key settypemap valid"},
	{"MongoDB", "mongodb\\driver\\session", NULL, of_mongodb_handle, MONGODB_SESSION_LOCAL},
	{"SQLite3", "sqlite3", NULL, its_storage, SQLITE3_LOCAL},
	{"SQLite3", "sqlite3stmt", NULL, second_word, "__construct bindvalue bindparam paramcount readonly"},
	{"SQLite3", "sqlite3result", NULL, first_word, "__construct numcolumns columnname"},
	{"FTP", NULL, "ftp", itself, "ftp_connect ftp_ssl_connect ftp_get_option ftp_set_option"},
	{"LDAP", NULL, "ldap", itself, "ldap_connect ldap_errno ldap_error ldap_get_option ldap_set_option"},
	{NULL, NULL, NULL, NULL, NULL},
};

void *weft_connection_of(zend_execute_data *execute_data, const weft_client *client)
{
	zend_object *argument = NULL;
	if (ZEND_NUM_ARGS() > 0 && Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) == IS_OBJECT) {
		argument = Z_OBJ_P(ZEND_CALL_ARG(execute_data, 1));
	}
	if (client->class_name) {
		void *connection = client->connection(Z_OBJ(EX(This)));
		/* The constructor of a channel opens the channel on the connection it is given. */
		return connection || !argument || !is(argument, "AMQPConnection") ? connection : argument;
	}
	if (client->connection == of_odbc) {
		zval *first = ZEND_CALL_ARG(execute_data, 1);
		return ZEND_NUM_ARGS() > 0 ? weft_odbc_connection_of(first) : NULL;
	}
	if (argument) {
		return client->connection(argument);
	}
	return client->connection == of_pgsql_argument ? weft_pgsql_default() : NULL;
}
