/* The third model: a pool of threads in one process. One thread accepts and puts connections into a queue, the others take one each
 * and serve it until it is closed (Tomcat). Invariant: the queue has at most QUEUE_MAX connections; then accepting waits. */
#include "model.h"
#include <pthread.h>

enum { POOL = 128, QUEUE_MAX = 4096, STACK_BYTES = 65536 };

static int queue[QUEUE_MAX];
static unsigned first, last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;

static void put(int fd) {
    pthread_mutex_lock(&lock);
    while (last - first == QUEUE_MAX) pthread_cond_wait(&room, &lock);
    queue[last++ % QUEUE_MAX] = fd;
    pthread_cond_signal(&some);
    pthread_mutex_unlock(&lock);
}

static int take(void) {
    pthread_mutex_lock(&lock);
    while (first == last) pthread_cond_wait(&some, &lock);
    int fd = queue[first++ % QUEUE_MAX];
    pthread_cond_signal(&room);
    pthread_mutex_unlock(&lock);
    return fd;
}

static void *work(void *nothing) {
    for (;;) serve_blocking(take());
    return nothing;
}

int main(int argc, char **argv) {
    int listener = begin(argc, argv, SOCK_CLOEXEC);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    for (int i = 0; i < POOL; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, work, NULL) != 0) { perror("threads: pthread_create"); return 1; }
    }
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
        without_delay(fd);
        put(fd);
    }
    perror("threads: accept");
    return 1;
}
