/* How long a message takes through Redis or NATS itself: published on one connection, heard on another.
 *
 * Usage: backplane redis|nats PORT RATE SECONDS
 *
 * 100 bytes at a constant rate; time counts from when a message is due. Prints one line of JSON, as talk does. It must not
 * know weft. Invariant: a message that is missing, or heard twice, ends it with an error.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/prctl.h>
#include "histogram.h"
#include "socket.h"

enum { PAYLOAD_BYTES = 100, LAST_S = 5 };

static char bytes[1 << 20];
static size_t have;

/* Receives what is there; waits for so long at most. Returns whether something came. */
static int receive(int fd, int64_t wait_ns) {
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    struct timespec timeout = { .tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000 };
    if (ppoll(&ready, 1, &timeout, NULL) <= 0) return 0;
    ssize_t got = recv(fd, bytes + have, sizeof bytes - 1 - have, MSG_DONTWAIT);
    if (got <= 0) fail("the server closed a connection");
    have += (size_t)got;
    bytes[have] = 0;
    return 1;
}

/* Says something and waits for what ends its answer. */
static void ask(int fd, const char *what, const char *until) {
    send_all(fd, what, strlen(what));
    while (strstr(bytes, until) == NULL)
        if (!receive(fd, LAST_S * 1000000000L)) fail("the server does not answer");
    have = 0;
    bytes[0] = 0;
}

/* Every payload is found by the mark before its number. What is left is the beginning of one. */
static void take(long *next) {
    char *at = bytes, *found;
    while ((found = memmem(at, have - (size_t)(at - bytes), "weft:", 5)) != NULL && bytes + have - found >= PAYLOAD_BYTES) {
        long number, due_ns;
        if (sscanf(found, "weft:%ld %ld", &number, &due_ns) != 2 || number != *next) fail("a message is missing, or was heard twice");
        record(now_ns() - due_ns);
        (*next)++;
        at = found + PAYLOAD_BYTES;
    }
    have -= (size_t)(at - bytes);
    memmove(bytes, at, have);
}

int main(int argc, char **argv) {
    int port = argc == 5 ? atoi(argv[2]) : 0, rate = argc == 5 ? atoi(argv[3]) : 0, seconds = argc == 5 ? atoi(argv[4]) : 0;
    int is_redis = argc == 5 && strcmp(argv[1], "redis") == 0;
    if (port <= 0 || rate <= 0 || seconds <= 0) { fprintf(stderr, "usage: %s redis|nats PORT RATE SECONDS\n", argv[0]); return 2; }
    int publisher = connect_from(0, (unsigned short)port), listener = connect_from(0, (unsigned short)port);
    if (is_redis) {
        ask(listener, "SUBSCRIBE bench\r\n", ":1\r\n");
    } else {
        ask(publisher, "CONNECT {\"verbose\":false}\r\nPING\r\n", "PONG\r\n");
        ask(listener, "CONNECT {\"verbose\":false}\r\nSUB bench 1\r\nPING\r\n", "PONG\r\n");
    }
    prctl(PR_SET_TIMERSLACK, 1);
    int64_t began = now_ns(), late = began + (int64_t)(seconds + LAST_S) * 1000000000;
    long total = (long)rate * seconds, sent = 0, next = 0;
    while (next < total) {
        int64_t due = began + sent * 1000000000 / rate, now = now_ns();
        if (now > late) fail("messages are missing");
        for (; sent < total && due <= now; due = began + sent * 1000000000 / rate) {
            char text[PAYLOAD_BYTES + 1], command[256], answers[4096];
            memset(text, '.', PAYLOAD_BYTES);
            text[PAYLOAD_BYTES] = 0;
            text[snprintf(text, PAYLOAD_BYTES, "weft:%ld %ld ", sent, due)] = '.';
            int length = snprintf(command, sizeof command, is_redis ? "*3\r\n$7\r\nPUBLISH\r\n$5\r\nbench\r\n$100\r\n%s\r\n" : "PUB bench 100\r\n%s\r\n", text);
            send_all(publisher, command, (size_t)length);
            while (is_redis && recv(publisher, answers, sizeof answers, MSG_DONTWAIT) > 0) continue; /* how many have heard it */
            sent++;
        }
        int64_t left = sent < total ? due - now_ns() : 100000000;
        if (receive(listener, left > 0 ? left : 0)) take(&next);
    }
    report(began);
    return 0;
}
