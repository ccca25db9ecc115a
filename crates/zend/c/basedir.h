/* basedir.c: open_basedir for files that opcache has. */
#ifndef WEFT_BASEDIR_H
#define WEFT_BASEDIR_H

#include "weft.h"

/* Whether open_basedir lets a file be included. Otherwise PHP has said why not. */
bool weft_basedir_allows(zend_file_handle *file, int type);

#endif
