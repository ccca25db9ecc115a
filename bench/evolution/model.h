/* What the five models of bench/evolution share: the handler, its calibration, the listener, the reading of a request.
 *
 * The handler is the same in all of them: it computes a page (a hash of 16 KiB, which differs by request), waits 10 ms if the path
 * is /wait, and writes "Hello World". How it waits is the model's business, and so is everything else: that is what is compared.
 * It must not know the models. Invariant: between compute() and page() nothing is kept but the hash.
 *
 * A request arrives whole in one segment and has no body (true of the bench's clients); anything else closes the connection.
 * Usage of each program: PROGRAM PORT, or PROGRAM calibrate, which prints the CPU time of one handler in ns, nothing else being done.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_BYTES = 16384, HEAD_BYTES_MAX = 4096, ANSWER_BYTES_MAX = 256, BACKLOG = 4096, WAIT_NS = 10000000, SECOND_NS = 1000000000 };

struct request { int waits, last; uint32_t seed; };

static unsigned char template[PAGE_BYTES];

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

/* 1 if `head` is a request, 0 if not. */
static inline int parse(const char *head, ssize_t got, struct request *r) {
    if (got < 20 || memcmp(head + got - 4, "\r\n\r\n", 4) != 0) return 0;
    r->waits = memcmp(head, "GET /wait", 9) == 0;
    r->last = memmem(head, (size_t)got, "Connection: close", 17) != NULL;
    memcpy(&r->seed, head + got - 12, sizeof r->seed);
    return 1;
}

/* The first half of the handler: 32-bit FNV-1a. */
static inline uint32_t compute(uint32_t seed) {
    uint32_t hash = 2166136261u ^ seed;
    for (int i = 0; i < PAGE_BYTES; i++) hash = (hash ^ template[i]) * 16777619u;
    return hash;
}

/* The second half: the answer, and how long it is. */
static inline int page(char *answer, uint32_t hash, int last) {
    return snprintf(answer, ANSWER_BYTES_MAX, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=UTF-8\r\nX-Page: %08x\r\n%s"
                    "Content-Length: 11\r\n\r\nHello World", hash, last ? "Connection: close\r\n" : "");
}

/* Sends the answer; closes the connection after its last one. 1 while it stays open. */
static inline int answered(int fd, uint32_t hash, int last) {
    char answer[ANSWER_BYTES_MAX];
    int bytes = page(answer, hash, last);
    if (send(fd, answer, (size_t)bytes, MSG_NOSIGNAL) == bytes && !last) return 1;
    close(fd);
    return 0;
}

/* Requests of a connection, one after another, by a process or thread that has nothing else to do. */
static inline void serve_blocking(int fd) {
    char head[HEAD_BYTES_MAX];
    struct request r;
    for (;;) {
        if (!parse(head, recv(fd, head, sizeof head, 0), &r)) { close(fd); return; }
        uint32_t hash = compute(r.seed);
        if (r.waits) nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
        if (!answered(fd, hash, r.last)) return;
    }
}

static inline void without_delay(int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static inline int64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

/* The least of five times. */
static inline int calibrate(void) {
    enum { CALLS = 5000, ROUNDS = 5 };
    char answer[ANSWER_BYTES_MAX];
    int64_t best = INT64_MAX;
    unsigned kept = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t before = cpu_ns();
        for (uint32_t seed = 0; seed < CALLS; seed++) kept += (unsigned)page(answer, compute(seed), 0);
        int64_t each = (cpu_ns() - before) / CALLS;
        if (each < best) best = each;
    }
    printf("%lld\n", (long long)best);
    return kept == 0;
}

/* The listening socket of a server; a program that is asked to calibrate ends here. */
static inline int begin(int argc, char **argv, int flags) {
    if (argc != 2) { fprintf(stderr, "usage: %s PORT|calibrate\n", argv[0]); exit(2); }
    for (int i = 0; i < PAGE_BYTES; i++) template[i] = (unsigned char)(i * 7);
    if (strcmp(argv[1], "calibrate") == 0) exit(calibrate());
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1])),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | flags, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, BACKLOG) != 0) { perror(argv[0]); exit(1); }
    return listener;
}
