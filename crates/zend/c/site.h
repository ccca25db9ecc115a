/* site.c: what a request's site sets for it, and what its PHP must not keep for another site. */
#ifndef WEFT_SITE_H
#define WEFT_SITE_H

#include "weft.h"

/* The number of the request's site; WEFT_NO_SITE where there are no sites. */
uint32_t weft_host_site(uint64_t request);
/* Starts with *at = 0 and returns one setting of a site after another; false: there are no more. */
bool weft_host_next_setting(uint32_t site, uint32_t *at, uint32_t *kind, weft_slice *name, weft_slice *value);

/* Before PHP begins the request, or the script that stays loaded, while it is in none; with the number of the site. */
void weft_site_enter(weft_coroutine *coroutine, uint32_t number);
/* While PHP begins it. */
void weft_site_settings(weft_coroutine *coroutine);
/* Whether the request or script that runs is one of a site. */
bool weft_site_runs(void);
/* After PHP has ended it. */
void weft_site_leave(weft_coroutine *coroutine);

#endif
