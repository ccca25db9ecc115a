/* mysqlnd.c: persistent connections that go back in the middle of a result. */
#ifndef WEFT_MYSQLND_H
#define WEFT_MYSQLND_H

/* Called when the modules have started, where coroutines share one PHP. */
void weft_mysqlnd_start(void);

#endif
