/* An open loop: requests arrive at random, whether or not earlier ones were answered. They are those of the pop-up service, or, with
 * a path, GET requests of it, each with a number of its own.
 *
 * Arrivals are random (exponential gaps) at a fixed mean rate; the mix is that of mix.lua. A request that finds every
 * connection busy waits for one, and its latency counts from its arrival: a server that stalls is charged for every request
 * that it kept waiting, which a closed loop misses. It must not know how the service works, only what a right answer looks like.
 *
 * Usage: pace PORT RATE SECONDS CONNECTIONS SEED [PATH]
 * Prints a line "SECOND {json}" every second, and "BENCH {json}" at the end; times in microseconds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    USERS = 200000, CONNECTIONS_MAX = 10000, ANSWER_BYTES_MAX = 16384, DISPLAY_BYTES_MAX = 160, GIVEN_MAX = 65536,
    WAITING_MAX = 1 << 20, EVENTS_MAX = 512, STEPS = 32, BUCKETS = 27 * STEPS, LAST_ANSWERS_S = 10
};
static const int64_t SECOND_NS = 1000000000;

struct connection { int fd; int64_t arrived_ns; size_t have; char answer[ANSWER_BYTES_MAX]; };
struct histogram { uint64_t buckets[BUCKETS], count; int64_t max_us; };

static struct sockaddr_in server;
static const char *page; /* NULL: the pop-up service */
static struct connection *connections;
static int connection_count, epoll, idle[CONNECTIONS_MAX], idle_count;
static int64_t waiting[WAITING_MAX];
static uint64_t waiting_first, waiting_last, number, seed;
static char given[GIVEN_MAX][DISPLAY_BYTES_MAX];
static uint64_t given_first, given_last;
static uint64_t returned, recorded, refused, mistakes, errors, errors_told;
static struct histogram this_second, all;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

/* Steele, Lea and Flood's SplitMix64. */
static uint64_t dice(void) {
    uint64_t z = seed += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Buckets are exact below STEPS microseconds, then STEPS to each power of two: three per cent wide. */
static int bucket(int64_t us) {
    if (us < STEPS) return (int)us;
    int power = 63 - __builtin_clzll((uint64_t)us);
    int index = (power - 4) * STEPS + (int)(us >> (power - 5)) - STEPS;
    return index < BUCKETS ? index : BUCKETS - 1;
}

static int64_t bucket_us(int index) {
    if (index < STEPS) return index;
    int power = index / STEPS + 4;
    return (int64_t)(index % STEPS + STEPS) << (power - 5);
}

static void record(struct histogram *h, int64_t us) {
    h->buckets[bucket(us)]++;
    h->count++;
    if (us > h->max_us) h->max_us = us;
}

static int64_t percentile(const struct histogram *h, double share) {
    uint64_t wanted = (uint64_t)ceil(share * (double)h->count), seen = 0;
    for (int i = 0; i < BUCKETS; i++)
        if ((seen += h->buckets[i]) >= wanted && wanted > 0) return bucket_us(i);
    return 0;
}

static void open_connection(struct connection *c) {
    int one = 1;
    c->have = 0;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&server, sizeof server) != 0) { perror("pace: connect"); exit(1); }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };
    epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &ev);
    idle[idle_count++] = (int)(c - connections);
}

/* An awaited answer will not come; the connection is opened again. */
static void lose(struct connection *c) {
    if (c->arrived_ns != 0) errors++;
    c->arrived_ns = 0;
    close(c->fd);
    for (int i = 0; i < idle_count; i++)
        if (idle[i] == (int)(c - connections)) idle[i] = idle[--idle_count];
    open_connection(c);
}

static int message(char *text, size_t size) {
    static const char head[] = "POST %s HTTP/1.1\r\nHost: popup\r\nContent-Type: application/json\r\n"
                               "X-Request-Id: %llu\r\nContent-Length: %d\r\n\r\n%s";
    static const char get[] = "GET %s%cvisitor=%llu HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench/%d\r\n\r\n";
    char body[512];
    if (page != NULL) {
        number++;
        return snprintf(text, size, get, page, strchr(page, '?') ? '&' : '?', (unsigned long long)number, (int)(number % 17));
    }
    int die = (int)(dice() % 100) + 1, bytes;
    const char *path = "/v1/ask";
    if (die > 90 && given_first < given_last) {
        path = "/v1/operations";
        bytes = snprintf(body, sizeof body, "{\"display\":\"%s\",\"operation\":\"%s\"}", given[given_first++ % GIVEN_MAX],
                         die > 98 ? "clicked" : die > 94 ? "shown" : "closed");
    } else {
        unsigned user = (unsigned)(dice() % USERS) + 1;
        bytes = snprintf(body, sizeof body, "{\"user\":\"u%u\",\"platform\":\"%s\",\"version\":\"5.%u.%u\"}", user,
                         user % 5 == 0 ? "ios" : "web", user % 7, (unsigned)(number % 100));
    }
    return snprintf(text, size, head, path, (unsigned long long)++number, bytes, body);
}

static void send_request(struct connection *c, int64_t arrived_ns) {
    char text[1024];
    int bytes = message(text, sizeof text);
    c->arrived_ns = arrived_ns;
    if (send(c->fd, text, (size_t)bytes, MSG_NOSIGNAL) != bytes) lose(c);
}

/* An arrival: sent at once on an idle connection, or queued for the next one. */
static void arrive(int64_t at_ns) {
    if (idle_count > 0) send_request(&connections[idle[--idle_count]], at_ns);
    else if (waiting_last - waiting_first < WAITING_MAX) waiting[waiting_last++ % WAITING_MAX] = at_ns;
    else errors++;
}

static void keep_display(const char *body) {
    static const char field[] = "\"display\":\"";
    const char *from = strstr(body, field), *end = from ? strchr(from + sizeof field - 1, '"') : NULL;
    if (end == NULL) {
        if (strstr(body, "\"popup\":null") == NULL) mistakes++;
        return;
    }
    returned++;
    from += sizeof field - 1;
    size_t bytes = (size_t)(end - from);
    if (bytes >= DISPLAY_BYTES_MAX || given_last - given_first >= GIVEN_MAX) return;
    char *place = given[given_last++ % GIVEN_MAX];
    memcpy(place, from, bytes);
    place[bytes] = 0;
}

static void judge(const char *answer, const char *body) {
    if (strncmp(answer, "HTTP/1.1 200", 12) != 0) refused++;
    else if (page != NULL) return;
    else if (strcmp(body, "{\"recorded\":true}") == 0) recorded++;
    else keep_display(body);
}

static void finish(struct connection *c, const char *body) {
    judge(c->answer, body);
    int64_t us = (now_ns() - c->arrived_ns) / 1000;
    record(&this_second, us);
    record(&all, us);
    c->have = 0;
    c->arrived_ns = 0;
    if (waiting_first < waiting_last) send_request(c, waiting[waiting_first++ % WAITING_MAX]);
    else idle[idle_count++] = (int)(c - connections);
}

/* Reads what has arrived; a whole answer frees the connection for the next waiting request. */
static void receive(struct connection *c) {
    ssize_t got = recv(c->fd, c->answer + c->have, ANSWER_BYTES_MAX - 1 - c->have, 0);
    if (got <= 0 || c->arrived_ns == 0) { lose(c); return; }
    c->have += (size_t)got;
    c->answer[c->have] = 0;
    char *body = strstr(c->answer, "\r\n\r\n"), *length = strcasestr(c->answer, "\r\ncontent-length:");
    if (body == NULL) return;
    if (length == NULL && page != NULL && strcasestr(c->answer, "\r\ntransfer-encoding: chunked")) {
        if (memcmp(c->answer + c->have - 5, "0\r\n\r\n", 5) != 0) return;
        finish(c, body + 4);
        return;
    }
    if (length == NULL || length > body) { mistakes++; lose(c); return; }
    body += 4;
    if (c->have < (size_t)(body - c->answer) + strtoul(length + 17, NULL, 10)) {
        if (c->have == ANSWER_BYTES_MAX - 1) { mistakes++; lose(c); }
        return;
    }
    finish(c, body);
}

static void tell_second(double at_s) {
    const struct histogram *h = &this_second;
    uint64_t failed = errors + refused + mistakes;
    printf("SECOND {\"at_s\":%.3f,\"answered\":%llu,\"p50_us\":%lld,\"p90_us\":%lld,\"p99_us\":%lld,\"errors\":%llu}\n", at_s,
           (unsigned long long)h->count, (long long)percentile(h, 0.5), (long long)percentile(h, 0.9),
           (long long)percentile(h, 0.99), (unsigned long long)(failed - errors_told));
    fflush(stdout);
    errors_told = failed;
    memset(&this_second, 0, sizeof this_second);
}

/* Waits for answers until the next arrival. */
static void wait_until(int64_t at_ns) {
    struct epoll_event ready[EVENTS_MAX];
    int64_t left = at_ns - now_ns();
    struct timespec timeout = { .tv_sec = left > 0 ? left / SECOND_NS : 0, .tv_nsec = left > 0 ? left % SECOND_NS : 0 };
    int count = epoll_pwait2(epoll, ready, EVENTS_MAX, &timeout, NULL);
    for (int i = 0; i < count; i++) receive(ready[i].data.ptr);
}

static void run(double rate, int seconds) {
    int64_t began = now_ns(), end = began + seconds * SECOND_NS, next = began, told = began + SECOND_NS;
    for (;;) {
        int64_t now = now_ns();
        while (next <= now && next < end) {
            arrive(next);
            next += (int64_t)(-log(((double)(dice() >> 11) + 1.0) / 9007199254740993.0) / rate * 1e9);
        }
        if (now >= told) {
            tell_second((double)(now - began) / 1e9);
            told += SECOND_NS;
        }
        int busy = connection_count - idle_count > 0 || waiting_first < waiting_last;
        if (now >= end && (!busy || now >= end + LAST_ANSWERS_S * SECOND_NS)) break;
        int64_t until = next < end ? next : told;
        wait_until(until < told ? until : told);
    }
    for (int i = 0; i < connection_count; i++) errors += connections[i].arrived_ns != 0;
    errors += waiting_last - waiting_first;
    printf("BENCH {\"requests\":%llu,\"wall_us\":%lld,\"p50_us\":%lld,\"p90_us\":%lld,\"p99_us\":%lld,\"max_us\":%lld,"
           "\"returned\":%llu,\"recorded\":%llu,\"refused\":%llu,\"mistakes\":%llu,\"errors\":%llu}\n",
           (unsigned long long)all.count, (long long)(end - began) / 1000, (long long)percentile(&all, 0.5),
           (long long)percentile(&all, 0.9), (long long)percentile(&all, 0.99), (long long)all.max_us, (unsigned long long)returned,
           (unsigned long long)recorded, (unsigned long long)refused, (unsigned long long)mistakes, (unsigned long long)errors);
}

int main(int argc, char **argv) {
    if (argc != 6 && argc != 7) { fprintf(stderr, "usage: %s PORT RATE SECONDS CONNECTIONS SEED [PATH]\n", argv[0]); return 2; }
    page = argc == 7 ? argv[6] : NULL;
    double rate = atof(argv[2]);
    int seconds = atoi(argv[3]);
    connection_count = atoi(argv[4]);
    seed = strtoull(argv[5], NULL, 10);
    if (rate <= 0 || seconds <= 0 || connection_count <= 0 || connection_count > CONNECTIONS_MAX) {
        fprintf(stderr, "pace: RATE and SECONDS are positive, CONNECTIONS is 1 to %d\n", CONNECTIONS_MAX);
        return 2;
    }
    server = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1])),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    prctl(PR_SET_TIMERSLACK, 1);
    epoll = epoll_create1(0);
    connections = calloc((size_t)connection_count, sizeof *connections);
    if (epoll < 0 || connections == NULL) { perror("pace"); return 1; }
    for (int i = 0; i < connection_count; i++) open_connection(&connections[i]);
    run(rate, seconds);
    return 0;
}
