/* The floor: the cost of one HTTP answer if the server does nothing but epoll, one recv and one send.
 *
 * It is deliberately not an HTTP server. It assumes that a request arrives whole in one segment, has no body and is
 * not pipelined (true of the bench's clients); anything else closes the connection. It does what every honest
 * answer needs: it looks for the end of the head, obeys "Connection: close", and sends the current second as Date.
 *
 * Usage: bare PORT
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 512, HEAD_BYTES_MAX = 4096, BACKLOG = 4096 };

static char answers[2][256]; /* kept open, last one */
static int answer_bytes[2];

static void refresh_answer(void) {
    static time_t shown;
    time_t now = time(NULL);
    if (now == shown) return;
    shown = now;
    char date[32];
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    for (int last = 0; last < 2; last++)
        answer_bytes[last] = snprintf(answers[last], sizeof answers[last],
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=UTF-8\r\nServer: bare\r\nDate: %s\r\n%s"
            "Content-Length: 11\r\n\r\nHello World", date, last ? "Connection: close\r\n" : "");
}

static void serve(int fd) {
    char head[HEAD_BYTES_MAX];
    ssize_t got = recv(fd, head, sizeof head, 0);
    if (got < 4 || memcmp(head + got - 4, "\r\n\r\n", 4) != 0) { close(fd); return; }
    int last = memmem(head, (size_t)got, "Connection: close", 17) != NULL;
    if (send(fd, answers[last], (size_t)answer_bytes[last], MSG_NOSIGNAL) != answer_bytes[last] || last) close(fd);
}

static void accept_all(int listener, int ep) {
    for (int fd, one = 1; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
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
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, BACKLOG) != 0) { perror("bare: listen"); return 1; }
    struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener }, ready[EVENTS_MAX];
    epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev);
    for (;;) {
        int count = epoll_wait(ep, ready, EVENTS_MAX, -1);
        refresh_answer();
        for (int i = 0; i < count; i++)
            if (ready[i].data.fd == listener) accept_all(listener, ep);
            else serve(ready[i].data.fd);
    }
}
