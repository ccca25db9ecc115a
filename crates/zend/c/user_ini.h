/* user_ini.c: settings of directories (.user.ini). */
#ifndef WEFT_USER_INI_H
#define WEFT_USER_INI_H

#include "weft.h"

void weft_user_ini_apply(const char *script, const char *root);

#endif
