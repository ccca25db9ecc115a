/* ext-mongodb: managers of coroutines that run at the same time have separate clients.
 *
 * The extension keeps one client per URI and options and gives it to every manager created with them; libmongoc's
 * client handles one conversation at a time. So the constructor of MongoDB\Driver\Manager gets one more driver option,
 * which the extension does not know but includes in the key of its clients: the number of a seat. A coroutine has the
 * same seat for all its managers. A seat is free again when the coroutine has ended and the managers created on it are
 * gone. Invariant: two coroutines never have managers on one seat, unless they were given a manager (guard.c watches
 * that). */
#include "mongodb.h"
#include "classic_state.h"
#include "coroutine.h"
#include "wrap.h"
#include "zend_weakrefs.h"

typedef struct {
	bool taken;                /* by a coroutine that has not ended */
	uint32_t managers;         /* living ones */
} seat;

/* The coroutine's seat, counted from 1; 0: none yet. */
WEFT_SLOT(mongodb, uint32_t)

static seat *seats;            /* as many as coroutines have ever had managers at once */
static uint32_t seat_count;
static HashTable managers;     /* manager -> its seat's number, weakly: an entry is removed with its object */
static zend_internal_function stock;

static void manager_gone(zval *number)
{
	seats[Z_LVAL_P(number)].managers--;
}

/* The coroutine's seat, else a free one, else a new one. */
static uint32_t choose(weft_coroutine *coroutine)
{
	uint32_t *own = weft_mongodb_slot(coroutine);
	if (!*own) {
		uint32_t number = 0;
		while (number < seat_count && (seats[number].taken || seats[number].managers > 0)) {
			number++;
		}
		if (number == seat_count) {
			seats = perealloc(seats, ++seat_count * sizeof(*seats), 1);
		}
		seats[number] = (seat) {.taken = true};
		*own = number + 1;
	}
	return *own - 1;
}

/* The coroutine's job has ended. */
void weft_mongodb_end(weft_coroutine *coroutine)
{
	uint32_t *own = weft_mongodb_slot(coroutine);
	if (UNEXPECTED(*own != 0)) {
		seats[*own - 1].taken = false;
		*own = 0;
	}
}

/* The driver options of the call with the seat added. Anything but an array is left for the extension to refuse. */
static void add_seat(zval *options, zend_long number)
{
	if (Z_TYPE_P(options) == IS_NULL) {
		array_init(options);
	} else if (Z_TYPE_P(options) != IS_ARRAY) {
		return;
	} else {
		SEPARATE_ARRAY(options);
	}
	add_assoc_long(options, "weft", number);
}

static ZEND_NAMED_FUNCTION(construct_own)
{
	zval arguments[3];
	uint32_t count = ZEND_NUM_ARGS();
	if (!weft_current || weft_classic_of(weft_current) || count > 3) {
		stock.handler(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	uint32_t number = choose(weft_current);
	seats[number].managers++; /* also while it connects */
	for (uint32_t i = 0; i < 3; i++) {
		if (i < count) {
			ZVAL_COPY_DEREF(&arguments[i], ZEND_CALL_ARG(execute_data, i + 1));
		} else {
			ZVAL_NULL(&arguments[i]);
		}
	}
	add_seat(&arguments[2], number);
	zend_call_known_function((zend_function *) &stock, Z_OBJ_P(ZEND_THIS), Z_OBJCE_P(ZEND_THIS), NULL, 3, arguments, NULL);
	zval entry;
	ZVAL_LONG(&entry, number);
	if (EG(exception) || !zend_weakrefs_hash_add(&managers, Z_OBJ_P(ZEND_THIS), &entry)) {
		seats[number].managers--;
	}
	for (uint32_t i = 0; i < 3; i++) {
		zval_ptr_dtor(&arguments[i]);
	}
}

void weft_mongodb_start(void)
{
	zend_internal_function *construct = weft_find_function("mongodb\\driver\\manager", "__construct");
	if (!construct) {
		return;
	}
	stock = *construct;
	zend_hash_init(&managers, 8, NULL, manager_gone, 1);
	zif_handler handler;
	weft_wrap_function(construct, construct_own, NULL, &handler);
}
