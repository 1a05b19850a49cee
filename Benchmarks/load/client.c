// A WebSocket client that reads and writes as much as possible at once: the reference for clients.
//
//   client ping|receive|send PORT SIZE COUNT
//
// See ../peers/README.md for the modes and the output. Each sent frame has its own mask key from a
// fast generator with a random seed. A browser's client would need a better one.
#include "frame.h"
#include "handshake.h"
#include "json.h"
#include <sys/random.h>

enum { BATCH = 256 * 1024, WARM_UP_LIMIT = 2000 };

// Received bytes that are not taken yet: bytes[start ..< end].
struct input {
    int fd;
    uint8_t *bytes;
    size_t start, end, capacity;
};

// The bytes to write.
struct output {
    int fd;
    uint8_t bytes[BATCH];
    size_t length;
    uint32_t random;
};

struct message {
    int opcode;
    const uint8_t *bytes; // in the input, until the next message is taken
    size_t length;
};

static struct input input;
static struct output output;

// Reads until at least `wanted` bytes are available. A large message is read exactly to its end, so that no bytes are moved.
static void read_until(size_t wanted) {
    if (input.start > 0) {
        memmove(input.bytes, input.bytes + input.start, input.end - input.start);
        input.end -= input.start;
        input.start = 0;
    }
    while (input.end < wanted) {
        size_t most = wanted > BATCH / 2 ? wanted : input.capacity;
        ssize_t got = read(input.fd, input.bytes + input.end, most - input.end);
        if (got == 0) reject("the server ended the connection");
        if (got < 0) fail("read");
        input.end += got;
    }
}

static struct message next_message(void) {
    struct header header;
    while (!get_header(input.bytes + input.start, input.end - input.start, &header)) read_until(input.end - input.start + 1);
    size_t length = header.size + header.length;
    if (!header.final || header.masked || header.opcode == CLOSE || length > input.capacity) reject("an unexpected frame");
    if (input.end - input.start < length) read_until(length);
    struct message message = {header.opcode, input.bytes + input.start + header.size, header.length};
    input.start += length;
    return message;
}

static void flush(void) {
    write_all(output.fd, output.bytes, output.length);
    output.length = 0;
}

// Masks a message into the output, which is written when it is full.
static void put_message(int opcode, const uint8_t *payload, size_t size) {
    if (output.length + MAX_HEADER > BATCH) flush();
    uint32_t key = next_random(&output.random);
    output.length += put_header(output.bytes + output.length, FINAL | opcode, size, (uint8_t *)&key);
    for (size_t at = 0; at < size;) {
        size_t room = BATCH - output.length, step = size - at < room ? size - at : room;
        mask(output.bytes + output.length, payload + at, step, (uint8_t *)&key, at);
        output.length += step;
        at += step;
        if (output.length == BATCH) flush();
    }
}

static void put_text(const char *text) { put_message(TEXT, (const uint8_t *)text, strlen(text)); }

static double started, cpu;

static void start_clock(void) {
    started = now();
    cpu = own_cpu_seconds();
}

static void stop_clock(void) {
    cpu = own_cpu_seconds() - cpu;
    started = now() - started;
}

static int ascending(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void ping(const uint8_t *payload, size_t size, size_t count) {
    size_t warm_up = count / 10 + 1 < WARM_UP_LIMIT ? count / 10 + 1 : WARM_UP_LIMIT;
    uint32_t *samples = allocate(count * sizeof *samples);
    for (size_t i = 0; i < warm_up + count; i++) {
        if (i == warm_up) start_clock();
        double sent = now();
        put_message(BINARY, payload, size);
        flush();
        struct message echo = next_message();
        if (echo.length != size || echo.opcode != BINARY) reject("the echo differs");
        if (i >= warm_up) samples[i - warm_up] = (now() - sent) * 1e9;
    }
    stop_clock();
    qsort(samples, count, sizeof *samples, ascending);
    printf("{\"messages\": %zu, \"seconds\": %.6f, \"cpu\": %.6f, \"p50\": %.2f, \"p99\": %.2f}\n", count, started, cpu,
        samples[count / 2] / 1e3, samples[count * 99 / 100] / 1e3);
}

static void print_result(size_t count) {
    printf("{\"messages\": %zu, \"seconds\": %.6f, \"cpu\": %.6f}\n", count, started, cpu);
}

static void receive(size_t size, size_t count) {
    char request[64];
    snprintf(request, sizeof request, "%zu %zu", count, size);
    start_clock();
    put_text(request);
    flush();
    size_t received = 0;
    struct message message;
    for (; (message = next_message()).opcode == BINARY; received++) {
        if (message.length != size) reject("a message of %zu bytes", message.length);
    }
    stop_clock();
    if (received != count || message.length != 3 || memcmp(message.bytes, "end", 3) != 0) reject("%zu messages came", received);
    print_result(count);
}

static void send_messages(const uint8_t *payload, size_t size, size_t count) {
    start_clock();
    for (size_t i = 0; i < count; i++) put_message(BINARY, payload, size);
    put_text("end");
    flush();
    struct message answer = next_message();
    stop_clock();
    char counted[32] = {0};
    memcpy(counted, answer.bytes, answer.length < 31 ? answer.length : 31);
    if (strtoull(counted, NULL, 10) != count) reject("the server counted %s", counted);
    print_result(count);
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: client ping|receive|send PORT SIZE COUNT\n");
        return 2;
    }
    const char *mode = argv[1];
    int port = atoi(argv[2]);
    size_t size = atoll(argv[3]), count = atoll(argv[4]);
    const char *path = strcmp(mode, "ping") == 0 ? "/echo" : strcmp(mode, "receive") == 0 ? "/blast" : "/sink";
    char head[4096];
    int fd = connect_to(port);
    upgrade(fd, port, path, "", head, sizeof head);

    input = (struct input){.fd = fd, .capacity = size + MAX_HEADER > BATCH ? size + MAX_HEADER : BATCH};
    input.bytes = allocate(input.capacity);
    output.fd = fd;
    if (getrandom(&output.random, sizeof output.random, 0) != sizeof output.random) fail("getrandom");
    output.random |= 1;
    uint8_t *payload = allocate(size + 1);
    memset(payload, 'x', size);

    if (strcmp(mode, "ping") == 0) ping(payload, size, count);
    else if (strcmp(mode, "receive") == 0) receive(size, count);
    else send_messages(payload, size, count);
}
