/* lock.c: Weft\Mutex and Weft\Semaphore. */
#ifndef WEFT_LOCK_H
#define WEFT_LOCK_H

void weft_lock_register(void);

#endif
