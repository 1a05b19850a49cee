// What the load generator and the sink share: the clock, loopback TCP, and the frame header of RFC 6455 §5.2.
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 1, BINARY = 2, CLOSE = 8 };
enum { MAX_HEADER = 14 };

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static inline void fail(const char *what) {
    perror(what);
    exit(1);
}

static inline struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static inline void no_delay(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static inline void write_all(int fd, const void *bytes, size_t count) {
    for (const uint8_t *at = bytes; count > 0;) {
        ssize_t written = write(fd, at, count);
        if (written <= 0) fail("write");
        at += written;
        count -= written;
    }
}

static inline void read_all(int fd, void *bytes, size_t count) {
    for (uint8_t *at = bytes; count > 0;) {
        ssize_t got = read(fd, at, count);
        if (got <= 0) fail("read");
        at += got;
        count -= got;
    }
}

// Reads an HTTP head, byte by byte so as to take nothing of what follows.
static inline void read_head(int fd, char *head, size_t capacity) {
    size_t length = 0;
    while (length < 4 || memcmp(head + length - 4, "\r\n\r\n", 4) != 0) {
        if (length + 1 == capacity) { fprintf(stderr, "the HTTP head is too long\n"); exit(1); }
        read_all(fd, head + length++, 1);
    }
    head[length] = 0;
}

// Writes a final frame's header and returns its length. `key` is NULL for a server's frame.
static inline size_t put_header(uint8_t *to, int opcode, size_t length, const uint8_t *key) {
    size_t at = 0;
    uint8_t masked = key ? 0x80 : 0;
    to[at++] = 0x80 | opcode;
    if (length < 126) {
        to[at++] = masked | length;
    } else {
        int bytes = length < 65536 ? 2 : 8;
        to[at++] = masked | (bytes == 2 ? 126 : 127);
        for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) to[at++] = (uint64_t)length >> shift;
    }
    if (key) { memcpy(to + at, key, 4); at += 4; }
    return at;
}

struct header { bool final, masked; int opcode; uint64_t length; size_t size; };

// Parses a header out of `available` bytes; false when they are too few.
static inline bool get_header(const uint8_t *from, size_t available, struct header *header) {
    if (available < 2) return false;
    header->final = from[0] & 0x80;
    header->opcode = from[0] & 0x0F;
    header->masked = from[1] & 0x80;
    header->length = from[1] & 0x7F;
    int extended = header->length == 126 ? 2 : header->length == 127 ? 8 : 0;
    header->size = 2 + extended + (header->masked ? 4 : 0);
    if (available < header->size) return false;
    if (extended) header->length = 0;
    for (int index = 0; index < extended; index++) header->length = header->length << 8 | from[2 + index];
    return true;
}
