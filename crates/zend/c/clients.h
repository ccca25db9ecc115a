/* clients.c: which clients are guarded, and how their connections are told apart. The guard itself is guard.c. */
#ifndef WEFT_CLIENTS_H
#define WEFT_CLIENTS_H

#include "weft.h"

/* One class of a client, or the functions of one module. */
typedef struct weft_client {
	const char *name;          /* as it is commonly known */
	const char *class_name;    /* in lower case; NULL: functions */
	const char *module;        /* of functions: the module's name */
	/* The connection that one of its objects uses; NULL: none (yet), or not one of this client. */
	void *(*connection)(zend_object *object);
	const char *local;         /* calls that never reach the server, in lower case, separated by blanks: they are not wrapped */
} weft_client;

/* Ends with a row without a name. */
extern const weft_client weft_clients[];

/* The connection that a resource of ext/odbc is, or whose result it is; NULL: none. */
void *weft_odbc_connection(const zend_resource *resource);
void *weft_odbc_connection_of(const zval *argument);

/* The connection that this call will use; NULL: none. */
void *weft_connection_of(zend_execute_data *execute_data, const weft_client *client);

#endif
