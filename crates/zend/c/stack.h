/* stack.c: C stacks of coroutines and Fibers. */
#ifndef WEFT_STACK_H
#define WEFT_STACK_H

#include "weft.h"

/* Catches stack overflows. Called once in a process, when the engine has started. */
void weft_stack_start(void);
/* Closes the part of a context's stack that it does not need now: for every new one (user Fibers too), and after it
 * was opened. */
void weft_stack_arm(zend_fiber_context *context);
/* After a job that has opened more of its stack: closes it again and returns the memory below the running frame. */
void weft_stack_restore(zend_fiber_context *context);

/* Returns the memory of a context's stack below where it stands to the system. The context MUST NOT run. */
void weft_stack_trim(const zend_fiber_context *context);

/* Bytes of a context's stack that are in memory. */
size_t weft_stack_resident(const zend_fiber_context *context);

/* What instances have to say to a fault: a write to a page of theirs that is protected (true: it may be made again), and a stack
 * that is used up, at this instruction (returns if that cannot be contained). */
typedef bool (*weft_write_fault)(void *address);
typedef void (*weft_overrun)(const void *instruction);
void weft_stack_ask(weft_write_fault write_fault, weft_overrun overrun);

/* An address could not be executed: true if it may be tried again. The context is the handler's. */
typedef bool (*weft_code_fault)(const void *address, void *context);
void weft_stack_ask_about_code(weft_code_fault about_code);

#endif
