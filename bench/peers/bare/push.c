/* The floor under push: what the kernel's part of an echo and of a broadcast costs.
 *
 * It is deliberately not a WebSocket server. It accepts each handshake with the same answer; what then comes is sent back
 * as it is, and a broadcast is a loop of send() over all who asked for /crowd. Connections that begin with anything but
 * a request are echoed from the start.
 *
 * Usage: push PORT
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 512, BYTES_MAX = 4096, BACKLOG = 4096, FILES_MAX = 1 << 20, PAYLOAD_BYTES = 100 };

#define ACCEPTED "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
#define HELLO "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nHello World"
#define WELCOME "\x81\x07welcome"

static char echoes[FILES_MAX];
static int crowd[FILES_MAX], crowd_count;

static void say(int fd, const char *bytes, size_t count) {
    if (send(fd, bytes, count, MSG_NOSIGNAL) != (ssize_t)count) { perror("push: send"); exit(1); }
}

static void broadcast(int sequence) {
    char frame[2 + PAYLOAD_BYTES + 1];
    memset(frame, '.', sizeof frame);
    frame[0] = (char)0x81;
    frame[1] = PAYLOAD_BYTES;
    frame[2 + sprintf(frame + 2, "c %d ", sequence)] = '.';
    for (int i = 0; i < crowd_count; i++) say(crowd[i], frame, 2 + PAYLOAD_BYTES);
}

static void answer(int fd, char *head) {
    int sequence;
    if (strncmp(head, "GET /crowd", 10) == 0) {
        say(fd, ACCEPTED WELCOME, sizeof ACCEPTED WELCOME - 1);
        crowd[crowd_count++] = fd;
        echoes[fd] = 1;
    } else if (strncmp(head, "GET /echo", 9) == 0) {
        say(fd, ACCEPTED WELCOME, sizeof ACCEPTED WELCOME - 1);
        echoes[fd] = 1;
    } else {
        if (sscanf(head, "GET /common?sequence=%d", &sequence) == 1) broadcast(sequence);
        say(fd, HELLO, sizeof HELLO - 1);
    }
}

static void serve(int fd) {
    char bytes[BYTES_MAX + 1];
    ssize_t got = recv(fd, bytes, BYTES_MAX, 0);
    if (got <= 0) { close(fd); return; }
    bytes[got] = 0;
    if (!echoes[fd] && strncmp(bytes, "GET ", 4) == 0) { answer(fd, bytes); return; }
    echoes[fd] = 1;
    say(fd, bytes, (size_t)got);
}

static void accept_all(int listener, int ep) {
    for (int fd, one = 1; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        if (fd >= FILES_MAX) { close(fd); continue; }
        echoes[fd] = 0;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP, .data.fd = fd };
        if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) != 0) close(fd);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) { fprintf(stderr, "usage: %s PORT\n", argv[0]); return 2; }
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1])),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), ep = epoll_create1(0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, BACKLOG) != 0) { perror("push: listen"); return 1; }
    struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener }, ready[EVENTS_MAX];
    epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev);
    for (;;) {
        int count = epoll_wait(ep, ready, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++)
            if (ready[i].data.fd == listener) accept_all(listener, ep);
            else serve(ready[i].data.fd);
    }
}
