/* Many WebSocket clients that say nothing, and count what they hear: a few bytes each, many processes.
 *
 * Usage: crowd PORT COUNT PER-PROCESS AT-ONCE [centrifugo]
 *
 * Client n asks for /crowd?number=n and waits for "welcome", which the server sends when it has subscribed. Then it hears
 * "c SEQ", which all hear, and "o NUMBER SEQ", which it alone hears; numbers of messages begin with 1. It answers pings.
 * Each line on stdin is answered with a line of JSON: the sums of all processes; the end of stdin ends them all.
 * It must not know which server answers. Invariant: what is heard twice, out of order or by the wrong client is counted
 * apart; a connection that ends is counted as lost, and does not come back.
 * With "centrifugo" it speaks that server's protocol, as far as it takes to hear what all hear: a welcome is then the answer
 * to its subscription, and a message is a text within JSON.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "socket.h"

enum { EVENTS_MAX = 1024, RECEIVE_BYTES = 65536, PARTIAL_BYTES_MAX = 4096, PER_ADDRESS = 5000 };
enum state { ASKS, WAITS_FOR_WELCOME, OPEN, LOST };

struct partial { size_t bytes; char text[]; };
struct connection { int fd; uint32_t last_common, last_own; enum state state; struct partial *partial; };

/* Of one process, in memory that the first one reads. */
struct counts {
    _Alignas(64) volatile uint64_t open, common, own, twice, missing, wrong, pings, lost;
    volatile int64_t first_ns, last_common_ns, last_own_ns, last_open_ns;
    volatile uint32_t newest;
};

static struct counts *counts;
static struct connection *connections;
static uint32_t first, count, process, asked;
static unsigned short port;
static int epoll, waiting;
static char received[PARTIAL_BYTES_MAX + RECEIVE_BYTES];
static int is_centrifugo;

#define SUBSCRIBE "{\"id\":1,\"connect\":{}}\n{\"id\":2,\"subscribe\":{\"channel\":\"all\"}}"

static void open_next(void) {
    struct connection *c = &connections[asked];
    c->fd = connect_from(0x7f010001u + (process << 8) + asked / PER_ADDRESS, port);
    char path[64];
    snprintf(path, sizeof path, "/crowd?number=%u", first + asked);
    ask_for_websocket(c->fd, is_centrifugo ? "/connection/websocket" : path);
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = asked };
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) == 0, "epoll_ctl");
    asked++;
    waiting++;
}

static void lose(struct connection *c) {
    if (c->state < OPEN) waiting--;
    else counts->open--;
    c->state = LOST;
    counts->lost++;
    close(c->fd);
    free(c->partial);
    c->partial = NULL;
}

/* Whether the message with this number is the next one after the last. */
static int follows(uint32_t *last, uint32_t number) {
    if (number <= *last) { counts->twice++; return 0; }
    counts->missing += number - *last - 1;
    *last = number;
    return 1;
}

/* What a frame says; false if it is nothing to hear. */
static int text_of(const struct frame *frame, char *text, size_t room) {
    const char *said = frame->payload, *end = said + frame->bytes;
    memset(text, 0, room);
    if (is_centrifugo) {
        static const char data[] = "\"data\":\"", subscribed[] = "\"subscribe\":";
        const char *found = memmem(said, frame->bytes, data, sizeof data - 1);
        if (found == NULL) {
            strncpy(text, "welcome", room - 1);
            return memmem(said, frame->bytes, subscribed, sizeof subscribed - 1) != NULL;
        }
        said = found + sizeof data - 1;
    }
    memcpy(text, said, (size_t)(end - said) < room - 1 ? (size_t)(end - said) : room - 1);
    return 1;
}

static void hear(struct connection *c, const struct frame *frame) {
    char text[64];
    if (!text_of(frame, text, sizeof text)) return;
    unsigned number, sequence;
    int64_t now = now_ns();
    if (c->state == WAITS_FOR_WELCOME && strcmp(text, "welcome") == 0) {
        c->state = OPEN;
        waiting--;
        counts->open++;
        counts->last_open_ns = now;
    } else if (sscanf(text, "c %u", &sequence) == 1) {
        if (!follows(&c->last_common, sequence)) return;
        if (sequence > counts->newest) { counts->newest = sequence; counts->first_ns = now; }
        counts->common++;
        counts->last_common_ns = now;
    } else if (sscanf(text, "o %u %u", &number, &sequence) == 2 && number == first + (uint32_t)(c - connections)) {
        if (!follows(&c->last_own, sequence)) return;
        counts->own++;
        counts->last_own_ns = now;
    } else {
        counts->wrong++;
    }
}

static void answer_ping(struct connection *c, const struct frame *ping) {
    char pong[6 + CONTROL_BYTES_MAX];
    counts->pings++;
    size_t bytes = write_frame(pong, 10, ping->payload, ping->bytes);
    if (send(c->fd, pong, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)bytes) counts->wrong++;
}

/* Takes in what is there as a whole; returns how many bytes that was. */
static size_t take(struct connection *c, const char *bytes, size_t have) {
    size_t used = 0;
    if (c->state == ASKS) {
        used = accepted(bytes, have);
        if (used == 0) return 0;
        c->state = WAITS_FOR_WELCOME;
        if (is_centrifugo) {
            char frame[6 + CONTROL_BYTES_MAX];
            send_all(c->fd, frame, write_frame(frame, TEXT, SUBSCRIBE, sizeof SUBSCRIBE - 1));
        }
    }
    struct frame frame;
    while (c->state != LOST && read_frame(bytes + used, have - used, &frame)) {
        used += frame.whole;
        if (frame.opcode == TEXT || frame.opcode == BINARY) hear(c, &frame);
        else if (frame.opcode == PING) answer_ping(c, &frame);
        else lose(c);
    }
    return used;
}

static void receive(struct connection *c) {
    size_t have = 0;
    if (c->partial != NULL) {
        have = c->partial->bytes;
        memcpy(received, c->partial->text, have);
        free(c->partial);
        c->partial = NULL;
    }
    ssize_t got = recv(c->fd, received + have, RECEIVE_BYTES, MSG_DONTWAIT);
    if (got <= 0) { lose(c); return; }
    have += (size_t)got;
    size_t used = take(c, received, have), left = have - used;
    if (c->state == LOST || left == 0) return;
    if (left > PARTIAL_BYTES_MAX) { counts->wrong++; lose(c); return; }
    c->partial = malloc(sizeof *c->partial + left);
    must(c->partial != NULL, "malloc");
    c->partial->bytes = left;
    memcpy(c->partial->text, received + used, left);
}

static void be_clients(int at_once) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    connections = calloc(count, sizeof *connections);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    must(connections != NULL && epoll >= 0, "epoll");
    struct epoll_event ready[EVENTS_MAX];
    for (;;) {
        while (asked < count && waiting < at_once) open_next();
        int events = epoll_wait(epoll, ready, EVENTS_MAX, -1);
        for (int i = 0; i < events; i++)
            if (connections[ready[i].data.u32].state != LOST) receive(&connections[ready[i].data.u32]);
    }
}

#define EACH(field) for (uint32_t p = 0; p < processes; p++) { const struct counts *c = &all[p]; field; }

static void tell(const struct counts *all, uint32_t processes) {
    struct counts sum = { .first_ns = INT64_MAX };
    EACH(sum.open += c->open; sum.common += c->common; sum.own += c->own; sum.twice += c->twice; sum.missing += c->missing;
         sum.wrong += c->wrong; sum.pings += c->pings; sum.lost += c->lost)
    EACH(if (c->newest > sum.newest) sum.newest = c->newest)
    EACH(if (c->newest == sum.newest && c->first_ns < sum.first_ns) sum.first_ns = c->first_ns)
    EACH(if (c->last_common_ns > sum.last_common_ns) sum.last_common_ns = c->last_common_ns)
    EACH(if (c->last_own_ns > sum.last_own_ns) sum.last_own_ns = c->last_own_ns)
    EACH(if (c->last_open_ns > sum.last_open_ns) sum.last_open_ns = c->last_open_ns)
    printf("{\"open\":%lu,\"common\":%lu,\"own\":%lu,\"twice\":%lu,\"missing\":%lu,\"wrong\":%lu,\"pings\":%lu,\"lost\":%lu,"
           "\"first_ns\":%ld,\"last_common_ns\":%ld,\"last_own_ns\":%ld,\"last_open_ns\":%ld}\n", sum.open, sum.common, sum.own, sum.twice,
           sum.missing, sum.wrong, sum.pings, sum.lost, sum.first_ns, sum.last_common_ns, sum.last_own_ns, sum.last_open_ns);
    fflush(stdout);
}

int main(int argc, char **argv) {
    is_centrifugo = argc == 6 && strcmp(argv[5], "centrifugo") == 0;
    if (argc != 5 + is_centrifugo) { fprintf(stderr, "usage: %s PORT COUNT PER-PROCESS AT-ONCE [centrifugo]\n", argv[0]); return 2; }
    port = (unsigned short)atoi(argv[1]);
    uint32_t total = (uint32_t)atoi(argv[2]), each = (uint32_t)atoi(argv[3]);
    int at_once = atoi(argv[4]);
    if (total == 0 || each == 0 || at_once <= 0) { fprintf(stderr, "crowd: all numbers are positive\n"); return 2; }
    uint32_t processes = (total + each - 1) / each;
    struct counts *all = mmap(NULL, processes * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(all != MAP_FAILED, "mmap");
    int share = at_once / (int)processes;
    for (process = 0; process < processes; process++) {
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child != 0) continue;
        counts = &all[process];
        first = process * each;
        count = total - first < each ? total - first : each;
        close(0);
        be_clients(share > 0 ? share : 1);
    }
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) tell(all, processes);
    return 0;
}
