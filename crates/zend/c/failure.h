/* failure.c: fatal errors, stack overflow, interrupts. */
#ifndef WEFT_FAILURE_H
#define WEFT_FAILURE_H

#include "weft.h"

void weft_errors_start(void);
void weft_interrupts_start(void);
/* What is called at a check of the VM that was asked for (weft_interrupt_preempt), in a coroutine that has PHP to itself. */
void weft_interrupt_ask(void (*ended)(void));
/* No coroutine is preempted in the frames for which this is true: code that counts on running alone up to its next wait. */
void weft_interrupt_except(bool (*runs_alone)(const zend_execute_data *frame));
void weft_failure_start(bool contain);
void weft_remember_error(int type, zend_string *file, uint32_t line, zend_string *message);
void weft_interrupt_overflow(void);
void weft_interrupt_preempt(void);
/* If the running coroutine has run for too long, it stops. */
void weft_interrupt_late(void);
void weft_report_blocked(const char *function);
/* The file in which PHP code runs, and the line; NULL: none runs. It lives as long as that code. */
const char *weft_stands_at(uint32_t *line);

#endif
