/* script_main.c: {main} of a script, as its tasks see it. In a server there is none, and nothing is done. */
#ifndef WEFT_SCRIPT_MAIN_H
#define WEFT_SCRIPT_MAIN_H

#include "weft.h"

/* {main} has ended, and waits until its last task has, or until something else ends the wait. */
weft_wait_end weft_main_wait(void);
/* The last task has ended. */
void weft_main_wake(void);
/* An exit() in a task ends the script. */
void weft_main_exit(int status);
/* A failure that no code awaits counts as one of the script. */
void weft_main_failed(void);

#endif
