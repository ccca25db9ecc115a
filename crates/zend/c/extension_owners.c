/* PHP functions that change shared state in place: the first call in a coroutine gives it a copy of its own.
 *
 * The copy differs from the booted value, so from then on it is exchanged like any row (extension_rows.c).
 * Must not know: how rows are exchanged (extensions.c). */
#include "extension_owners.h"
#include "boot.h"
#include "coroutine.h"
#include "extension_globals.h"
#include "php/layouts.h"
#include "php/random.h"
#include "wrap.h"
#include "wrappers.h"

#include <dlfcn.h>

static zend_mbstring_globals *mbstring; /* NULL: it is not loaded */
static gmp_globals *gmp;

static void own_detect_order(void)
{
	size_t bytes = mbstring->current_detect_order_list_size * sizeof(void *);
	if (mbstring->current_detect_order_list) {
		void *own = emalloc(bytes);
		memcpy(own, mbstring->current_detect_order_list, bytes);
		mbstring->current_detect_order_list = own;
	}
}

/* The context for calls without one, with the options of the shared one. */
static void own_context(void)
{
	php_stream_context *shared = FG(default_context), *own = php_stream_context_alloc();
	if (shared) {
		zval_ptr_dtor(&own->options);
		ZVAL_DUP(&own->options, &shared->options);
	}
	FG(default_context) = own;
}

/* ext/pcntl has an entry in it from the start. */
static void own_ticks(void)
{
	zend_llist shared = PG(tick_functions);
	zend_llist_copy(&PG(tick_functions), &shared);
}

/* A generator that was used while booting. Without one, the coroutine's first number makes it one of its own. */
static void own_gmp_random(void)
{
	void (*copy)(void *to, const void *from) = (void (*)(void *, const void *)) dlsym(RTLD_DEFAULT, "__gmp_randinit_set");
	if (gmp->initialized && copy) {
		gmp_globals shared = *gmp;
		copy(&gmp->random, &shared.random);
	}
}

/* Functions that change shared state in place: the coroutine first gets its own copy, once. */
typedef struct {
	const char *name;
	void *at;
	const void *base;
	void (*own)(void);
	zif_handler stock;
	uint32_t arguments_min;          /* with fewer arguments they only read */
} owner;

static WEFT_BOOT owner owners[] = {
	{"mt_srand", NULL, NULL, weft_own_random, NULL, 0},
	{"srand", NULL, NULL, weft_own_random, NULL, 0},
	{"stream_context_set_default", &file_globals.default_context, NULL, own_context, NULL, 0},
	{"stream_context_get_default", &file_globals.default_context, NULL, own_context, NULL, 0},
	{"stream_wrapper_register", &file_globals.stream_wrappers, NULL, weft_own_wrappers, NULL, 0},
	{"stream_wrapper_unregister", &file_globals.stream_wrappers, NULL, weft_own_wrappers, NULL, 0},
	{"stream_wrapper_restore", &file_globals.stream_wrappers, NULL, weft_own_wrappers, NULL, 0},
	{"stream_filter_register", &file_globals.stream_filters, NULL, weft_own_filters, NULL, 0},
	{"register_tick_function", &core_globals.tick_functions, NULL, own_ticks, NULL, 0},
	{"mb_detect_order", NULL, NULL, own_detect_order, NULL, 1},
	{"gmp_random_seed", NULL, NULL, own_gmp_random, NULL, 0},
};

static ZEND_NAMED_FUNCTION(owned_first)
{
	owner *what = weft_wrapped_row(execute_data);
	if (weft_current && *(void **) what->at == what->base && ZEND_NUM_ARGS() >= what->arguments_min) {
		what->own();
	}
	what->stock(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void weft_extension_owners_prepare(zend_mbstring_globals *of_mbstring)
{
	mbstring = of_mbstring;
	gmp = weft_extension_globals("gmp", sizeof(*gmp));
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		if (owners[i].own == weft_own_random) {
			owners[i].at = weft_random_key();
		} else if (owners[i].own == own_detect_order) {
			owners[i].at = mbstring ? &mbstring->current_detect_order_list : NULL;
		} else if (owners[i].own == own_gmp_random) {
			owners[i].at = gmp ? &gmp->random.state : NULL;
		}
		if (owners[i].at) {
			weft_wrap(NULL, owners[i].name, owned_first, &owners[i], &owners[i].stock);
		}
	}
}

void weft_extension_owners_booted(void)
{
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		owners[i].base = owners[i].at ? *(void **) owners[i].at : NULL;
	}
}
