/* report.c: which coroutine waits for what. */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include "weft.h"

bool weft_deadlock(void);
zend_string *weft_report(void);

#endif
