/* The kernel's and the processor's part of one request, each primitive alone. Prints one JSON object, ns per operation. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { REQUEST_BYTES = 160, ANSWER_BYTES = 150, STACK_BYTES = 65536 };

static ucontext_t here, there;
static char buffer[4096];

static double now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static void bounce(void) { for (;;) swapcontext(&there, &here); }

#define TIME(name, rounds, operation, end) do { \
    double start = now_ns(); \
    for (long i = 0; i < (rounds); i++) { operation; } \
    printf("\"%s\": %.2f%s", name, (now_ns() - start) / (double)(rounds), end); \
} while (0)

static void must(int ok, const char *what) { if (!ok) { perror(what); exit(1); } }

static void tcp_pair(int pair[2]) {
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(listener, (struct sockaddr *)&at, size) == 0 && listen(listener, 1) == 0, "listen");
    must(getsockname(listener, (struct sockaddr *)&at, &size) == 0, "getsockname");
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(pair[0], (struct sockaddr *)&at, size) == 0, "connect");
    pair[1] = accept(listener, NULL, NULL);
    must(pair[1] >= 0, "accept");
    for (int i = 0; i < 2; i++) setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    close(listener);
}

static void move(int from, int to, size_t bytes) {
    must(send(from, buffer, bytes, 0) == (ssize_t)bytes && recv(to, buffer, sizeof buffer, 0) == (ssize_t)bytes, "send, recv");
}

int main(void) {
    int pair[2], ep = epoll_create1(0);
    tcp_pair(pair);
    struct epoll_event ev = { .events = EPOLLIN, .data.fd = pair[1] }, ready[1];
    must(epoll_ctl(ep, EPOLL_CTL_ADD, pair[1], &ev) == 0, "epoll_ctl");
    must(getcontext(&there) == 0, "getcontext");
    there.uc_stack.ss_sp = malloc(STACK_BYTES);
    there.uc_stack.ss_size = STACK_BYTES;
    makecontext(&there, bounce, 0);
    struct timespec at;

    printf("{");
    TIME("getppid, the empty system call", 2000000, syscall(SYS_getppid), ", ");
    TIME("clock_gettime (vdso)", 5000000, clock_gettime(CLOCK_MONOTONIC, &at), ", ");
    TIME("epoll_wait, nothing ready", 1000000, epoll_wait(ep, ready, 1, 0), ", ");
    TIME("recv, nothing there (EAGAIN)", 1000000, recv(pair[1], buffer, 1, MSG_DONTWAIT), ", ");
    TIME("loopback TCP: request there, answer back", 200000,
         move(pair[0], pair[1], REQUEST_BYTES); move(pair[1], pair[0], ANSWER_BYTES), ", ");
    TIME("swapcontext there and back (with sigprocmask)", 1000000, swapcontext(&here, &there), "}\n");
    return 0;
}
