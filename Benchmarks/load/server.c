// A minimal WebSocket server on epoll, near the limit of what is possible. Clients are measured against it.
//
//   server PORT
//
// /echo   (and any other path) sends every message back.
// /blast  takes the text `COUNT SIZE` and sends COUNT binary messages of SIZE bytes, then the text `end`.
// /sink   counts binary messages; a text is answered with their number as text.
//
// It trusts its clients: no limits, no UTF-8 check, and fragments are echoed as they come.
#include "frame.h"
#include "net.h"
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <signal.h>
#include <sys/epoll.h>

enum { READ_SIZE = 512 * 1024, BLAST_SIZE = 256 * 1024 };

struct bytes {
    uint8_t *at;
    size_t length, capacity;
};

struct blast {
    struct bytes batch;  // several messages in a row
    size_t frame_length; // of one of them
    uint64_t left;       // bytes still to write, of all messages
    size_t offset;       // in the batch
};

struct connection {
    int fd;
    enum { HANDSHAKE, ECHO, BLAST, SINK } state;
    struct bytes held;   // the start of an incomplete frame
    size_t frame_length; // of that frame, if known; else 0
    uint64_t to_skip;    // a sink reads no payload
    uint64_t counted;
    struct bytes unsent; // bytes that the socket did not accept
    size_t unsent_offset;
    struct blast *blast;
    bool watches_room;
};

static int poller;
static uint8_t read_buffer[READ_SIZE];
static struct bytes replies; // to the small frames of one read, written at once

static void reserve(struct bytes *bytes, size_t capacity) {
    if (bytes->capacity >= capacity) return;
    bytes->capacity = capacity > 2 * bytes->capacity ? capacity : 2 * bytes->capacity;
    bytes->at = realloc(bytes->at, bytes->capacity);
    if (!bytes->at) fail("realloc");
}

static void append(struct bytes *bytes, const uint8_t *from, size_t count) {
    reserve(bytes, bytes->length + count);
    memcpy(bytes->at + bytes->length, from, count);
    bytes->length += count;
}

static void release(struct bytes *bytes) {
    free(bytes->at);
    *bytes = (struct bytes){0};
}

// Requests events for reading, and for writing if bytes are waiting.
static void watch(struct connection *c, bool room) {
    if (c->watches_room == room) return;
    c->watches_room = room;
    struct epoll_event event = {.events = EPOLLIN | (room ? EPOLLOUT : 0), .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event) != 0) fail("epoll_ctl");
}

static void send_bytes(struct connection *c, const uint8_t *bytes, size_t count) {
    if (c->unsent.length > 0) {
        append(&c->unsent, bytes, count);
        return;
    }
    ssize_t written = write(c->fd, bytes, count);
    if (written < 0) written = 0; // a broken connection is noticed at the next read
    if ((size_t)written == count) return;
    append(&c->unsent, bytes + written, count - written);
    c->unsent_offset = 0;
    watch(c, true);
}

static void send_text(struct connection *c, const char *text) {
    uint8_t frame[64];
    size_t header = put_header(frame, FINAL | TEXT, strlen(text), NULL);
    memcpy(frame + header, text, strlen(text));
    send_bytes(c, frame, header + strlen(text));
}

static void send_unsent(struct connection *c) {
    ssize_t written = write(c->fd, c->unsent.at + c->unsent_offset, c->unsent.length - c->unsent_offset);
    if (written > 0) c->unsent_offset += written;
    if (c->unsent_offset < c->unsent.length) return;
    release(&c->unsent);
    watch(c, false);
}

static void free_blast(struct connection *c) {
    if (c->blast) release(&c->blast->batch);
    free(c->blast);
    c->blast = NULL;
}

// Writes as much of the blast as the socket accepts.
static void go_on_blasting(struct connection *c) {
    struct blast *blast = c->blast;
    while (blast->left > 0) {
        size_t most = blast->batch.length - blast->offset;
        ssize_t written = write(c->fd, blast->batch.at + blast->offset, most < blast->left ? most : blast->left);
        if (written < 0) {
            watch(c, true);
            return;
        }
        blast->left -= written;
        blast->offset = (blast->offset + written) % blast->frame_length; // any message of the batch may be sent
    }
    free_blast(c);
    watch(c, false);
    send_text(c, "end");
}

static void start_blast(struct connection *c, const uint8_t *order, size_t length) {
    char text[64] = {0};
    unsigned long long count, size;
    memcpy(text, order, length < 63 ? length : 63);
    if (sscanf(text, "%llu %llu", &count, &size) != 2) return;
    uint8_t header[MAX_HEADER];
    size_t header_size = put_header(header, FINAL | BINARY, size, NULL), frame_length = header_size + size;
    size_t copies = frame_length < BLAST_SIZE ? BLAST_SIZE / frame_length : 1;
    free_blast(c);
    c->blast = allocate(sizeof *c->blast);
    c->blast->frame_length = frame_length;
    c->blast->left = count * frame_length;
    reserve(&c->blast->batch, copies * frame_length);
    c->blast->batch.length = copies * frame_length;
    memset(c->blast->batch.at, 'x', copies * frame_length);
    for (size_t i = 0; i < copies; i++) memcpy(c->blast->batch.at + i * frame_length, header, header_size);
    go_on_blasting(c);
}

static void flush_replies(struct connection *c) {
    if (replies.length > 0) send_bytes(c, replies.at, replies.length);
    replies.length = 0;
}

static void echo(struct connection *c, int first, const struct header *header, uint8_t *payload, const uint8_t *key) {
    uint8_t head[MAX_HEADER];
    size_t length = header->length, head_length = put_header(head, first, length, NULL);
    if (length < 16384) {
        reserve(&replies, replies.length + head_length + length);
        memcpy(replies.at + replies.length, head, head_length);
        mask(replies.at + replies.length + head_length, payload, length, key, 0);
        replies.length += head_length + length;
    } else { // in place: the reply's header is shorter than the one it overwrites
        flush_replies(c);
        mask(payload, payload, length, key, 0);
        memcpy(payload - head_length, head, head_length);
        send_bytes(c, payload - head_length, head_length + length);
    }
}

// Handles a complete frame. Returns false when the connection must end.
static bool handle(struct connection *c, uint8_t *frame, const struct header *header) {
    uint8_t *payload = frame + header->size, key[MASK_SIZE];
    memcpy(key, payload - MASK_SIZE, MASK_SIZE);
    if (header->opcode == CLOSE) {
        const uint8_t close_frame[] = {FINAL | CLOSE, 0};
        flush_replies(c);
        send_bytes(c, close_frame, sizeof close_frame);
        return false;
    }
    if (header->opcode == PING) {
        echo(c, FINAL | PONG, header, payload, key);
    } else if (header->opcode == PONG) {
        return true;
    } else if (c->state == ECHO) {
        echo(c, frame[0], header, payload, key);
    } else if (header->opcode == TEXT && c->state == SINK) {
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)c->counted);
        c->counted = 0;
        send_text(c, text);
    } else if (header->opcode == TEXT) {
        mask(payload, payload, header->length, key, 0);
        start_blast(c, payload, header->length);
    } else {
        c->counted += header->final; // a message may come in fragments
    }
    return true;
}

// Handles the complete frames in `bytes` and stores their number of bytes. Returns false when the connection must end.
static bool handle_frames(struct connection *c, uint8_t *bytes, size_t count, size_t *used) {
    struct header header;
    size_t at = c->to_skip < count ? c->to_skip : count;
    bool going_on = true;
    c->to_skip -= at;
    c->frame_length = 0;
    while (going_on && get_header(bytes + at, count - at, &header)) {
        if (!header.masked) return false;
        size_t length = header.size + header.length;
        if (length > count - at) {
            if (c->state != SINK || header.opcode > BINARY || header.opcode == TEXT) {
                c->frame_length = length;
                break;
            }
            c->counted += header.final;
            c->to_skip = length - (count - at);
            at = count;
            break;
        }
        going_on = handle(c, bytes + at, &header);
        at += length;
    }
    flush_replies(c);
    *used = at;
    return going_on;
}

static bool shake_hands(struct connection *c, char *head) {
    const char *field = strcasestr(head, "\r\nSec-WebSocket-Key:");
    char key[128], joined[256], answer[256];
    uint8_t digest[SHA_DIGEST_LENGTH], accept[64];
    if (!strstr(head, "\r\n\r\n") || !field || sscanf(field + 20, " %127s", key) != 1) return false;
    int length = snprintf(joined, sizeof joined, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    SHA1((uint8_t *)joined, length, digest);
    EVP_EncodeBlock(accept, digest, sizeof digest);
    length = snprintf(answer, sizeof answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept);
    send_bytes(c, (uint8_t *)answer, length);
    c->state = strncmp(head, "GET /sink", 9) == 0 ? SINK : strncmp(head, "GET /blast", 10) == 0 ? BLAST : ECHO;
    return true;
}

// Reads after the start of an incomplete frame. A large one is read exactly to its end, so that no bytes are moved.
static ssize_t read_more(struct connection *c) {
    size_t missing = c->frame_length > c->held.length ? c->frame_length - c->held.length : 0;
    size_t most = missing > 65536 ? missing : missing + 65536;
    reserve(&c->held, c->held.length + most);
    return read(c->fd, c->held.at + c->held.length, most);
}

// Reads once and handles the input. Returns false when the connection must end.
static bool receive(struct connection *c) {
    bool holds = c->held.length > 0;
    ssize_t got = holds ? read_more(c) : read(c->fd, read_buffer, sizeof read_buffer - 1);
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    if (c->state == HANDSHAKE) { // a client sends nothing between its request and the answer
        read_buffer[got] = 0;
        return shake_hands(c, (char *)read_buffer);
    }
    size_t used;
    if (!holds) {
        if (!handle_frames(c, read_buffer, got, &used)) return false;
        if ((size_t)got > used) {
            reserve(&c->held, c->frame_length);
            append(&c->held, read_buffer + used, got - used);
        }
        return true;
    }
    c->held.length += got;
    if (c->held.length < c->frame_length) return true;
    if (!handle_frames(c, c->held.at, c->held.length, &used)) return false;
    c->held.length -= used;
    memmove(c->held.at, c->held.at + used, c->held.length);
    return true;
}

static void end(struct connection *c) {
    close(c->fd);
    release(&c->held);
    release(&c->unsent);
    free_blast(c);
    free(c);
}

static void accept_all(int listener) {
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
        struct connection *c = allocate(sizeof *c);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        no_delay(fd);
        c->fd = fd;
        if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
    }
}

int main(int argc, char **argv) {
    if (argc != 2) reject("usage: server PORT");
    signal(SIGPIPE, SIG_IGN);
    poller = epoll_create1(0);
    int listener = listen_on(atoi(argv[1]));
    struct epoll_event events[256] = {{.events = EPOLLIN}}; // the listener's has no connection
    if (epoll_ctl(poller, EPOLL_CTL_ADD, listener, &events[0]) != 0) fail("epoll_ctl");
    for (;;) {
        int ready = epoll_wait(poller, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (!c) {
                accept_all(listener);
                continue;
            }
            if (events[i].events & EPOLLOUT) c->blast ? go_on_blasting(c) : send_unsent(c);
            if (events[i].events & ~EPOLLOUT && !receive(c)) end(c);
        }
    }
}
