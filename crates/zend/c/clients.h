/* clients.c: which clients are guarded, and what tells their connections apart. The guard itself is guard.c. */
#ifndef WEFT_CLIENTS_H
#define WEFT_CLIENTS_H

#include "weft.h"

/* One class of a client, or the functions of one module. */
typedef struct weft_client {
	const char *name;          /* as people know it */
	const char *class_name;    /* in lower case; NULL: functions */
	const char *module;        /* of functions: the module's name */
	/* The connection that an object of it speaks over; NULL: none (yet), or not one of this client. */
	void *(*connection)(zend_object *object);
	const char *local;         /* what never reaches the server, in lower case with blanks between: not wrapped */
} weft_client;

/* Ends with a row without a name. */
extern const weft_client weft_clients[];

/* The connection that a resource of ext/odbc is, or has a result of; NULL: none. */
void *weft_odbc_connection(const zend_resource *resource);

/* The connection that this call will use; NULL: none. */
void *weft_connection_of(zend_execute_data *execute_data, const weft_client *client);

#endif
