/* snmp.c: what requests that ask by SNMP at once must not share. */
#ifndef WEFT_SNMP_H
#define WEFT_SNMP_H

#include "weft.h"

/* How Net-SNMP writes values and names. */
typedef struct {
	int numeric_enum, quick_print, name_format;
} weft_snmp_output;

/* Called when the modules have started: with instances, and in the other modes. */
void weft_snmp_find(void);
void weft_snmp_prepare(void);
/* Called after the application has booted. */
void weft_snmp_start(void);
void weft_snmp_out(weft_coroutine *coroutine);
void weft_snmp_in(weft_coroutine *coroutine);
void weft_snmp_end(weft_coroutine *coroutine);
void weft_snmp_forget(weft_coroutine *coroutine);

/* For instances: reads what is set, and sets it. */
void weft_snmp_current(weft_snmp_output *output);
void weft_snmp_put(const weft_snmp_output *output);

#endif
