/* engine.c: start and stop of PHP. */
#ifndef WEFT_ENGINE_H
#define WEFT_ENGINE_H

#include "weft.h"

typedef struct {
	const char *ini;           /* ini lines that override php.ini ("name=value\n"…) */
	const char *ini_path;      /* -c, or NULL */
	const char *executable;    /* PHP_BINARY */
	bool cli;                  /* `weft php`: PHP_SAPI is cli */
	bool ignore_ini;           /* -n */
	const struct weft_resident_script *residents; /* the worker scripts of resident mode; with any, classic is set as well */
	size_t residents_count;
	bool classic;              /* there is no request that lasts as long as the worker: each job begins and ends one */
	const char *library;       /* directory of weft's PHP library; NULL: there is none */
	bool instances;            /* classic, with several instances of PHP in a worker */
	const char *sapi_name;     /* PHP_SAPI, except for `weft php` */
	bool withholds;            /* functions that php-fpm does not have are taken away */
	uint32_t *superglobals;    /* shared by all workers: bit set of superglobals that compiled code mentions */
} weft_engine_options;

int weft_engine_start(const weft_engine_options *options);
int weft_engine_begin(const char *script, int argc, char **argv);
void weft_engine_end(void);
int weft_engine_exit_status(void);
size_t weft_engine_ini(const char *name, char *buffer, size_t size);
size_t weft_engine_extensions(char *buffer, size_t size);
bool weft_engine_opcache(bool *jit);
size_t weft_engine_memory(void);
extern bool weft_cli;

#endif
