/* What the clients of push have in common: a connection from a chosen loopback address, a handshake, a server's frame.
 *
 * It must not know what is measured. A client that cannot go on says why and ends: no figure comes from it.
 */
#ifndef PUSH_SOCKET_H
#define PUSH_SOCKET_H

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES_MAX = 1024, CONTROL_BYTES_MAX = 125 };
enum { TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9 };

static inline int64_t now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static inline void must(int ok, const char *what) {
    if (!ok) { fprintf(stderr, "%s: %s\n", what, strerror(errno)); exit(1); }
}

static inline void fail(const char *why) { fprintf(stderr, "%s: %s\n", program_invocation_short_name, why); exit(1); }

/* Connects to 127.0.0.1, from an address of its own if one is named: each has 28,000 ports. Loopback answers at once. */
static inline int connect_from(uint32_t source, unsigned short port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    must(fd >= 0, "socket");
    struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(source) };
    struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "TCP_NODELAY");
    if (source != 0) {
        must(setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one) == 0, "IP_BIND_ADDRESS_NO_PORT");
        must(bind(fd, (struct sockaddr *)&own, sizeof own) == 0, "bind");
    }
    must(connect(fd, (struct sockaddr *)&server, sizeof server) == 0, "connect");
    return fd;
}

static inline void send_all(int fd, const void *bytes, size_t count) {
    must(send(fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count, "send");
}

static inline void ask_for_websocket(int fd, const char *path) {
    char head[HEAD_BYTES_MAX];
    int bytes = snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path);
    send_all(fd, head, (size_t)bytes);
}

/* The bytes of the answer 101, or 0 if it is not there as a whole. */
static inline size_t accepted(const char *bytes, size_t have) {
    const char *end = memmem(bytes, have, "\r\n\r\n", 4);
    if (end == NULL) return 0;
    if (memcmp(bytes, "HTTP/1.1 101", 12) != 0) {
        fprintf(stderr, "the handshake was refused: %.*s\n", (int)(have < 200 ? have : 200), bytes);
        exit(1);
    }
    return (size_t)(end - bytes) + 4;
}

struct frame { int opcode; const char *payload; size_t bytes, whole; };

/* The frame at the beginning of some bytes; false if it is not there as a whole. */
static inline int read_frame(const char *at, size_t have, struct frame *frame) {
    const unsigned char *bytes = (const unsigned char *)at;
    if (have < 2) return 0;
    size_t head = 2, length = bytes[1] & 127;
    if (length == 126) {
        if (have < 4) return 0;
        head = 4;
        length = (size_t)bytes[2] << 8 | bytes[3];
    }
    if (bytes[1] & 128) head += 4; /* an echo that does not look at what it sends back */
    *frame = (struct frame){ .opcode = bytes[0] & 15, .payload = at + head, .bytes = length, .whole = head + length };
    return have >= frame->whole;
}

/* A frame as clients send it: masked. Returns its bytes. Nothing here is longer than 125 bytes. */
static inline size_t write_frame(char *into, int opcode, const char *payload, size_t bytes) {
    static const unsigned char mask[4] = { 0x5a, 0xa5, 0x3c, 0xc3 };
    into[0] = (char)(0x80 | opcode);
    into[1] = (char)(0x80 | bytes);
    memcpy(into + 2, mask, 4);
    for (size_t i = 0; i < bytes; i++) into[6 + i] = (char)(payload[i] ^ mask[i & 3]);
    return 6 + bytes;
}

#endif
