/* quick_statement.c: the usual course of a statement of Weft\Database\SharedPdo. */
#ifndef WEFT_QUICK_STATEMENT_H
#define WEFT_QUICK_STATEMENT_H

#include "weft.h"

void weft_quick_statement_start(void);

#endif
