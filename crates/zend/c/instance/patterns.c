/* Regular expressions are compiled once for all instances. PHP caches compiled patterns for later requests
 * (ext/pcre/php_pcre.c), separately in each instance: with machine code, 1.2 KB for a pattern, and an application has
 * hundreds. PCRE2 never writes to a compiled pattern ("the data in the compiled pattern is fixed", pcre2api(3)), so
 * instances that ask for the same pattern get the same code.
 *
 * libphp's calls end here, because the executable's symbols precede a library's. Calls of other libraries or threads
 * go to PCRE2 unchanged: only patterns compiled with the context that PHP created at its start are shared.
 *
 * Invariants: two patterns are the same if text, options, every setting of the context and the use of machine code are
 * equal. (Locales' tables belong to an instance, and so do patterns compiled with them.) Code that is held is not
 * freed; code compiled at start-up never is, because all instances have it. What a destroyed instance held stays held. */
#include "instance.h"
#include "ext/pcre/php_pcre.h"

#include <malloc.h>

#define BUCKETS 4096 /* a power of two */

typedef struct pattern {
	struct pattern *next;      /* of the same bucket of `patterns` */
	struct pattern *next_code; /* of the same bucket of `codes` */
	pcre2_code *code;
	size_t holders;
	uint64_t hash;
	size_t key_bytes;
	char key[];
} pattern;

static pattern *patterns[BUCKETS]; /* by key */
static pattern *codes[BUCKETS];    /* by code */

/* True in the thread that runs PHP, in a process with instances. */
static __thread bool shares __attribute__((tls_model("initial-exec")));

void weft_patterns_start(void)
{
	shares = true;
}

#define TEXT(name) #name
#define NAME_OF(name) TEXT(name) /* PCRE2's names are macros */
#define REAL(name) \
	static __typeof__(&name) real; \
	if (UNEXPECTED(!real)) { \
		real = (__typeof__(&name)) weft_real(NAME_OF(name)); \
	}

static pcre2_code *compile(PCRE2_SPTR text, PCRE2_SIZE length, uint32_t options, int *error, PCRE2_SIZE *offset,
	pcre2_compile_context *context)
{
	REAL(pcre2_compile)
	return real(text, length, options, error, offset, context);
}

static pattern **bucket_of_code(const pcre2_code *code)
{
	return &codes[((uintptr_t) code >> 4) % BUCKETS];
}

static bool makes_machine_code(void)
{
#ifdef HAVE_PCRE_JIT_SUPPORT
	return PCRE_G(jit);
#else
	return false;
#endif
}

/* A new entry without a holder, with everything that identifies it; NULL: no memory. */
static pattern *describe(PCRE2_SPTR text, size_t length, uint32_t options, pcre2_compile_context *context)
{
	uint32_t how[2] = {options, makes_machine_code()};
	size_t settings = malloc_usable_size(context); /* exact: it is a block of the arena */
	size_t bytes = sizeof(how) + settings + length;
	pattern *one = malloc(sizeof(*one) + bytes);
	if (one) {
		memcpy(one->key, how, sizeof(how));
		memcpy(one->key + sizeof(how), context, settings);
		memcpy(one->key + sizeof(how) + settings, text, length);
		one->key_bytes = bytes;
		one->holders = 1;
		one->hash = zend_inline_hash_func(one->key, bytes);
	}
	return one;
}

static pattern *known(const pattern *like)
{
	pattern *one = patterns[like->hash % BUCKETS];
	while (one && (one->key_bytes != like->key_bytes || memcmp(one->key, like->key, like->key_bytes) != 0)) {
		one = one->next;
	}
	return one;
}

static void add(pattern *one)
{
	pattern **by_key = &patterns[one->hash % BUCKETS], **by_code = bucket_of_code(one->code);
	one->next = *by_key;
	*by_key = one;
	one->next_code = *by_code;
	*by_code = one;
}

pcre2_code *pcre2_compile(PCRE2_SPTR text, PCRE2_SIZE length, uint32_t options, int *error, PCRE2_SIZE *offset,
	pcre2_compile_context *context)
{
	if (!shares || !weft_arena_holds(context)) {
		return compile(text, length, options, error, offset, context);
	}
	size_t bytes = length == PCRE2_ZERO_TERMINATED ? strlen((const char *) text) : length;
	pattern *one = describe(text, bytes, options, context), *found = one ? known(one) : NULL;
	if (found) {
		free(one);
		found->holders++;
		return found->code;
	}
	pcre2_code *code = compile(text, length, options, error, offset, context);
	if (one && code) {
		one->code = code;
		add(one);
	} else {
		free(one);
	}
	return code;
}

/* The entry with this code, minus one holder; NULL: it is not shared. */
static pattern *let_go(const pcre2_code *code)
{
	pattern **at = bucket_of_code(code);
	while (*at && (*at)->code != code) {
		at = &(*at)->next_code;
	}
	pattern *one = *at;
	if (one && --one->holders == 0) {
		*at = one->next_code;
		pattern **by_key = &patterns[one->hash % BUCKETS];
		while (*by_key != one) {
			by_key = &(*by_key)->next;
		}
		*by_key = one->next;
	}
	return one;
}

void pcre2_code_free(pcre2_code *code)
{
	REAL(pcre2_code_free)
	if (!shares || !code) {
		real(code);
		return;
	}
	pattern *one = let_go(code);
	if (one ? one->holders > 0 : weft_arena_holds(code)) {
		return;
	}
	real(code);
	free(one);
}
