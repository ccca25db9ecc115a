/* Shared by the files of resident mode: resident.c runs the script as a job, resident_edges.c resets PHP between two
 * of its requests, resident_functions.c has the functions that the script calls. engine.c and fiber_switch.c start and
 * run it. */
#ifndef WEFT_RESIDENT_H
#define WEFT_RESIDENT_H

#include "coroutine.h"

typedef struct {
	zend_ini_entry *entry;
	zend_string *original;
	uint8_t original_modifiable;
} weft_boot_ini;

/* What is to stay loaded. */
typedef struct weft_resident_script {
	const char *path;      /* absolute */
	uint64_t requests_max; /* after which it is loaded again; 0: never */
	uint32_t pool;         /* whose coroutines load it; those of other pools are classic mode's */
	uint32_t site;         /* whose settings it gets; WEFT_NO_SITE: no site's */
} weft_resident_script;

/* One loaded script. It lies on the native stack of its coroutine: PHP's heap ends before it does. */
typedef struct weft_resident {
	weft_coroutine *coroutine;
	const weft_resident_script *script;
	bool booted;                   /* it has asked for its first request */
	bool spoilt;                   /* a fatal error was unwound: it must be loaded again */
	uint64_t handled;              /* requests begun since it was loaded */
	HashTable *shutdown_functions; /* its own, while a request registers others */
	zval environment;              /* $_ENV as the boot has left it */
	HashTable *ini_directives;     /* ini values that the boot has set, stored separately from those of a request */
	weft_boot_ini *ini;
	size_t ini_count;
	struct weft_resident *next;
} weft_resident;

/* The script that stays loaded in it; NULL: none. */
WEFT_SLOT(resident, weft_resident *)

static inline weft_resident *weft_resident_of(const weft_coroutine *coroutine)
{
	return *weft_resident_slot(coroutine);
}

/* resident.c */
extern weft_resident *weft_residents; /* all scripts of this process */
extern bool weft_resident_any;          /* this engine is for scripts that stay loaded, perhaps among others */
/* Once, before PHP starts. false: no memory. */
bool weft_resident_prepare(const weft_resident_script *given, size_t count);
void weft_resident_run(weft_coroutine *coroutine);
uint32_t weft_resident_site(const weft_coroutine *coroutine);
/* resident_end.c */
void weft_resident_end(void);
bool weft_resident_try(uint32_t pool);
/* The script's PHP is gone. */
void weft_resident_abandon(weft_coroutine *coroutine);
ZEND_FUNCTION(frankenphp_handle_request);

/* resident_edges.c */
/* The script has booted: each request starts from what it has set so far. */
void weft_resident_keep_boot(weft_resident *resident);
/* The reverse, before PHP's own request ends: that end must find the state it would have found without us. */
void weft_resident_return_boot(weft_resident *resident);
/* false: the body of the request did not arrive, and its client has been told. */
bool weft_resident_begin_request(weft_resident *resident);
void weft_resident_end_request(weft_resident *resident);
void weft_resident_forget_request(weft_coroutine *coroutine);

/* resident_functions.c */
void weft_resident_register(void);

#endif
