/* extension_globals.c: the globals of modules. */
#ifndef WEFT_EXTENSION_GLOBALS_H
#define WEFT_EXTENSION_GLOBALS_H

#include "php/layouts.h"

/* A module's globals; NULL: it is not loaded, or their layout is unknown. */
void *weft_extension_globals(const char *name, size_t size);
soap_globals *weft_soap_globals(void);
amqp_globals *weft_amqp_globals(void);
/* A module keeps state of a request where weft does not find it. The name lives as long as the process. */
void weft_extension_is_unknown(const char *name);
size_t weft_unknown_extensions(char *buffer, size_t size);
/* Logs which modules have globals of unknown layout. Call it when logs are open. */
void weft_say_unknown_extensions(void);

#endif
