/* mysqlnd: a persistent connection that goes back in the middle of a result.
 *
 * Where a script gives up an unbuffered result together with its connection, ext/mysqli puts the connection among the idle ones
 * first, and then reads the result to its end. Under php-fpm nobody comes between. Here that reading waits, another
 * coroutine takes the connection, finds it out of step and closes it, and the first one goes on in what was freed. So such a
 * connection is closed when it goes back, as one that is not persistent is: the result then finds nothing to read.
 *
 * Must not know ext/mysqli. Invariant: a connection that waits for nothing goes back open. */
#include "mysqlnd.h"
#include "weft.h"

#if __has_include("ext/mysqlnd/mysqlnd_structs.h")
#include "ext/mysqlnd/mysqlnd.h"
#include "ext/mysqlnd/mysqlnd_structs.h"
#include "ext/mysqlnd/mysqlnd_ext_plugin.h"

#include <dlfcn.h>

static func_mysqlnd_conn_data__end_psession stock;

static void end_session(MYSQLND_CONN_DATA *connection)
{
	stock(connection);
	switch (connection->state.m->get(&connection->state)) {
		case CONN_QUERY_SENT:
		case CONN_SENDING_LOAD_DATA:
		case CONN_FETCHING_DATA:
		case CONN_NEXT_RESULT_PENDING:
			connection->m->send_close(connection);
			break;
		default:
			break;
	}
}

void weft_mysqlnd_start(void)
{
	struct st_mysqlnd_plugin_methods_xetters *all = dlsym(RTLD_DEFAULT, "mysqlnd_plugin_methods_xetters");
	if (all && !stock) {
		stock = all->connection_data.get()->end_psession;
		all->connection_data.get()->end_psession = end_session;
	}
}
#else /* PHP was built without its headers: coroutines run without it only (php/layouts.h) */
void weft_mysqlnd_start(void)
{
}
#endif
