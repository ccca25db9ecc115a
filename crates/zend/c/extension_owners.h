/* extension_owners.c: PHP functions that change shared state in place. */
#ifndef WEFT_EXTENSION_OWNERS_H
#define WEFT_EXTENSION_OWNERS_H

#include "php/layouts.h"

/* When the modules have started; mbstring's globals, or NULL. After the application has booted. */
void weft_extension_owners_prepare(zend_mbstring_globals *mbstring);
void weft_extension_owners_booted(void);

#endif
