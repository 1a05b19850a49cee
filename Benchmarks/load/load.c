// Loads an echo server and tells what a message costs it.
//
//   load PORT PID CONNECTIONS DEPTH SIZE SECONDS ws|raw
//
// Every connection keeps DEPTH binary messages of SIZE bytes on their way: each echo that comes back is answered with the
// next message. The first echo of each connection is compared byte by byte. Prints one line of JSON: messages per second,
// and nanoseconds of processor time that process PID (all its threads) spent per message. `raw` means no WebSocket: bytes.
#include "wire.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>

struct connection {
    int fd;
    size_t unsent; // messages still to write
    size_t offset; // bytes of the first of them already written
    bool blocked;  // waits until the socket takes more

    uint8_t head[MAX_HEADER]; // the start of a frame header that a read has split
    size_t head_length;
    uint64_t payload_left;
    bool final, data;
};

static const uint8_t key[4] = {0xE5, 0x71, 0x3C, 0x9D};
static bool raw;
static size_t size, depth;
static uint8_t *payload;
static uint8_t *frames; // `depth` copies of the frame, to write many at once
static size_t frame_length;
static int poller;
static uint64_t echoes;

// The exact running time of all threads of a process, which the scheduler keeps.
static double cpu_seconds(int pid) {
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    if (!threads) fail(path);
    double sum = 0;
    for (struct dirent *entry; (entry = readdir(threads));) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", pid, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        unsigned long long nanoseconds;
        if (!file) continue;
        if (fscanf(file, "%llu", &nanoseconds) == 1) sum += nanoseconds * 1e-9;
        fclose(file);
    }
    closedir(threads);
    return sum;
}

static void build_frames(void) {
    payload = malloc(size);
    for (size_t i = 0; i < size; i++) payload[i] = "{\"id\":12345,\"text\":\"hello world\",\"v\":[1,2,3]} "[i % 45];
    uint8_t *frame = malloc(size + MAX_HEADER);
    size_t header = raw ? 0 : put_header(frame, BINARY, size, key);
    for (size_t i = 0; i < size; i++) frame[header + i] = raw ? payload[i] : payload[i] ^ key[i % 4];
    frame_length = header + size;
    frames = malloc(depth * frame_length);
    for (size_t i = 0; i < depth; i++) memcpy(frames + i * frame_length, frame, frame_length);
    free(frame);
}

static void upgrade(int fd, int port) {
    char head[4096];
    int length = snprintf(head, sizeof head,
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", port);
    write_all(fd, head, length);
    read_head(fd, head, sizeof head);
    if (strncmp(head, "HTTP/1.1 101", 12) != 0) { fprintf(stderr, "no upgrade: %s\n", head); exit(1); }
}

// Sends one message, blocking, and compares what comes back.
static void verify(int fd) {
    write_all(fd, frames, frame_length);
    uint8_t *echo = malloc(size);
    size_t received = 0;
    for (struct header header = {0}; !header.final;) {
        if (raw) { header.final = true; header.length = size; }
        uint8_t head[MAX_HEADER];
        for (size_t length = 0; !raw && !get_header(head, length, &header); length++) read_all(fd, head + length, 1);
        if (received + header.length > size) break;
        read_all(fd, echo + received, header.length);
        received += header.length;
    }
    if (received != size || memcmp(echo, payload, size) != 0) { fprintf(stderr, "the echo differs\n"); exit(1); }
    free(echo);
}

static void watch(struct connection *c, int operation) {
    struct epoll_event event = {.events = EPOLLIN | (c->blocked ? EPOLLOUT : 0), .data.ptr = c};
    if (epoll_ctl(poller, operation, c->fd, &event) != 0) fail("epoll_ctl");
}

static struct connection *open_connection(int port) {
    struct connection *c = calloc(1, sizeof *c);
    struct sockaddr_in address = loopback(port);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    no_delay(c->fd);
    if (!raw) upgrade(c->fd, port);
    verify(c->fd);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    watch(c, EPOLL_CTL_ADD);
    return c;
}

static void send_unsent(struct connection *c) {
    bool was_blocked = c->blocked;
    c->blocked = false;
    while (c->unsent > 0 && !c->blocked) {
        ssize_t written = write(c->fd, frames + c->offset, c->unsent * frame_length - c->offset);
        if (written < 0 && errno != EAGAIN) fail("write");
        c->blocked = written < 0;
        if (c->blocked) break;
        size_t total = c->offset + written;
        c->unsent -= total / frame_length;
        c->offset = total % frame_length;
    }
    if (c->blocked != was_blocked) watch(c, EPOLL_CTL_MOD);
}

static void count_echo(struct connection *c) {
    echoes++;
    c->unsent++;
}

static void receive_raw(struct connection *c, size_t count) {
    for (c->payload_left += count; c->payload_left >= size; c->payload_left -= size) count_echo(c);
}

static void receive_frames(struct connection *c, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        if (c->payload_left == 0) {
            struct header header;
            size_t taken = 0;
            do { // almost always at once; byte by byte only where a read has split the header
                c->head[c->head_length++] = bytes[taken++];
            } while (!get_header(c->head, c->head_length, &header) && taken < count);
            bytes += taken;
            count -= taken;
            if (!get_header(c->head, c->head_length, &header)) return;
            if (header.opcode == CLOSE) { fprintf(stderr, "the server closed the connection\n"); exit(1); }
            c->head_length = 0;
            c->payload_left = header.length;
            c->final = header.final;
            c->data = header.opcode < CLOSE;
        }
        size_t step = c->payload_left < count ? c->payload_left : count;
        c->payload_left -= step;
        bytes += step;
        count -= step;
        if (c->payload_left == 0 && c->final && c->data) count_echo(c);
    }
}

static void receive(struct connection *c) {
    static uint8_t bytes[1 << 20];
    ssize_t count = read(c->fd, bytes, sizeof bytes);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) { fprintf(stderr, "the server ended the connection\n"); exit(1); }
    if (raw) receive_raw(c, count);
    else receive_frames(c, bytes, count);
}

static void run_until(double end) {
    struct epoll_event events[256];
    while (now() < end) {
        int count = epoll_wait(poller, events, 256, 50);
        for (int i = 0; i < count; i++) {
            struct connection *c = events[i].data.ptr;
            if (events[i].events & ~EPOLLOUT) receive(c);
            if (c->unsent > 0) send_unsent(c);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 8) { fprintf(stderr, "usage: load PORT PID CONNECTIONS DEPTH SIZE SECONDS ws|raw\n"); return 2; }
    int port = atoi(argv[1]), pid = atoi(argv[2]), connections = atoi(argv[3]);
    depth = atoi(argv[4]);
    size = atoi(argv[5]);
    double seconds = atof(argv[6]);
    raw = strcmp(argv[7], "raw") == 0;

    build_frames();
    poller = epoll_create1(0);
    for (int i = 0; i < connections; i++) {
        struct connection *c = open_connection(port);
        c->unsent = depth;
        send_unsent(c);
    }
    run_until(now() + seconds * 0.3); // warm
    double started = now(), cpu = cpu_seconds(pid);
    uint64_t before = echoes;
    run_until(started + seconds);
    double messages = echoes - before, elapsed = now() - started;
    cpu = cpu_seconds(pid) - cpu;
    if (messages == 0) { fprintf(stderr, "no echo in %g s\n", seconds); return 1; }
    printf("{\"rate\": %.1f, \"cpu\": %.1f}\n", messages / elapsed, cpu * 1e9 / messages);
}
