/* fiber.c: Fiber's own methods on a pooled Fiber. */
#ifndef WEFT_FIBER_H
#define WEFT_FIBER_H

#include "weft.h"

void weft_fiber_methods_start(void);
/* Records the coroutine of this pooled Fiber; NULL: none any more. */
void weft_fiber_mark(zend_object *fiber, weft_coroutine *coroutine);

#endif
