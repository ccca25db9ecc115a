/* The properties of SharedPdo's PHP classes that quick_statement.c reads and writes.
 *
 * Only for that file. Must not know what they mean: the classes say that. */
#ifndef WEFT_QUICK_PROPERTIES_H
#define WEFT_QUICK_PROPERTIES_H

#include "quick_layout.h"

enum { S_LEASES, S_PREPARED, S_TICKET, S_SESSION, S_LEFT, S_ROWS, S_COLUMNS, S_BOUND, S_GIVEN, S_SETTINGS, S_ERROR, S_OPTIONS, S_ONCE };
static layout statements = {.names = {"leases", "prepared", "ticket", "session", "left", "rows", "columns", "bound", "given", "settings",
	"error", "options", "once"}};
_Static_assert(S_ONCE < PROPERTIES_MAX, "the list of names needs its end");
enum { L_SESSIONS, L_SLOTS, L_WAITERS, L_VERSION, L_TICKETS };
static layout leases_layout = {.names = {"sessions", "slots", "waiters", "attributesVersion", "tickets"}};
enum { W_COUNT };
static layout waiters_layout = {.names = {"count"}};
enum { I_IDLE, I_CLOSED, I_DISTRUSTED, I_IDLE_NS, I_AGE_NS };
static layout slots_layout = {.names = {"idle", "closed", "distrustedNs", "idleNs", "ageNs"}};
enum { T_USED, T_HELD, T_OPENED, T_RESOURCE };
static layout slot_layout = {.names = {"usedAt", "held", "openedAt", "resource"}};
enum { N_SLOT, N_LOOSE, N_STREAK, N_CURSOR, N_CURSORS, N_HOLDS, N_TRANSACTION, N_LOST, N_CHANGED, N_ERROR, N_USED };
static layout sessions_layout = {.names = {"slot", "loose", "streak", "cursor", "cursors", "holds", "transaction", "lost", "changed",
	"error", "used"}};
enum { C_VERSION, C_BUFFERED, C_STATEMENTS, C_PDO };
static layout connections_layout = {.names = {"attributesVersion", "buffered", "statements", "pdo"}};
enum { P_TICKET, P_BOUND, P_MODE_SET, P_KEPT, P_RECENT, P_STATEMENT, P_SINGLE, P_CHANGES };
static layout prepared_layout = {.names = {"ticket", "bound", "fetchModeSet", "kept", "recent", "statement", "single", "changes"}};

#endif
