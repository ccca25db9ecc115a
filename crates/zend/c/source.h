/* source.c: files of a document root that PHP opens where links may not lead out. */
#ifndef WEFT_SOURCE_H
#define WEFT_SOURCE_H

#include "weft.h"

void weft_source_prepare(void);
void weft_source_read_ini(const char *directory, const char *name, HashTable *settings);

/* The host opens a file of the document root, and returns its real path. The result is a descriptor, minus the status
 * that says why not, or WEFT_OPEN_IT_YOURSELF if it does not matter: the name is outside of the document root, or
 * links may lead anywhere. */
int weft_host_open_source(uint64_t request, weft_slice path, char *real, size_t room);

#endif
