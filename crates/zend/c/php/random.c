/* The generator of mt_rand() and rand(): a coroutine that seeds it has one of its own.
 *
 * Until 8.3 the globals point to the generator, and exchanging the pointer is enough. Since 8.4 its state, 2.5 KiB, is in the
 * globals themselves: the row is then a pointer of ours, and the state is copied when another owner's is put in place.
 * Invariant: a coroutine that has not seeded it goes on with the generator that all share. */
#include "random.h"
#include "ext/random/php_random.h"

#if PHP_VERSION_ID >= 80400
typedef struct {
	bool seeded;
	php_random_status_state_mt19937 state;
} generator;

/* PHP's memory, so that each instance has it: a request that was seeded may be parked while another instance runs. */
static struct {
	generator shared;    /* its state while another one is in place */
	generator *in_place; /* whose state the globals have */
	generator *own;      /* the running coroutine's; NULL: it uses the shared one */
} *of;

static void own_changed(void)
{
	generator *wanted = of->own ? of->own : &of->shared;
	if (wanted != of->in_place) {
		of->in_place->seeded = RANDOM_G(mt19937_seeded);
		of->in_place->state = RANDOM_G(mt19937);
		RANDOM_G(mt19937_seeded) = wanted->seeded;
		RANDOM_G(mt19937) = wanted->state;
		of->in_place = wanted;
	}
}

static void free_own(void *at)
{
	(void) at;
	generator *freed = of->own;
	of->own = NULL;
	own_changed();
	free(freed);
}

void weft_own_random(void)
{
	of->shared.seeded = RANDOM_G(mt19937_seeded);
	of->shared.state = RANDOM_G(mt19937);
	of->own = of->in_place = malloc(sizeof(*of->own));
}

void *weft_random_key(void)
{
	return &of->own;
}

void weft_random_row(void (*row)(void *at, size_t size, size_t key, void (*release)(void *at), void (*changed)(void)))
{
	of = pecalloc(1, sizeof(*of), true);
	of->in_place = &of->shared;
	row(&of->own, sizeof(of->own), 0, free_own, own_changed);
}
#else
typedef struct {
	php_random_status status;
	php_random_status_state_mt19937 state;
} generator;

static void free_own(void *at)
{
	free(*(void **) at);
}

void weft_own_random(void)
{
	php_random_status *shared = RANDOM_G(mt19937);
	generator *own = malloc(sizeof(*own));
	own->status = *shared;
	memcpy(&own->state, shared->state, sizeof(own->state));
	own->status.state = &own->state;
	RANDOM_G(mt19937) = &own->status;
}

void *weft_random_key(void)
{
	return &RANDOM_G(mt19937);
}

/* The pointer, and behind it whether the generator has been seeded. */
void weft_random_row(void (*row)(void *at, size_t size, size_t key, void (*release)(void *at), void (*changed)(void)))
{
	row(&RANDOM_G(mt19937), sizeof(void *) * 2, 0, free_own, NULL);
}
#endif
