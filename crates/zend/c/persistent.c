/* Persistent connections: each coroutine that opens one gets its own, and idle ones are reused.
 *
 * PHP keeps them in EG(persistent_list) under a key made of host, user and so on, and gives the same one to every
 * caller: right for one request at a time, a crash for two coroutines. So the functions that open them (`openers`) are
 * wrapped. In the list, a connection waits under a different name ("key\0weft 7"), which no other code looks for.
 * During the call the coroutine has a private list, in which one connection has its plain key. The connection that the
 * call used is taken until the object or resource for which it was opened is gone. As in PHP, opening the same
 * connection twice in one coroutine returns it twice.
 *
 * ext/mysqli and phpredis keep stacks of idle connections themselves, which suit coroutines without changes.
 * Invariant: outside of such a call EG(persistent_list) is the shared list, so that closing and shutdown find their
 * entries. */
#include "persistent.h"
#include "php/version.h"
#include "clients.h"
#include "coroutine.h"
#include "pgsql.h"
#include "schedule.h"
#include "wrap.h"
#include "zend_weakrefs.h"

/* The maximum of keys that one call may mean: those of one server with several users, for example. Beyond that, a
 * new connection is opened. */
#define LENT_MAX 16

/* One persistent connection, under the name `place` in EG(persistent_list). */
typedef struct held {
	struct held *next;         /* of its group */
	struct group *group;
	zend_string *place;
	weft_coroutine *owner;     /* the coroutine that opened it last; `run` says in which of its runs */
	uint64_t run;
	uint32_t users;            /* living objects for which it was opened */
	zend_long handle;          /* of the resource for which it was opened; -1: none */
	bool lent;                 /* in the list of a call in progress */
	bool pinned;               /* its users are unknown: it is never given to another coroutine */
} held;

/* All connections of one key. */
typedef struct group {
	zend_string *key;
	held *links;
} group;

typedef struct {
	const char *class_name;    /* NULL: a function */
	const char *name;
	const char *prefix;        /* of the keys that it makes */
	bool returns_user;         /* the connection is opened for what it returns, not for the object it is called on */
	zif_handler stock;
} opener;

static opener openers[] = {
	{"pdo", "__construct", "PDO:DBH:DSN=", false, NULL},
	{"pdo", "connect", "PDO:DBH:DSN=", true, NULL}, /* since PHP 8.4 */
	{"memcached", "__construct", "memcached:id=", false, NULL},
	{"amqpconnection", "pconnect", "amqp_conn_res_", false, NULL},
	{"amqpconnection", "preconnect", "amqp_conn_res_", false, NULL},
	{NULL, "pg_pconnect", "pgsql", true, NULL},
	{NULL, "pfsockopen", "pfsockopen__", true, NULL},
	{NULL, "stream_socket_client", "stream_socket_client__", true, NULL},
	{NULL, "odbc_pconnect", WEFT_ODBC_PERSISTENT, true, NULL},
};

/* A call in progress. */
typedef struct {
	HashTable list;            /* in EG(persistent_list) while its coroutine runs, here while the coroutine is parked */
	held *lent[LENT_MAX];
	uint32_t count;
} opening;

typedef struct {
	opening *call;             /* the call in which it is */
	bool opened;               /* it has opened a connection */
} opener_state;

WEFT_SLOT(persistent, opener_state)

static HashTable spoilt;       /* by address: those that weft_persistent_spoil() was told of */
static HashTable groups;       /* key -> group */
static HashTable users;        /* object -> link, weakly: an entry goes with its object */
static HashTable everybodys;   /* EG(persistent_list) while a call has its own there */
static bool boot_opens;        /* as `call` of the slot, for code that runs on no coroutine */
static uint64_t places;

static void user_gone(zval *entry)
{
	((held *) Z_PTR_P(entry))->users--;
}

static bool in_use(const held *connection)
{
	return connection->lent || connection->pinned || connection->users > 0
		|| (connection->handle >= 0 && zend_hash_index_exists(&EG(regular_list), connection->handle));
}

static bool owned(const held *connection)
{
	return connection->owner == weft_current && (!weft_current || connection->run == weft_current->serial);
}

/* A connection with this key for the running coroutine: the one it has, the idle one it had last, or any idle one.
 * Drops those that were closed. */
static held *choose(group *all)
{
	held *idle = NULL;
	bool idle_owned = false;
	for (held **at = &all->links, *connection; (connection = *at);) {
		bool used = in_use(connection);
		if (!connection->lent && !zend_hash_exists(&EG(persistent_list), connection->place)) {
			if (!used) {
				*at = connection->next;
				zend_string_release(connection->place);
				free(connection);
				continue;
			}
		} else if (used && owned(connection) && !connection->lent && !connection->pinned) {
			return connection;
		} else if (!used && (!idle || (!idle_owned && owned(connection)))) {
			idle = connection;
			idle_owned = owned(connection);
		}
		at = &connection->next;
	}
	return idle;
}

/* Moves an entry to another list and name. */
static bool move(HashTable *from, zend_string *name, HashTable *to, zend_string *as)
{
	zval entry, *found = zend_hash_find(from, name);
	if (!found) {
		return false;
	}
	dtor_func_t destroy = from->pDestructor;
	ZVAL_COPY_VALUE(&entry, found);
	from->pDestructor = NULL;
	zend_hash_del(from, name);
	from->pDestructor = destroy;
	zend_hash_update(to, as, &entry);
	return true;
}

/* A DSN, an address and an id appear in the key unchanged; a bare name may stand for a DSN. */
static bool may_mean(const opener *with, zend_execute_data *execute_data, const zend_string *key)
{
	size_t length = strlen(with->prefix);
	if (ZSTR_LEN(key) < length || memcmp(ZSTR_VAL(key), with->prefix, length) != 0) {
		return false;
	}
	zval *target = ZEND_NUM_ARGS() > 0 ? ZEND_CALL_ARG(execute_data, 1) : NULL;
	if (!target || Z_TYPE_P(target) != IS_STRING || !strchr(Z_STRVAL_P(target), ':')) {
		return true;
	}
	return zend_memnstr(ZSTR_VAL(key), Z_STRVAL_P(target), Z_STRLEN_P(target), ZSTR_VAL(key) + ZSTR_LEN(key)) != NULL;
}

void weft_persistent_spoil(const void *connection)
{
	if (!spoilt.nTableSize) {
		zend_hash_init(&spoilt, 8, NULL, NULL, 1);
	}
	if (connection) {
		zend_hash_index_add_empty_element(&spoilt, (zend_ulong) (uintptr_t) connection);
	}
}

/* Closes what a request has left of a connection. Its results come first, because their end uses it. */
static void close_resources(const void *connection)
{
	zval *resource;
	for (int links = 0; links < 2; links++) {
		ZEND_HASH_FOREACH_VAL(&EG(regular_list), resource) {
			bool link = Z_RES_P(resource)->ptr == connection;
			if (link == links && weft_odbc_connection(Z_RES_P(resource)) == connection) {
				zend_list_close(Z_RES_P(resource));
			}
		} ZEND_HASH_FOREACH_END();
	}
}

/* Closes a spoilt connection. ext/odbc registers two resources for a new one, one of which is never freed
 * (odbc_do_connect in ext/odbc/php_odbc.c): so the number of references means nothing, and both are closed as well. */
static bool drop_spoilt(zval *entry)
{
	const void *connection = Z_RES_P(entry)->ptr;
	if (!connection || zend_hash_index_del(&spoilt, (zend_ulong) (uintptr_t) connection) == FAILURE) {
		return false;
	}
	close_resources(connection);
	zend_hash_del_bucket(&EG(persistent_list), (Bucket *) entry);
	return true;
}

/* A connection has lost its last user: state and queries of that user must not remain for the next one. The peer of a
 * stream may still be answering that user's question: the connection is then ended, so that the next call finds it
 * dead. May park. */
static void settle(zval *entry)
{
	php_socket_t fd;
	if (!entry) {
		return;
	}
	weft_pgsql_reset(entry);
	if (UNEXPECTED(zend_hash_num_elements(&spoilt)) && drop_spoilt(entry)) {
		return;
	}
	if (Z_RES_P(entry)->type != php_file_le_pstream() || !Z_RES_P(entry)->ptr) {
		return;
	}
	php_stream *stream = Z_RES_P(entry)->ptr;
	if (php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void **) &fd, 0) == SUCCESS) {
		weft_host_end_if_cut_short(fd);
	}
}

/* A request with its own PHP ends (classic and resident mode): the connections that it leaves open pass to the
 * next request. */
void weft_persistent_settle(void)
{
	zval *entry;
	ZEND_HASH_FOREACH_VAL(&EG(persistent_list), entry) {
		settle(entry);
	} ZEND_HASH_FOREACH_END();
}

static void lend(const opener *with, zend_execute_data *execute_data, opening *call)
{
	group *all;
	call->count = 0;
	ZEND_HASH_FOREACH_PTR(&groups, all) {
		held *connection = may_mean(with, execute_data, all->key) ? choose(all) : NULL;
		if (connection) {
			connection->lent = true;
			call->lent[call->count++] = connection;
			if (call->count == LENT_MAX) {
				break;
			}
		}
	} ZEND_HASH_FOREACH_END();
	for (uint32_t i = 0; i < call->count; i++) { /* it may park */
		if (!call->lent[i]->users) {
			settle(zend_hash_find(&EG(persistent_list), call->lent[i]->place));
		}
	}
	zend_hash_init(&call->list, 8, NULL, EG(persistent_list).pDestructor, 1);
	for (uint32_t i = 0; i < call->count; i++) {
		move(&EG(persistent_list), call->lent[i]->place, &call->list, call->lent[i]->group->key);
	}
}

static held *new_held(zend_string *key)
{
	group *all = zend_hash_find_ptr(&groups, key);
	if (!all) {
		all = malloc(sizeof(*all));
		all->key = zend_string_init(ZSTR_VAL(key), ZSTR_LEN(key), 1);
		all->links = NULL;
		zend_hash_add_new_ptr(&groups, all->key, all);
	}
	char name[32];
	size_t length = (size_t) snprintf(name, sizeof(name), "%cweft %" PRIu64, 0, ++places);
	held *connection = calloc(1, sizeof(*connection));
	connection->group = all;
	connection->place = zend_string_alloc(ZSTR_LEN(key) + length, 1);
	memcpy(ZSTR_VAL(connection->place), ZSTR_VAL(key), ZSTR_LEN(key));
	memcpy(ZSTR_VAL(connection->place) + ZSTR_LEN(key), name, length + 1);
	connection->handle = -1;
	connection->next = all->links;
	all->links = connection;
	return connection;
}

/* Every class among these has the connection in the first word of its object, before the zend_object. */
static bool opened_for(zval *user, const zend_resource *entry)
{
	if (!entry->ptr) { /* closed */
		return false;
	}
	if (Z_TYPE_P(user) == IS_RESOURCE) {
		return Z_RES_P(user)->ptr == entry->ptr;
	}
	return Z_TYPE_P(user) == IS_OBJECT
		&& *(void **) ((char *) Z_OBJ_P(user) - Z_OBJ_P(user)->handlers->offset) == entry->ptr;
}

static void take(held *connection, zval *user)
{
	connection->owner = weft_current;
	connection->run = weft_current ? weft_current->serial : 0;
	if (weft_current) {
		weft_persistent_slot(weft_current)->opened = true;
	}
	if (Z_TYPE_P(user) == IS_RESOURCE) {
		connection->handle = Z_RES_HANDLE_P(user);
		return;
	}
	zval entry;
	ZVAL_PTR(&entry, connection);
	zend_weakrefs_hash_del(&users, Z_OBJ_P(user)); /* it has connected again */
	if (zend_weakrefs_hash_add(&users, Z_OBJ_P(user), &entry)) {
		connection->users++;
	}
}

/* Moves the entries of the call's list back to their places, and new ones to a new place. */
static void give_back(opening *call, zval *user)
{
	zend_string *key;
	zval *entry;
	for (uint32_t i = 0; i < call->count; i++) {
		held *connection = call->lent[i];
		connection->lent = false;
		entry = zend_hash_find(&call->list, connection->group->key);
		if (entry && opened_for(user, Z_RES_P(entry))) {
			take(connection, user);
		}
		move(&call->list, connection->group->key, &EG(persistent_list), connection->place);
	}
	ZEND_HASH_FOREACH_STR_KEY_VAL(&call->list, key, entry) {
		held *connection = new_held(key);
		if (opened_for(user, Z_RES_P(entry))) {
			take(connection, user);
		} else {
			connection->pinned = true;
		}
		zend_hash_add_new(&EG(persistent_list), connection->place, entry);
	} ZEND_HASH_FOREACH_END();
	call->list.pDestructor = NULL;
	zend_hash_destroy(&call->list);
}

static ZEND_NAMED_FUNCTION(open_own)
{
	const opener *with = weft_wrapped_row(execute_data);
	weft_coroutine *coroutine = weft_current;
	if (coroutine ? weft_persistent_slot(coroutine)->call != NULL : boot_opens) { /* for example from an error handler within the call */
		with->stock(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	opening call;
	zval user;
	if (!with->returns_user) {
		ZVAL_COPY(&user, ZEND_THIS);
	}
	lend(with, execute_data, &call);
	if (coroutine) {
		weft_persistent_slot(coroutine)->call = &call;
	} else {
		boot_opens = true;
	}
	everybodys = EG(persistent_list);
	EG(persistent_list) = call.list;
	with->stock(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	call.list = EG(persistent_list);
	EG(persistent_list) = everybodys;
	if (coroutine) {
		weft_persistent_slot(coroutine)->call = NULL;
	} else {
		boot_opens = false;
	}
	give_back(&call, with->returns_user ? return_value : &user);
	if (!with->returns_user) {
		zval_ptr_dtor(&user);
	}
}

/* A coroutine that parks within such a call takes its list along. */
void weft_persistent_out(weft_coroutine *coroutine)
{
	opening *call = weft_persistent_slot(coroutine)->call;
	if (UNEXPECTED(call != NULL)) {
		call->list = EG(persistent_list);
		EG(persistent_list) = everybodys;
	}
}

void weft_persistent_in(weft_coroutine *coroutine)
{
	const opening *call = weft_persistent_slot(coroutine)->call;
	if (UNEXPECTED(call != NULL)) {
		everybodys = EG(persistent_list);
		EG(persistent_list) = call->list;
	}
}

/* A bailout has ended the call: the entries of its list are lost. */
void weft_persistent_reset(weft_coroutine *coroutine)
{
	if (weft_persistent_slot(coroutine)->call) {
		weft_persistent_slot(coroutine)->call = NULL;
		EG(persistent_list) = everybodys;
	}
}

/* The coroutine's job has ended: transactions that it has left open must not hold locks until the next user of the
 * connection. */
void weft_persistent_end(weft_coroutine *coroutine)
{
	group *all;
	if (EXPECTED(!weft_persistent_slot(coroutine)->opened)) {
		return;
	}
	weft_persistent_slot(coroutine)->opened = false;
	held *left[LENT_MAX];
	uint32_t count = 0;
	ZEND_HASH_FOREACH_PTR(&groups, all) {
		for (held *connection = all->links; connection && count < LENT_MAX; connection = connection->next) {
			if (owned(connection) && !in_use(connection)) {
				connection->lent = true;
				left[count++] = connection;
			}
		}
	} ZEND_HASH_FOREACH_END();
	for (uint32_t i = 0; i < count; i++) {
		settle(zend_hash_find(&EG(persistent_list), left[i]->place));
		left[i]->lent = false;
	}
}

void weft_persistent_start(void)
{
	zend_hash_init(&groups, 8, NULL, NULL, 1);
	zend_hash_init(&users, 8, NULL, user_gone, 1);
	for (size_t i = 0; i < sizeof(openers) / sizeof(openers[0]); i++) {
		weft_wrap(openers[i].class_name, openers[i].name, open_own, &openers[i], &openers[i].stock);
	}
}
