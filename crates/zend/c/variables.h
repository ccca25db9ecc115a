/* Environment variables of this thread's process, or of an instance: variables.c. */
#ifndef WEFT_VARIABLES_H
#define WEFT_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

/* What somebody has made of the environment. All zero: nothing. */
typedef struct {
	char **array;             /* its own; NULL until it changes something */
	size_t room;              /* entries, the NULL at the end included */
	struct weft_block *texts; /* "name=value" of its own, those that are not in the array any more included */
} weft_variables;

/* What is set now was there before anybody changes it, and stays in memory. */
void weft_variables_start(void);
/* From here on this thread's changes are these variables'; NULL: the C library's, as in all other threads. */
void weft_variables_use(weft_variables *variables);
/* Nobody uses them any more. */
void weft_variables_free(weft_variables *variables);

/* The C library's function of that name. */
void *weft_real(const char *name);

/* A "name=value" that putenv() takes in its place, and keeps until it is let go. NULL: no memory. */
char *weft_variable_text(const char *name, const char *value);
void weft_variable_let_go(char *text);

#endif
