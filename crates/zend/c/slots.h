/* Slots: the part of a coroutine that a module keeps for itself, one row for each module.
 *
 * A module that records something for each coroutine has a row here, with its name and the number of bytes it needs,
 * and declares the contents in its own file (WEFT_SLOT). A file that does not include that declaration cannot access
 * the slot. The compiler lays the slots out one after another within the coroutine, so accessing one costs as much as
 * a field of the coroutine, and none is allocated separately.
 *
 * Must not know what a module keeps. Invariants: every slot is zero in a new coroutine and begins at a multiple of
 * eight bytes; a slot and its type have the same size, which the compiler checks. */
#ifndef WEFT_SLOTS_H
#define WEFT_SLOTS_H

#include "owned.h"
#include "weft.h"

#define WEFT_SLOTS(SLOT)                                                                                              \
	SLOT(isolate, sizeof(weft_owned) + 24)                                                                            \
	SLOT(request, 16)                                                                                                 \
	SLOT(response, 24)                                                                                                \
	SLOT(superglobals, 104)                                                                                           \
	SLOT(leftover, 8)                                                                                                 \
	SLOT(wait, 64)                                                                                                    \
	SLOT(task, 8)                                                                                                     \
	SLOT(context, 32)                                                                                                 \
	SLOT(fiber, 32)                                                                                                   \
	SLOT(library, 8)                                                                                                  \
	SLOT(native, 24)                                                                                                  \
	SLOT(classic, 8)                                                                                                  \
	SLOT(site, 16)                                                                                                    \
	SLOT(resident, 8)                                                                                                 \
	SLOT(boot, 16)                                                                                                    \
	SLOT(session, 8)                                                                                                  \
	SLOT(extensions, 8)                                                                                               \
	SLOT(environment, 8)                                                                                              \
	SLOT(process_state, 40)                                                                                           \
	SLOT(told, 104)                                                                                                   \
	SLOT(snmp, 16)                                                                                                    \
	SLOT(directories, 8)                                                                                              \
	SLOT(guard, 8)                                                                                                    \
	SLOT(persistent, 16)                                                                                              \
	SLOT(pgsql, 8)                                                                                                    \
	SLOT(mongodb, 8)

#define WEFT_SLOT_WORDS(bytes) (((bytes) + 7) / 8)

typedef struct {
#define WEFT_SLOT_ROOM(name, bytes) uint64_t name[WEFT_SLOT_WORDS(bytes)];
	WEFT_SLOTS(WEFT_SLOT_ROOM)
#undef WEFT_SLOT_ROOM
} weft_slots;

/* Declares the contents of the slot `name`, and weft_NAME_slot(coroutine), which returns a pointer to them. */
#define WEFT_SLOT(name, type)                                                                                         \
	_Static_assert(WEFT_SLOT_WORDS(sizeof(type)) * 8 == sizeof(((weft_slots *) NULL)->name),                          \
		"the row of this slot in slots.h has another size");                                                          \
	static inline type *weft_##name##_slot(const weft_coroutine *coroutine)                                           \
	{                                                                                                                 \
		return (type *) coroutine->slots.name;                                                                        \
	}

#endif
