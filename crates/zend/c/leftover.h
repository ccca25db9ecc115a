/* Development mode's report of what a request has left behind: leftover.c says it, growth.c looks for what has grown. */
#ifndef WEFT_LEFTOVER_H
#define WEFT_LEFTOVER_H

#include "weft.h"

/* Says what has been found, once per route. */
typedef void (*weft_finding)(const char *name, zend_string *text);

/* Looks at all statics and globals; with `report`, says which have grown since the last look and had grown before. */
void weft_growth_look(weft_finding report);

#endif
