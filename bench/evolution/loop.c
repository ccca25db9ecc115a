/* The fourth model: one thread, an event loop, and callbacks (nginx, Netty, Node.js). A request that waits is an entry in a list, and
 * its handler is in two pieces. Invariant: all waits are equally long, so the list is in the order in which they end; it has at most
 * WAITING_MAX entries; what a connection says while its request waits is looked at afterwards. */
#include "model.h"
#include <sys/epoll.h>

enum { EVENTS_MAX = 512, WAITING_MAX = 1 << 16 };

struct waiting { int64_t due_ns; int fd, last; uint32_t hash; };

static struct waiting waits[WAITING_MAX];
static unsigned first, next;
static enum { READS, WAITS, WAITS_AND_SPOKE } states[WAITING_MAX]; /* by descriptor */

static void on_request(int fd) {
    if (states[fd] != READS) { states[fd] = WAITS_AND_SPOKE; return; }
    char head[HEAD_BYTES_MAX];
    struct request r;
    if (!parse(head, recv(fd, head, sizeof head, 0), &r)) { close(fd); return; }
    uint32_t hash = compute(r.seed);
    if (!r.waits) answered(fd, hash, r.last);
    else if (next - first == WAITING_MAX) close(fd);
    else {
        states[fd] = WAITS;
        waits[next++ % WAITING_MAX] = (struct waiting){ now_ns() + WAIT_NS, fd, r.last, hash };
    }
}

static void on_time(void) {
    for (int64_t now = now_ns(); first != next && waits[first % WAITING_MAX].due_ns <= now; first++) {
        struct waiting *w = &waits[first % WAITING_MAX];
        int spoke = states[w->fd] == WAITS_AND_SPOKE;
        states[w->fd] = READS;
        if (answered(w->fd, w->hash, w->last) && spoke) on_request(w->fd);
    }
}

static void on_connection(int listener, int ep) {
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        without_delay(fd);
        struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.fd = fd };
        if (fd >= WAITING_MAX || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) != 0) close(fd);
    }
}

int main(int argc, char **argv) {
    int listener = begin(argc, argv, SOCK_NONBLOCK), ep = epoll_create1(0);
    struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener }, ready[EVENTS_MAX];
    epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev);
    for (;;) {
        int64_t left = first == next ? 0 : waits[first % WAITING_MAX].due_ns - now_ns();
        struct timespec timeout = { .tv_nsec = left > 0 ? left : 0 };
        int count = epoll_pwait2(ep, ready, EVENTS_MAX, first == next ? NULL : &timeout, NULL);
        for (int i = 0; i < count; i++)
            if (ready[i].data.fd == listener) on_connection(listener, ep);
            else on_request(ready[i].data.fd);
        on_time();
    }
}
