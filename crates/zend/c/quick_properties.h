/* The properties of SharedPdo's PHP classes that quick_statement.c, quick_connection.c and quick_lease.c read and
 * write, by their numbers.
 *
 * Only for these files. Must not know what they mean: the classes say that. */
#ifndef WEFT_QUICK_PROPERTIES_H
#define WEFT_QUICK_PROPERTIES_H

#include "quick_layout.h"

/* SharedPdo */
enum { D_LEASES = 1 };
/* SharedPdoStatement */
enum { S_TEXT, S_LEASES, S_PREPARED, S_TICKET, S_SESSION, S_LEFT, S_ROWS, S_COLUMNS, S_BOUND, S_GIVEN, S_SETTINGS, S_ERROR, S_WAY };
#define STATEMENTS {[S_TEXT] = "queryString", [S_LEASES] = "leases", [S_PREPARED] = "prepared", [S_TICKET] = "ticket", \
	[S_SESSION] = "session", [S_LEFT] = "left", [S_ROWS] = "rows", [S_COLUMNS] = "columns", [S_BOUND] = "bound", \
	[S_GIVEN] = "given", [S_SETTINGS] = "settings", [S_ERROR] = "error", [S_WAY] = "way"}
#define USUAL 0 /* SharedPdoStatement::USUAL */
/* Leases */
enum { L_SESSIONS, L_WAITERS, L_SPARE, L_LOOSE, L_VERSION = 6, L_TICKETS = 8, L_SLOTS };
#define LEASES {[L_SESSIONS] = "sessions", [L_WAITERS] = "waiters", [L_SPARE] = "spare", [L_LOOSE] = "loose", \
	[L_VERSION] = "attributesVersion", [L_TICKETS] = "tickets", [L_SLOTS] = "slots"}
#define STREAK_MAX 8 /* Leases::STREAK_MAX */
/* Loose */
enum { O_SESSIONS };
#define LOOSE {[O_SESSIONS] = "sessions"}
/* Waiters */
enum { W_COUNT };
#define WAITERS {[W_COUNT] = "count"}
/* Slots */
enum { I_IDLE, I_CLOSED, I_DISTRUSTED, I_IDLE_NS, I_AGE_NS, I_PLACES = 6, I_WAITERS, I_LIMITS };
#define SLOTS {[I_IDLE] = "idle", [I_CLOSED] = "closed", [I_DISTRUSTED] = "distrustedNs", [I_IDLE_NS] = "idleNs", [I_AGE_NS] = "ageNs", \
	[I_PLACES] = "places", [I_WAITERS] = "waiters", [I_LIMITS] = "limits"}
/* Places */
enum { E_OPEN };
#define PLACES {[E_OPEN] = "open"}
/* Limits */
enum { M_MAX = 3, M_WAIT_TIMEOUT = 5, M_WAITERS_MAX };
#define LIMITS {[M_MAX] = "max", [M_WAIT_TIMEOUT] = "waitTimeout", [M_WAITERS_MAX] = "waitersMax"}
/* Slot */
enum { T_USED, T_HELD, T_RESOURCE = 3, T_OPENED };
#define SLOT {[T_USED] = "usedAt", [T_HELD] = "held", [T_RESOURCE] = "resource", [T_OPENED] = "openedAt"}
/* Session */
enum { N_SLOT, N_LOOSE, N_STREAK, N_CURSOR, N_CURSORS, N_HOLDS, N_TRANSACTION, N_LOST, N_CHANGED, N_ID, N_ERROR, N_USED };
#define SESSIONS {[N_SLOT] = "slot", [N_LOOSE] = "loose", [N_STREAK] = "streak", [N_CURSOR] = "cursor", [N_CURSORS] = "cursors", \
	[N_HOLDS] = "holds", [N_TRANSACTION] = "transaction", [N_LOST] = "lost", [N_CHANGED] = "changed", [N_ID] = "lastInsertId", \
	[N_ERROR] = "error", [N_USED] = "used"}
/* SharedConnection */
enum { C_VERSION, C_BUFFERED = 2, C_STATEMENTS, C_PDO = 5 };
#define CONNECTIONS {[C_VERSION] = "attributesVersion", [C_BUFFERED] = "buffered", [C_STATEMENTS] = "statements", [C_PDO] = "pdo"}
/* Prepared */
enum { P_TICKET, P_BOUND, P_MODE_SET, P_KEPT, P_RECENT, P_STATEMENT = 7, P_SINGLE = 9, P_CHANGES };

#endif
