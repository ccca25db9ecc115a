/* Clients that talk: how long until what they send comes back.
 *
 * Usage: talk echo PORT CONNECTIONS SECONDS   100 bytes on each WebSocket, the next when they have come back
 *        talk raw PORT CONNECTIONS SECONDS    the same without frames, over TCP
 *        talk steady PORT RATE SECONDS        100 bytes at a constant rate on one WebSocket
 *        talk publish PORT RATE SECONDS [PORT-2]
 *                                             100 bytes at a constant rate to one worker; a client of another one hears them, or
 *                                             of the host at the second port
 *        talk hold PORT CONNECTIONS SECONDS   a message there and back on each WebSocket, and no more
 *        talk stall PORT CONNECTIONS SECONDS  WebSockets that do not read: hold and stall say when they are there, and stay for so
 *                                             long, or until stdin ends
 *
 * Time counts from when a message is due, not from when it is sent. Prints one line of JSON. It must not know which
 * server answers. Invariant: an echo that differs from what was sent, and a published message that is missing or heard
 * twice, end it with an error.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include "histogram.h"
#include "socket.h"

enum { PAYLOAD_BYTES = 100, CONNECTIONS_MAX = 10000, EVENTS_MAX = 512, TRIES_MAX = 200, LAST_S = 5 };

struct talker { int fd; size_t have; int64_t sent_ns; char bytes[256]; };

static char payload[PAYLOAD_BYTES], request[PAYLOAD_BYTES + 6];
static size_t request_bytes;
static int is_raw;

/* Receives one frame's payload, blocking: for what comes before anything is measured. */
static size_t hear_first(int fd, char *into, size_t room) {
    char bytes[HEAD_BYTES_MAX];
    size_t have = 0, head = 0;
    struct frame frame;
    for (;;) {
        ssize_t got = recv(fd, bytes + have, sizeof bytes - have, 0);
        if (got <= 0) fail("the server closed a connection at its beginning");
        have += (size_t)got;
        if (head == 0) head = accepted(bytes, have);
        if (head == 0 || !read_frame(bytes + head, have - head, &frame)) continue;
        if (frame.bytes >= room || head + frame.whole != have) fail("the server said more than a welcome");
        memcpy(into, frame.payload, frame.bytes);
        into[frame.bytes] = 0;
        return frame.bytes;
    }
}

static void ask(struct talker *t) {
    t->sent_ns = now_ns();
    t->have = 0;
    send_all(t->fd, request, request_bytes);
}

/* Whether the echo is there. One that comes from a loop without a look at its bytes is masked as we sent it. */
static int is_whole(const struct talker *t) {
    struct frame frame;
    if (is_raw) {
        if (t->have < PAYLOAD_BYTES) return 0;
        if (t->have > PAYLOAD_BYTES || memcmp(t->bytes, payload, PAYLOAD_BYTES) != 0) fail("an echo is not what was sent");
        return 1;
    }
    if (!read_frame(t->bytes, t->have, &frame)) return 0;
    int is_as_sent = t->have == request_bytes && memcmp(t->bytes, request, request_bytes) == 0;
    int is_echo = frame.whole == t->have && frame.bytes == PAYLOAD_BYTES && memcmp(frame.payload, payload, PAYLOAD_BYTES) == 0;
    if (!is_as_sent && !is_echo) fail("an echo is not what was sent");
    return 1;
}

static void echo(unsigned short port, int connections, int seconds) {
    struct talker *talkers = calloc((size_t)connections, sizeof *talkers);
    int epoll = epoll_create1(0);
    must(talkers != NULL && epoll >= 0, "epoll");
    /* All handshakes at once: one after the other, each would wait for the server's turn on a busy core. */
    for (int i = 0; i < connections; i++) {
        talkers[i].fd = connect_from(0, port);
        if (!is_raw) ask_for_websocket(talkers[i].fd, "/echo");
    }
    for (int i = 0; i < connections; i++) {
        struct talker *t = &talkers[i];
        char welcome[64];
        if (!is_raw) hear_first(t->fd, welcome, sizeof welcome);
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = t };
        must(epoll_ctl(epoll, EPOLL_CTL_ADD, t->fd, &event) == 0, "epoll_ctl");
    }
    int64_t began = now_ns(), end = began + (int64_t)seconds * 1000000000;
    for (int i = 0; i < connections; i++) ask(&talkers[i]);
    struct epoll_event ready[EVENTS_MAX];
    for (int open = connections; open > 0;) {
        int events = epoll_wait(epoll, ready, EVENTS_MAX, LAST_S * 1000);
        if (events == 0) fail("the server does not answer");
        for (int i = 0; i < events; i++) {
            struct talker *t = ready[i].data.ptr;
            ssize_t got = recv(t->fd, t->bytes + t->have, sizeof t->bytes - t->have, MSG_DONTWAIT);
            if (got <= 0) fail("the server closed a connection");
            t->have += (size_t)got;
            if (!is_whole(t)) continue;
            int64_t now = now_ns();
            record(now - t->sent_ns);
            if (now < end) ask(t);
            else open--;
        }
    }
    report(began);
}

/* A listener in another process than the publisher: the welcome names the process. */
static int listener_elsewhere(unsigned short port, const char *publishers_process) {
    char welcome[64], hello[16];
    for (int i = 0; i < TRIES_MAX; i++) {
        int fd = connect_from(0, port);
        ask_for_websocket(fd, "/relay");
        hear_first(fd, welcome, sizeof welcome);
        if (strcmp(welcome, publishers_process) != 0) {
            send_all(fd, hello, write_frame(hello, TEXT, "listen", 6));
            return fd;
        }
        close(fd);
    }
    fail("there is no second worker");
    return -1;
}

/* The due times in what a listener has heard are recorded; returns the bytes that are left. */
static size_t take_published(char *bytes, size_t have, long *next) {
    size_t used = 0;
    struct frame frame;
    while (read_frame(bytes + used, have - used, &frame)) {
        char text[PAYLOAD_BYTES + 1] = "";
        long number, due_ns;
        if (frame.bytes != PAYLOAD_BYTES) fail("a published message is not what was sent");
        memcpy(text, frame.payload, frame.bytes);
        if (sscanf(text, "%ld %ld", &number, &due_ns) != 2 || number != *next) fail("a message is missing, or was heard twice");
        record(now_ns() - due_ns);
        (*next)++;
        used += frame.whole;
    }
    memmove(bytes, bytes + used, have - used);
    return have - used;
}

/* Messages at a constant rate to `publisher`, until `listener` has heard all of them. */
static void at_rate(int publisher, int listener, int rate, int seconds) {
    static char bytes[1 << 20];
    char text[PAYLOAD_BYTES], frame[PAYLOAD_BYTES + 6];
    prctl(PR_SET_TIMERSLACK, 1);
    int epoll = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = listener }, ready[1];
    must(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0, "epoll_ctl");
    int64_t began = now_ns(), late = began + (int64_t)(seconds + LAST_S) * 1000000000;
    long total = (long)rate * seconds, sent = 0, next = 0;
    for (size_t have = 0; next < total;) {
        int64_t due = began + sent * 1000000000 / rate, now = now_ns();
        if (now > late) fail("messages are missing");
        for (; sent < total && due <= now; due = began + sent * 1000000000 / rate) {
            memset(text, '.', sizeof text);
            text[snprintf(text, sizeof text, "%ld %ld ", sent, due)] = '.';
            send_all(publisher, frame, write_frame(frame, TEXT, text, sizeof text));
            sent++;
        }
        int64_t left = sent < total ? due - now_ns() : 100000000;
        struct timespec timeout = { .tv_nsec = left > 0 ? left : 0 };
        if (epoll_pwait2(epoll, ready, 1, &timeout, NULL) <= 0) continue;
        ssize_t got = recv(listener, bytes + have, sizeof bytes - have, MSG_DONTWAIT);
        if (got <= 0) fail("the server closed the listener's connection");
        have = take_published(bytes, have + (size_t)got, &next);
    }
    report(began);
}

static void publish(unsigned short port, unsigned short listeners_port, int rate, int seconds) {
    char process[64], heard[64];
    int publisher = connect_from(0, port);
    ask_for_websocket(publisher, "/relay");
    hear_first(publisher, process, sizeof process);
    int listener = listener_elsewhere(listeners_port, process);
    struct frame confirmed;
    ssize_t got = recv(listener, heard, sizeof heard, 0);
    if (got <= 0 || !read_frame(heard, (size_t)got, &confirmed) || confirmed.whole != (size_t)got) fail("nobody listens");
    at_rate(publisher, listener, rate, seconds);
}

static void steady(unsigned short port, int rate, int seconds) {
    char welcome[64];
    int fd = connect_from(0, port);
    ask_for_websocket(fd, "/echo");
    hear_first(fd, welcome, sizeof welcome);
    at_rate(fd, fd, rate, seconds);
}

/* Opens connections, and keeps them. One after the other: a server's memory is looked at, not its time. */
static void keep(unsigned short port, int connections, int seconds, int speaks) {
    struct talker t;
    for (int i = 0; i < connections; i++) {
        char welcome[64];
        t.fd = connect_from(0, port);
        ask_for_websocket(t.fd, speaks ? "/talk" : "/news");
        hear_first(t.fd, welcome, sizeof welcome);
        if (!speaks) continue;
        ask(&t);
        while (!is_whole(&t)) {
            ssize_t got = recv(t.fd, t.bytes + t.have, sizeof t.bytes - t.have, 0);
            if (got <= 0) fail("the server closed a connection");
            t.have += (size_t)got;
        }
    }
    printf("there\n");
    fflush(stdout);
    struct pollfd end = { .fd = 0, .events = POLLIN };
    poll(&end, 1, seconds * 1000);
}

int main(int argc, char **argv) {
    int counts = argc == 5 || (argc == 6 && strcmp(argv[1], "publish") == 0);
    const char *what = counts ? argv[1] : "";
    int port = counts ? atoi(argv[2]) : 0, amount = counts ? atoi(argv[3]) : 0, seconds = counts ? atoi(argv[4]) : 0;
    int second = argc == 6 ? atoi(argv[5]) : port;
    if (port <= 0 || amount <= 0 || seconds <= 0 || second <= 0) {
        fprintf(stderr, "usage: %s echo|raw|hold|stall PORT CONNECTIONS SECONDS, or %s steady|publish PORT RATE SECONDS [PORT-2]\n",
                argv[0], argv[0]);
        return 2;
    }
    for (int i = 0; i < PAYLOAD_BYTES; i++) payload[i] = (char)('a' + i % 26);
    is_raw = strcmp(what, "raw") == 0;
    request_bytes = is_raw ? PAYLOAD_BYTES : write_frame(request, TEXT, payload, PAYLOAD_BYTES);
    if (is_raw) memcpy(request, payload, PAYLOAD_BYTES);
    if (strcmp(what, "publish") == 0) publish((unsigned short)port, (unsigned short)second, amount, seconds);
    else if (strcmp(what, "steady") == 0) steady((unsigned short)port, amount, seconds);
    else if (amount > CONNECTIONS_MAX) fail("too many connections");
    else if (strcmp(what, "hold") == 0 || strcmp(what, "stall") == 0) keep((unsigned short)port, amount, seconds, what[0] == 'h');
    else echo((unsigned short)port, amount, seconds);
    return 0;
}
