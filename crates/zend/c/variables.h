/* Environment variables of this thread's process, or of an instance: variables.c. */
#ifndef WEFT_VARIABLES_H
#define WEFT_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

/* The changes of one owner to the environment. All zero: none. */
typedef struct {
	char **array;             /* its own; NULL until it changes something */
	size_t room;              /* entries, including the final NULL */
	struct weft_block *texts; /* its own "name=value" texts, including those that are no longer in the array */
} weft_variables;

/* Records the current variables as the original ones, which stay in memory. */
void weft_variables_start(void);
/* From here on this thread's changes apply to these variables; NULL: to the C library's, as in all other
 * threads. */
void weft_variables_use(weft_variables *variables);
/* They are no longer used. */
void weft_variables_free(weft_variables *variables);

/* The C library's function of that name. */
void *weft_real(const char *name);

/* A "name=value" text that putenv() uses without a copy, and keeps until it is released. NULL: no memory. */
char *weft_variable_text(const char *name, const char *value);
void weft_variable_let_go(char *text);

#endif
