// The fixed, fast server that clients are measured against; a process per connection, blocking.
//
//   sink     prints `listening PORT`
//
// /receive: the client sends the text `SIZE SECONDS`; binary messages of SIZE bytes follow for SECONDS, then the text `end N`.
// /send: the client sends binary messages and then a text; the answer is the text `end N`. N counts the messages.
// Without WebSocket: the line `receive SIZE SECONDS` gets messages without frames and then the end of the stream; the line
// `send` is followed by bytes until the client ends its half of the stream, and answered with `end N`, N counting bytes.
#include "wire.h"
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <signal.h>

static uint8_t buffer[1 << 18];

static void upgrade(int fd, const char *head) {
    const char *field = strcasestr(head, "\r\nSec-WebSocket-Key:");
    char key[128], joined[256], answer[256];
    uint8_t digest[SHA_DIGEST_LENGTH], accept[64];
    if (!field || sscanf(field + 20, " %127s", key) != 1) { fprintf(stderr, "no WebSocket key\n"); exit(1); }
    int length = snprintf(joined, sizeof joined, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    SHA1((uint8_t *)joined, length, digest);
    EVP_EncodeBlock(accept, digest, sizeof digest);
    length = snprintf(answer, sizeof answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept);
    write_all(fd, answer, length);
}

static void send_end(int fd, uint64_t count, bool framed) {
    char text[40];
    uint8_t header[MAX_HEADER];
    int length = snprintf(text, sizeof text, "end %llu", (unsigned long long)count);
    if (framed) write_all(fd, header, put_header(header, TEXT, length, NULL));
    write_all(fd, text, length);
}

// Writes messages, many at a time, for `seconds`; returns how many.
static uint64_t blast(int fd, size_t size, double seconds, bool framed) {
    uint8_t header[MAX_HEADER];
    size_t header_size = framed ? put_header(header, BINARY, size, NULL) : 0;
    size_t length = header_size + size, copies = length < sizeof buffer ? sizeof buffer / length : 1;
    uint8_t *messages = malloc(copies * length);
    memset(messages, 'x', copies * length);
    for (size_t i = 0; framed && i < copies; i++) memcpy(messages + i * length, header, header_size);
    uint64_t count = 0;
    for (double end = now() + seconds; now() < end; count += copies) write_all(fd, messages, copies * length);
    free(messages);
    return count;
}

// Reads a client's frames; returns at its first text, which it stores, with the number of binary messages before.
static uint64_t count_messages(int fd, char *text, size_t capacity) {
    uint64_t count = 0;
    size_t held = 0;
    for (;;) {
        ssize_t got = read(fd, buffer + held, sizeof buffer - held);
        if (got <= 0) fail("read");
        held += got;
        size_t at = 0;
        struct header header;
        while (get_header(buffer + at, held - at, &header)) {
            size_t available = held - at - header.size;
            const uint8_t *payload = buffer + at + header.size;
            if (header.opcode == TEXT) {
                if (header.length >= capacity) { fprintf(stderr, "the text is too long\n"); exit(1); }
                if (available < header.length) break;
                for (size_t i = 0; i < header.length; i++) text[i] = payload[i] ^ payload[-4 + (int)(i % 4)];
                text[header.length] = 0;
                return count;
            }
            count += header.final && header.opcode < CLOSE;
            at += header.size + (available < header.length ? available : header.length);
            for (uint64_t left = header.length - (available < header.length ? available : header.length); left > 0;) {
                got = read(fd, buffer, left < sizeof buffer ? left : sizeof buffer);
                if (got <= 0) fail("read");
                left -= got;
                at = held = 0;
            }
        }
        memmove(buffer, buffer + at, held - at);
        held -= at;
    }
}

static uint64_t count_bytes(int fd) {
    uint64_t count = 0;
    for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;) count += got;
    return count;
}

static void serve_websocket(int fd) {
    char head[8192], text[64];
    read_head(fd, head, sizeof head);
    upgrade(fd, head);
    uint64_t count = count_messages(fd, text, sizeof text);
    size_t size;
    double seconds;
    if (strncmp(head, "GET /receive", 12) != 0) {
        send_end(fd, count, true);
    } else if (sscanf(text, "%zu %lf", &size, &seconds) == 2) {
        send_end(fd, blast(fd, size, seconds, true), true);
    }
}

static void serve_raw(int fd) {
    char line[64];
    size_t length = 0, size;
    double seconds;
    do read_all(fd, line + length, 1);
    while (line[length++] != '\n' && length < sizeof line - 1);
    line[length] = 0;
    if (sscanf(line, "receive %zu %lf", &size, &seconds) == 2) blast(fd, size, seconds, false);
    else if (strcmp(line, "send\n") == 0) send_end(fd, count_bytes(fd), false);
}

static void serve(int fd) {
    char first;
    no_delay(fd);
    if (recv(fd, &first, 1, MSG_PEEK) != 1) exit(1);
    if (first == 'G') serve_websocket(fd);
    else serve_raw(fd);
    // The client is to end first, so that nothing of the answer is lost.
    shutdown(fd, SHUT_WR);
    count_bytes(fd);
    exit(0);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN); // nobody waits for the children
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 16) != 0) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("listening %d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) fail("accept");
        if (fork() == 0) serve(fd);
        close(fd);
    }
}
