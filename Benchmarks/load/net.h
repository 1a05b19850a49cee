// Clocks, failures, and TCP on 127.0.0.1.
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// The limit for blocking calls: a silent peer is a failure.
enum { PATIENCE_SECONDS = 10 };

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// Processor time of this process.
static inline double own_cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// Ends the program after a failed system call, with its reason.
_Noreturn static inline void fail(const char *what) {
    perror(what);
    exit(1);
}

// Ends the program after a peer's error.
_Noreturn static inline void reject(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(1);
}

static inline void *allocate(size_t size) {
    void *memory = calloc(1, size);
    if (!memory) fail("calloc");
    return memory;
}

static inline struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static inline void no_delay(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static inline void never_block(int fd) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static inline int connect_to(int port) {
    struct sockaddr_in address = loopback(port);
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) fail("socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    no_delay(fd);
    return fd;
}

static inline int listen_on(int port) {
    struct sockaddr_in address = loopback(port);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) fail("socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) fail("bind");
    if (listen(fd, 4096) != 0) fail("listen");
    never_block(fd);
    return fd;
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
        if (got == 0) reject("the peer ended the connection");
        if (got < 0 && errno == EAGAIN) reject("nothing came for %d s", PATIENCE_SECONDS);
        if (got < 0) fail("read");
        at += got;
        count -= got;
    }
}
