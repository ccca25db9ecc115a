/* withheld.c: functions that php-fpm does not have. */
#ifndef WEFT_WITHHELD_H
#define WEFT_WITHHELD_H

#include "weft.h"

/* Takes them away. Called while the modules start. */
void weft_withhold(void);

#endif
