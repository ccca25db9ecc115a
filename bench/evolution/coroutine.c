/* The fifth model: one thread, an event loop, and a stack for each connection. The handler is in one piece, as in the blocking models;
 * where it would wait, it gives the thread to another (Go, Swoole, weft). loop.c has the same loop without stacks.
 *
 * makecontext() begins a stack; later switches are _setjmp() and _longjmp(), because swapcontext() makes a system call for the signal
 * mask. Invariant: a coroutine is either running, in the list of waits, or at receive(), which tries before it gives way: an event of
 * epoll that comes while it waits needs no answer. At most COROUTINES_MAX exist, whose stacks are used again.
 */
#include "model.h"
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { EVENTS_MAX = 512, COROUTINES_MAX = 20000, STACK_BYTES = 32768 };

struct coroutine { jmp_buf place; ucontext_t start; int fd, begun; int64_t due_ns; struct coroutine *next; char *stack; };

static struct coroutine *running, *spare, *waits_first, *waits_last;
static int made, ep;
static jmp_buf scheduler;

/* Runs until the coroutine waits or ends. */
static void resume(struct coroutine *c) {
    running = c;
    if (_setjmp(scheduler) != 0) return;
    if (c->begun) _longjmp(c->place, 1);
    c->begun = 1;
    setcontext(&c->start);
}

static void give_way(void) {
    if (_setjmp(running->place) == 0) _longjmp(scheduler, 1);
}

static ssize_t receive(char *head, size_t size) {
    ssize_t got;
    while ((got = recv(running->fd, head, size, MSG_DONTWAIT)) < 0 && errno == EAGAIN) give_way();
    return got;
}

static void wait_ten_ms(void) {
    running->due_ns = now_ns() + WAIT_NS;
    running->next = NULL;
    if (waits_last) waits_last->next = running;
    else waits_first = running;
    waits_last = running;
    give_way();
}

/* The connection, from its first request to its last: blocking in form. */
static void serve(void) {
    char head[HEAD_BYTES_MAX];
    struct request r;
    for (;;) {
        if (!parse(head, receive(head, sizeof head), &r)) { close(running->fd); break; }
        uint32_t hash = compute(r.seed);
        if (r.waits) wait_ten_ms();
        if (!answered(running->fd, hash, r.last)) break;
    }
    running->next = spare;
    spare = running;
    _longjmp(scheduler, 1);
}

static struct coroutine *create(int fd) {
    struct coroutine *c = spare;
    if (c != NULL) spare = c->next;
    else if (made == COROUTINES_MAX) return NULL;
    else {
        c = calloc(1, sizeof *c);
        if (c == NULL) return NULL;
        c->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (c->stack == MAP_FAILED) { free(c); return NULL; }
        made++;
    }
    c->fd = fd;
    c->begun = 0;
    c->due_ns = 0;
    getcontext(&c->start);
    c->start.uc_stack.ss_sp = c->stack;
    c->start.uc_stack.ss_size = STACK_BYTES;
    makecontext(&c->start, serve, 0);
    return c;
}

static void accept_all(int listener) {
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        without_delay(fd);
        struct coroutine *c = create(fd);
        struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.ptr = c };
        if (c == NULL || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) != 0) close(fd);
    }
}

static void resume_due(void) {
    int64_t now = now_ns();
    while (waits_first != NULL && waits_first->due_ns <= now) {
        struct coroutine *c = waits_first;
        waits_first = c->next;
        if (waits_first == NULL) waits_last = NULL;
        c->due_ns = 0;
        resume(c);
    }
}

int main(int argc, char **argv) {
    int listener = begin(argc, argv, SOCK_NONBLOCK);
    ep = epoll_create1(0);
    struct epoll_event ev = { .events = EPOLLIN, .data.ptr = NULL }, ready[EVENTS_MAX];
    epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev);
    for (;;) {
        int64_t left = waits_first == NULL ? 0 : waits_first->due_ns - now_ns();
        struct timespec timeout = { .tv_nsec = left > 0 ? left : 0 };
        int count = epoll_pwait2(ep, ready, EVENTS_MAX, waits_first == NULL ? NULL : &timeout, NULL);
        for (int i = 0; i < count; i++)
            if (ready[i].data.ptr == NULL) accept_all(listener);
            else if (((struct coroutine *)ready[i].data.ptr)->due_ns == 0) resume(ready[i].data.ptr);
        resume_due();
    }
}
