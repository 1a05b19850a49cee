// The opening handshake of RFC 6455 §4, as a client.
#pragma once
#include "net.h"

#define SAMPLE_KEY "dGhlIHNhbXBsZSBub25jZQ=="        // RFC 6455 §1.3
#define SAMPLE_ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" // the required answer

// Writes the request for `path` and returns its length. `extra` holds further header lines, each with its line end.
static inline int put_request(char *to, size_t capacity, int port, const char *path, const char *extra) {
    return snprintf(to, capacity,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: " SAMPLE_KEY "\r\nSec-WebSocket-Version: 13\r\n%s\r\n", path, port, extra);
}

// Ends the program unless `head` accepts the request.
static inline void check_answer(const char *head) {
    if (strncmp(head, "HTTP/1.1 101", 12) != 0) reject("no upgrade: %.*s", (int)strcspn(head, "\r"), head);
    if (!strstr(head, SAMPLE_ACCEPT)) reject("a wrong Sec-WebSocket-Accept, or none");
}

// Requests an upgrade, blocking, and stores the head of the answer.
static inline void upgrade(int fd, int port, const char *path, const char *extra, char *head, size_t capacity) {
    char request[1024];
    write_all(fd, request, put_request(request, sizeof request, port, path, extra));
    size_t length = 0;
    // Byte by byte, so that no later bytes are taken.
    while (length < 4 || memcmp(head + length - 4, "\r\n\r\n", 4) != 0) {
        if (length + 1 == capacity) reject("the HTTP head is too long");
        read_all(fd, head + length++, 1);
    }
    head[length] = 0;
    check_answer(head);
}
