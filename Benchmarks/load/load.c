// Loads an echo server and measures its cost per message.
//
//   load PORT PID CONNECTIONS DEPTH SIZE SECONDS raw|ws|deflate
//
// Every connection keeps DEPTH messages of SIZE bytes in flight: each echo is answered with the next message.
// `raw`: bytes without WebSocket. `ws`: binary messages. `deflate`: JSON as compressed text, all messages different.
//
// The first echoes of every connection are compared byte by byte. Then a quarter of SECONDS warms up, then the clock runs.
// Frames are prepared with one mask key: the server has the same work with any key, and the load has less.
//
// Prints one line of JSON: messages, seconds, and the processor times of process PID (all its threads) and of the load.
// With one message in flight (CONNECTIONS 1, DEPTH 1) also the median and the 99th percentile of round trips, in µs.
#include "compressed.h"
#include "frame.h"
#include "handshake.h"
#include "process.h"
#include "stream.h"
#include <sys/epoll.h>

enum { READ_SIZE = 1 << 20, MAX_SAMPLES = 1 << 22 };

struct connection {
    int fd;
    bool blocked; // waits until the socket accepts more

    size_t owed;   // messages still to write
    size_t frame;  // the stream's frame to write next
    size_t offset; // how much of it is written
    double sent;   // the time of the last one, with one message in flight

    uint8_t head[MAX_HEADER]; // the received part of a frame header
    size_t head_length;
    uint64_t payload_left;
    bool final, data;

    struct check *check; // while first echoes are compared
};

// The received part of an echo that is compared.
struct check {
    size_t to_compare, compared; // messages
    uint8_t *bytes;
    size_t length, capacity;
    bool compressed;
    z_stream inflater;
    uint8_t *inflated;
};

static struct stream stream;
static enum kind { RAW, WS, DEFLATE } kind;
static size_t size, depth;
static int poller;
static uint64_t echoes;
static int checks_left;

static bool sampling;
static uint32_t *samples; // nanoseconds
static size_t sample_count;

static void watch(struct connection *c, int operation) {
    struct epoll_event event = {.events = EPOLLIN | (c->blocked ? EPOLLOUT : 0), .data.ptr = c};
    if (epoll_ctl(poller, operation, c->fd, &event) != 0) fail("epoll_ctl");
}

static void send_owed(struct connection *c) {
    bool was_blocked = c->blocked;
    c->blocked = false;
    if (depth == 1) c->sent = now();
    while (c->owed > 0 && !c->blocked) {
        if (stream.uniform) c->frame = 0; // all frames are alike: starting with the first, one write can hold as many as possible
        size_t end = c->frame + c->owed < stream.frames ? c->frame + c->owed : stream.frames;
        size_t from = stream.starts[c->frame] + c->offset;
        ssize_t written = write(c->fd, stream.bytes + from, stream.starts[end] - from);
        if (written < 0 && errno != EAGAIN) fail("write");
        c->blocked = written < 0;
        if (c->blocked) break;
        size_t next = c->frame;
        while (next < end && stream.starts[next + 1] <= from + written) next++;
        c->owed -= next - c->frame;
        c->offset = from + written - stream.starts[next];
        c->frame = next == stream.frames ? stream.repeat_from : next;
    }
    if (c->blocked != was_blocked) watch(c, EPOLL_CTL_MOD);
}

// The messages to compare with.
static void expected_message(uint8_t *to, size_t index) {
    if (kind == DEFLATE) put_json(to, size, index % CYCLE);
    else put_plain_payload(to, size);
}

static void start_check(struct connection *c) {
    struct check *check = c->check = allocate(sizeof *check);
    check->to_compare = kind == DEFLATE ? 4 : 1;
    check->capacity = 2 * size + 64;
    check->bytes = allocate(check->capacity);
    check->inflated = allocate(size + 1);
    start_inflating(&check->inflater);
    c->owed = 1;
    checks_left++;
}

static void end_check(struct connection *c) {
    inflateEnd(&c->check->inflater);
    free(c->check->bytes);
    free(c->check->inflated);
    free(c->check);
    c->check = NULL;
    checks_left--;
}

// Compares an echo, and requests the next one until enough have been compared.
static void compare(struct connection *c) {
    struct check *check = c->check;
    uint8_t *expected = allocate(size), *echo = check->bytes;
    size_t length = check->length;
    expected_message(expected, check->compared);
    if (kind == DEFLATE) {
        if (!check->compressed) reject("the server does not compress its messages");
        if (length + sizeof flush_end > check->capacity) reject("the echo is too long");
        memcpy(check->bytes + length, flush_end, sizeof flush_end);
        length = inflate_message(&check->inflater, check->inflated, size + 1, check->bytes, length);
        echo = check->inflated;
    }
    if (length != size || memcmp(echo, expected, size) != 0) reject("the echo differs: %zu bytes came, not %zu alike", length, size);
    free(expected);
    check->length = 0;
    if (++check->compared == check->to_compare) end_check(c);
    else c->owed++;
}

static void keep(struct check *check, const uint8_t *bytes, size_t count) {
    if (check->length + count > check->capacity) reject("the echo is too long");
    memcpy(check->bytes + check->length, bytes, count);
    check->length += count;
}

static void echo_came(struct connection *c) {
    echoes++;
    if (c->check) {
        compare(c);
        return;
    }
    if (sampling && sample_count < MAX_SAMPLES) samples[sample_count++] = (now() - c->sent) * 1e9;
    c->owed++;
}

static void receive_raw(struct connection *c, const uint8_t *bytes, size_t count) {
    if (c->check) keep(c->check, bytes, count);
    for (c->payload_left += count; c->payload_left >= size; c->payload_left -= size) echo_came(c);
}

// Takes a header or a part of one out of `bytes`. Returns the number of bytes.
static size_t receive_header(struct connection *c, const uint8_t *bytes, size_t count) {
    struct header header;
    size_t taken;
    if (c->head_length == 0 && get_header(bytes, count, &header)) {
        taken = header.size;
    } else { // a read has split it
        for (taken = 0; taken < count;) {
            c->head[c->head_length++] = bytes[taken++];
            if (get_header(c->head, c->head_length, &header)) break;
        }
        if (!get_header(c->head, c->head_length, &header)) return taken;
        c->head_length = 0;
    }
    if (header.opcode == CLOSE) reject("the server closed the connection");
    if (header.masked) reject("the server masks its frames");
    c->payload_left = header.length;
    c->final = header.final;
    c->data = header.opcode < CLOSE;
    if (c->check && header.opcode != 0) c->check->compressed = header.compressed;
    if (c->payload_left == 0 && c->final && c->data) echo_came(c);
    return taken;
}

static void receive_frames(struct connection *c, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        size_t step;
        if (c->payload_left == 0) {
            step = receive_header(c, bytes, count);
        } else {
            step = c->payload_left < count ? c->payload_left : count;
            if (c->check && c->data) keep(c->check, bytes, step);
            c->payload_left -= step;
            if (c->payload_left == 0 && c->final && c->data) echo_came(c);
        }
        bytes += step;
        count -= step;
    }
}

static void run_until(double end, bool checking) {
    static uint8_t buffer[READ_SIZE];
    struct epoll_event events[256];
    while (now() < end && !(checking && checks_left == 0)) {
        int ready = epoll_wait(poller, events, 256, 100);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (events[i].events & ~EPOLLOUT) {
                ssize_t got = read(c->fd, buffer, sizeof buffer);
                if (got == 0) reject("the server ended the connection");
                if (got < 0 && errno != EAGAIN) fail("read");
                if (got > 0) kind == RAW ? receive_raw(c, buffer, got) : receive_frames(c, buffer, got);
            }
            if (c->owed > 0) send_owed(c);
        }
    }
}

static void offer_compression(int fd, int port) {
    char head[4096];
    upgrade(fd, port, "/echo", "Sec-WebSocket-Extensions: permessage-deflate\r\n", head, sizeof head);
    if (!strstr(head, "permessage-deflate")) reject("the server does not agree to compress");
    if (strstr(head, "no_context_takeover")) reject("the server gives up context takeover");
}

static struct connection *open_connection(int port) {
    char head[4096];
    struct connection *c = allocate(sizeof *c);
    c->fd = connect_to(port);
    if (kind == WS) upgrade(c->fd, port, "/echo", "", head, sizeof head);
    if (kind == DEFLATE) offer_compression(c->fd, port);
    never_block(c->fd);
    watch(c, EPOLL_CTL_ADD);
    return c;
}

static int ascending(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv) {
    if (argc != 8) {
        fprintf(stderr, "usage: load PORT PID CONNECTIONS DEPTH SIZE SECONDS raw|ws|deflate\n");
        return 2;
    }
    int port = atoi(argv[1]), pid = atoi(argv[2]), count = atoi(argv[3]);
    depth = atoi(argv[4]);
    size = atoi(argv[5]);
    double seconds = atof(argv[6]);
    kind = strcmp(argv[7], "raw") == 0 ? RAW : strcmp(argv[7], "ws") == 0 ? WS : DEFLATE;
    stream = kind == RAW ? raw_stream(size, depth) : kind == WS ? plain_stream(size, depth) : compressed_stream(size);

    poller = epoll_create1(0);
    struct connection **connections = allocate(count * sizeof *connections);
    for (int i = 0; i < count; i++) connections[i] = open_connection(port);

    for (int i = 0; i < count; i++) {
        start_check(connections[i]);
        send_owed(connections[i]);
    }
    run_until(now() + PATIENCE_SECONDS, true);
    if (checks_left > 0) reject("%d of %d connections did not get their first echo", checks_left, count);

    for (int i = 0; i < count; i++) {
        connections[i]->owed = depth;
        send_owed(connections[i]);
    }
    run_until(now() + seconds / 4, false);

    if (count == 1 && depth == 1) samples = allocate(MAX_SAMPLES * sizeof *samples);
    sampling = samples != NULL;
    uint64_t before = echoes;
    double started = now(), cpu = cpu_seconds(pid), load_cpu = own_cpu_seconds();
    run_until(started + seconds, false);
    double elapsed = now() - started;
    cpu = cpu_seconds(pid) - cpu;
    load_cpu = own_cpu_seconds() - load_cpu;
    if (echoes == before) reject("no echo in %g s", seconds);

    printf("{\"messages\": %llu, \"seconds\": %.6f, \"cpu\": %.6f, \"load_cpu\": %.6f", (unsigned long long)(echoes - before), elapsed,
        cpu, load_cpu);
    if (sample_count > 0) {
        qsort(samples, sample_count, sizeof *samples, ascending);
        printf(", \"p50\": %.2f, \"p99\": %.2f", samples[sample_count / 2] / 1e3, samples[sample_count * 99 / 100] / 1e3);
    }
    printf("}\n");
}
