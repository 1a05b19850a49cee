// Puts the same load on our hub, on Mosquitto (MQTT 3.1.1) and on a Socket.IO server, each over WebSocket on 127.0.0.1.
//
//   driver PEER PORT stored ROOMS SECONDS [PUBLISHERS]   publishes to all rooms, as fast as acks come back
//   driver PEER PORT fanout MEMBERS SECONDS [WINDOW]     one publisher, MEMBERS members in one room
//   driver PEER PORT latency MEMBERS SECONDS RATE        the same, RATE messages a second, each timed until a member has it
//   driver PEER PORT idle CONNECTIONS                    joins, writes `ready`, and stays until its input ends
//
// PEER is holdfast, mosquitto or socketio. One thread and epoll. The driver reports its own processor time, so that one can see that it is
// not the limit, and the time of the process SERVER_PID. The output is one line of JSON. Masks are zero (RFC 6455 §5.3
// requires randomness only against hostile scripts).
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BODY = 64, SETUP_SECONDS = 120, MAX_SAMPLES = 4000000, PER_ADDRESS = 20000 };
enum peer { HOLDFAST, MOSQUITTO, SOCKETIO };

struct connection {
    int fd, number;
    bool upgraded, joined, publishes, wants_write;
    int rooms, first_room;        // the rooms that it is in, from this one on
    int states;                   // rooms joined so far
    int in_flight;
    int64_t next_id;              // of Socket.IO's acks and MQTT's packets
    int next_room;
    int64_t *cseq;                // per room
    uint8_t *in;                  // an incomplete frame
    size_t in_count, in_capacity;
    uint8_t *stream;              // MQTT packets are independent of messages
    size_t stream_count, stream_capacity;
    uint8_t *out;
    size_t out_count, out_capacity;
};

static enum peer peer;
static int epoll_fd, port, room_count = 1;
static struct connection *connections;
static int connection_count, ready_count;
static int window = 32;           // the maximum number of a publisher's messages without an ack
static bool measuring, timing;
static int64_t acked, delivered, published;
static float *samples;
static int64_t sample_count;
static double *sent_at;           // by a number that the message contains
static int64_t sent_count;
static double due;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// Seconds of processor time of the server, on all its threads.
static double server_cpu(void) {
    const char *pid = getenv("SERVER_PID");
    char path[64], stat[1024];
    snprintf(path, sizeof path, "/proc/%s/stat", pid ? pid : "self");
    int file = open(path, O_RDONLY);
    ssize_t length = file < 0 ? 0 : read(file, stat, sizeof stat - 1);
    if (file >= 0) close(file);
    stat[length > 0 ? length : 0] = 0;
    unsigned long user = 0, system = 0;
    char *fields = strrchr(stat, ')');
    if (fields) sscanf(fields + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return (double)(user + system) / sysconf(_SC_CLK_TCK);
}

_Noreturn static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "driver: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    exit(1);
}

static void append(uint8_t **bytes, size_t *count, size_t *capacity, const void *more, size_t length) {
    if (*count + length > *capacity) {
        *capacity = (*count + length) * 2;
        *bytes = realloc(*bytes, *capacity);
        if (!*bytes) fail("no memory");
    }
    memcpy(*bytes + *count, more, length);
    *count += length;
}

// MARK: writing

static void flush(struct connection *c) {
    size_t done = 0;
    while (done < c->out_count) {
        ssize_t n = write(c->fd, c->out + done, c->out_count - done);
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) fail("connection %d ended on writing: %s", c->number, strerror(errno));
        done += n;
    }
    memmove(c->out, c->out + done, c->out_count - done);
    c->out_count -= done;
    bool wants = c->out_count > 0;
    if (wants != c->wants_write) {
        struct epoll_event event = {.events = EPOLLIN | (wants ? EPOLLOUT : 0), .data.ptr = c};
        epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &event);
        c->wants_write = wants;
    }
    if (!wants && c->out_capacity > 65536) {
        free(c->out);
        c->out = NULL;
        c->out_capacity = 0;
    }
}

// A WebSocket frame with a zero mask. It is sent with the next flush.
static void say(struct connection *c, int opcode, const void *payload, size_t length) {
    uint8_t head[14] = {0x80 | opcode};
    size_t n = 2;
    if (length < 126) {
        head[1] = 0x80 | length;
    } else if (length < 65536) {
        head[1] = 0x80 | 126;
        head[2] = length >> 8, head[3] = length;
        n = 4;
    } else {
        head[1] = 0x80 | 127;
        for (int i = 0; i < 8; i++) head[2 + i] = (uint64_t)length >> (56 - 8 * i);
        n = 10;
    }
    append(&c->out, &c->out_count, &c->out_capacity, head, n + 4);
    append(&c->out, &c->out_count, &c->out_capacity, payload, length);
}

static void say_text(struct connection *c, const char *format, ...) {
    static char text[262144];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n >= (int)sizeof text) fail("too long a text");
    say(c, 1, text, n);
}

static void mqtt(struct connection *c, uint8_t type, const void *body, size_t length) {
    uint8_t packet[4096];
    size_t n = 0, left = length;
    packet[n++] = type;
    do {
        packet[n++] = (left & 127) | (left > 127 ? 128 : 0);
        left >>= 7;
    } while (left);
    if (n + length > sizeof packet) fail("too long a packet");
    memcpy(packet + n, body, length);
    say(c, 2, packet, n + length);
}

static size_t mqtt_text(uint8_t *to, const char *text) {
    size_t length = strlen(text);
    to[0] = length >> 8, to[1] = length;
    memcpy(to + 2, text, length);
    return length + 2;
}

// MARK: input from the peers

// A connection has joined all its rooms.
static void joined(struct connection *c) {
    if (++c->states != (c->rooms ? c->rooms : 1) || c->joined) return;
    c->joined = true;
    ready_count++;
}

static void publish(struct connection *c) {
    int room = c->first_room + c->next_room;
    c->next_room = (c->next_room + 1) % c->rooms;
    int64_t number = -1;
    // Counted from the planned time, so that waiting for acks is included.
    if (timing && sent_count < MAX_SAMPLES) sent_at[number = sent_count++] = due;
    char body[BODY + 64];
    int n = snprintf(body, sizeof body, "{\"n\":%" PRId64 ",\"text\":\"", number);
    while (n < BODY - 2) body[n++] = 'x';
    n += snprintf(body + n, sizeof body - n, "\"}");
    c->in_flight++;
    published++;
    if (peer == HOLDFAST) {
        int64_t cseq = ++c->cseq[room - c->first_room];
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        say_text(c, "{\"t\":\"pub\",\"room\":\"r%d\",\"cseq\":%" PRId64 ",\"id\":\"%08x-%04x-7000-8000-%012" PRIx64 "\",\"at\":%" PRId64
            ",\"type\":\"bench\",\"body\":%.*s}", room, cseq, c->number, room & 0xFFFF, (uint64_t)cseq,
            (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000, n, body);
    } else if (peer == SOCKETIO) {
        say_text(c, "42%" PRId64 "[\"pub\",\"r%d\",%.*s]", ++c->next_id, room, n, body);
    } else {
        uint8_t packet[256];
        char topic[32];
        snprintf(topic, sizeof topic, "r%d", room);
        size_t at = mqtt_text(packet, topic);
        c->next_id = c->next_id % 65535 + 1;
        packet[at++] = c->next_id >> 8, packet[at++] = c->next_id;
        memcpy(packet + at, body, n);
        mqtt(c, 0x32, packet, at + n);
    }
}

// Members report the number in a message.
static void received(const uint8_t *payload, size_t length) {
    delivered++;
    if (!timing) return;
    const char *found = memmem(payload, length, "{\"n\":", 5);
    if (!found) fail("a message without a number");
    int64_t number = strtoll(found + 5, NULL, 10);
    if (number >= 0 && number < sent_count && sample_count < MAX_SAMPLES) samples[sample_count++] = now() - sent_at[number];
}

static void acknowledged(struct connection *c, int count) {
    c->in_flight -= count;
    acked += count;
}

static int occurrences(const uint8_t *payload, size_t length, const char *what) {
    int count = 0;
    size_t n = strlen(what);
    const uint8_t *end = payload + length;
    while ((payload = memmem(payload, end - payload, what, n))) count++, payload += n;
    return count;
}

static void heard_holdfast(struct connection *c, const uint8_t *p, size_t n) {
    if (n > 11 && !memcmp(p, "{\"t\":\"msg\"", 10)) {
        const uint8_t *end = p + n, *at = p;
        while ((at = memmem(at, end - at, "\"device\":\"", 10))) {
            received(at, end - at);
            at += 10;
        }
    } else if (n > 11 && !memcmp(p, "{\"t\":\"ack\"", 10)) {
        acknowledged(c, occurrences(p, n, "\"cseq\":"));
    } else if (n > 13 && !memcmp(p, "{\"t\":\"state\"", 12)) {
        joined(c);
    } else if (n > 13 && (!memcmp(p, "{\"t\":\"error\"", 12) || !memcmp(p, "{\"t\":\"hole\"", 11) || !memcmp(p, "{\"t\":\"lag\"", 10))) {
        fail("%.*s", (int)(n < 300 ? n : 300), p);
    }
}

static void heard_socketio(struct connection *c, const uint8_t *p, size_t n) {
    if (n == 0) return;
    if (p[0] == '0') {
        say_text(c, "40");
    } else if (p[0] == '2') {
        say_text(c, "3");
    } else if (p[0] == '4' && n > 1 && p[1] == '0') {
        if (!c->rooms) joined(c);
        for (int i = 0; i < c->rooms; i++) say_text(c, "42%" PRId64 "[\"join\",\"r%d\"]", ++c->next_id, c->first_room + i);
    } else if (p[0] == '4' && n > 1 && p[1] == '3') {
        if (c->joined) acknowledged(c, 1); else joined(c);
    } else if (p[0] == '4' && n > 1 && p[1] == '2') {
        received(p, n);
    }
}

static void heard_mqtt(struct connection *c, const uint8_t *p, size_t n) {
    append(&c->stream, &c->stream_count, &c->stream_capacity, p, n);
    size_t at = 0;
    while (c->stream_count - at >= 2) {
        const uint8_t *packet = c->stream + at;
        size_t left = c->stream_count - at, head = 1, length = 0, shift = 0;
        bool whole = false;
        while (head < left && head < 5) {
            length |= (size_t)(packet[head] & 127) << shift;
            shift += 7;
            if (!(packet[head++] & 128)) { whole = true; break; }
        }
        if (!whole || left < head + length) break;
        const uint8_t *body = packet + head;
        switch (packet[0] >> 4) {
        case 2: {  // CONNACK
            if (body[1]) fail("refused with %d", body[1]);
            if (!c->rooms) { joined(c); break; }
            for (int i = 0; i < c->rooms; i++) {
                uint8_t subscribe[64] = {(i + 1) >> 8, i + 1};
                char topic[32];
                snprintf(topic, sizeof topic, "r%d", c->first_room + i);
                size_t count = 2 + mqtt_text(subscribe + 2, topic);
                subscribe[count++] = 1;
                mqtt(c, 0x82, subscribe, count);
            }
            break;
        }
        case 9: joined(c); break;
        case 4: acknowledged(c, 1); break;
        case 3: {
            size_t topic = body[0] << 8 | body[1];
            if (packet[0] & 6) mqtt(c, 0x40, body + 2 + topic, 2);
            received(body, length);
            break;
        }
        }
        at += head + length;
    }
    memmove(c->stream, c->stream + at, c->stream_count - at);
    c->stream_count -= at;
}

static void upgraded(struct connection *c) {
    c->upgraded = true;
    if (peer == HOLDFAST) {
        static char joins[131072];
        int n = 0;
        // Only the last entries, because stored messages of an earlier round are not measured.
        for (int i = 0; i < c->rooms; i++)
            n += snprintf(joins + n, sizeof joins - n, "%s{\"room\":\"r%d\",\"seq\":-1,\"next\":1}", i ? "," : "", c->first_room + i);
        say_text(c, "{\"t\":\"hello\",\"v\":[1],\"device\":\"%08x%08x%016" PRIx64 "\",\"token\":\"dev:u%d\",\"joins\":[%s]}",
            (unsigned)time(NULL), (unsigned)getpid(), (uint64_t)c->number, c->number, joins);
        if (!c->rooms) joined(c);
    } else if (peer == MOSQUITTO) {
        uint8_t connect[128];
        char name[64];
        size_t n = mqtt_text(connect, "MQTT");
        connect[n++] = 4, connect[n++] = 0, connect[n++] = 0, connect[n++] = 0;  // a persistent session, no keep-alive
        snprintf(name, sizeof name, "d%d-%d", (int)getpid(), c->number);
        n += mqtt_text(connect + n, name);
        mqtt(c, 0x10, connect, n);
    }
}

// MARK: reading

static void read_frames(struct connection *c) {
    size_t at = 0;
    if (!c->upgraded) {
        uint8_t *end = memmem(c->in, c->in_count, "\r\n\r\n", 4);
        if (!end) return;
        if (c->in_count < 12 || memcmp(c->in + 9, "101", 3)) fail("no upgrade: %.*s", (int)(end - c->in), c->in);
        at = end + 4 - c->in;
        upgraded(c);
    }
    while (c->in_count - at >= 2) {
        const uint8_t *frame = c->in + at;
        size_t left = c->in_count - at, head = 2, length = frame[1] & 127;
        if (length == 126) {
            if (left < 4) break;
            length = frame[2] << 8 | frame[3], head = 4;
        } else if (length == 127) {
            if (left < 10) break;
            length = 0, head = 10;
            for (int i = 0; i < 8; i++) length = length << 8 | frame[2 + i];
        }
        if (left < head + length) break;
        const uint8_t *payload = frame + head;
        switch (frame[0] & 15) {
        case 8: fail("connection %d was closed with %d", c->number, length > 1 ? payload[0] << 8 | payload[1] : 0);
        case 9: say(c, 10, payload, length); break;
        case 10: break;
        default:
            if (!(frame[0] & 0x80)) fail("a message in parts");
            if (peer == HOLDFAST) heard_holdfast(c, payload, length);
            else if (peer == SOCKETIO) heard_socketio(c, payload, length);
            else heard_mqtt(c, payload, length);
        }
        at += head + length;
    }
    memmove(c->in, c->in + at, c->in_count - at);
    c->in_count -= at;
    // Ten thousand idle connections keep no buffers.
    if (c->in_count == 0 && c->in_capacity > 0) {
        free(c->in);
        c->in = NULL;
        c->in_capacity = 0;
    }
}

static void readable(struct connection *c) {
    static uint8_t bytes[262144];
    ssize_t n = read(c->fd, bytes, sizeof bytes);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) fail("connection %d ended: %s", c->number, n ? strerror(errno) : "closed by the peer");
    append(&c->in, &c->in_count, &c->in_capacity, bytes, n);
    read_frames(c);
    if (measuring && c->publishes && !timing) while (c->in_flight < window) publish(c);
    flush(c);
}

static void turn(int milliseconds) {
    struct epoll_event events[1024];
    int count = epoll_wait(epoll_fd, events, 1024, milliseconds);
    for (int i = 0; i < count; i++) {
        struct connection *c = events[i].data.ptr;
        if (events[i].events & EPOLLOUT) flush(c);
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) readable(c);
    }
}

// MARK: kinds of work

static struct connection *open_one(int first_room, int rooms, bool publishes) {
    struct connection *c = &connections[connection_count];
    c->number = connection_count++;
    (c->first_room = first_room), (c->rooms = rooms), (c->publishes = publishes);
    c->cseq = calloc(rooms ? rooms : 1, sizeof *c->cseq);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    // An address has some 28,000 ports for this.
    int late = 1;
    setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &late, sizeof late);
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + c->number / PER_ADDRESS)};
    if (c->fd < 0 || bind(c->fd, (void *)&from, sizeof from)) fail("connection %d: %s", c->number, strerror(errno));
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(c->fd, (void *)&to, sizeof to)) fail("connection %d: %s", c->number, strerror(errno));
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &event);
    const char *paths[] = {"/rooms", "/mqtt", "/socket.io/?EIO=4&transport=websocket"};
    const char *protocols[] = {"Sec-WebSocket-Protocol: holdfast.rooms.v1.json\r\n", "Sec-WebSocket-Protocol: mqtt\r\n", ""};
    char head[512];
    int n = snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n%s\r\n", paths[peer], port, protocols[peer]);
    append(&c->out, &c->out_count, &c->out_capacity, head, n);
    flush(c);
    // A hundred at a time, because the backlog is short.
    double patience = now() + SETUP_SECONDS;
    while (connection_count - ready_count > 100) {
        turn(1000);
        if (now() > patience) fail("only %d of %d are ready", ready_count, connection_count);
    }
    return c;
}

static void all_ready(void) {
    double patience = now() + SETUP_SECONDS;
    while (ready_count < connection_count) {
        turn(1000);
        if (now() > patience) fail("only %d of %d are ready", ready_count, connection_count);
    }
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double percentile(double share) { return sample_count ? samples[(int64_t)(share * (sample_count - 1))] * 1e3 : 0; }

// Publishes as acks arrive, after a warm-up of a second, or longer until every member has some messages.
static void measure(double seconds, int members) {
    measuring = true;
    for (int i = 0; i < connection_count; i++) {
        if (!connections[i].publishes) continue;
        while (connections[i].in_flight < window) publish(&connections[i]);
        flush(&connections[i]);
    }
    double warm = now() + 1, patience = now() + 30;
    while (now() < warm || (delivered < 2LL * members && now() < patience)) turn(100);
    int64_t acked_before = acked, delivered_before = delivered;
    double start = now(), start_cpu = cpu(), start_server = server_cpu(), end = start + seconds;
    // A slow server with many members completes nothing in that time, so it gets more time.
    while (now() < end || (delivered - delivered_before < members && now() < end + 15)) turn(100);
    double took = now() - start, server = server_cpu() - start_server;
    int64_t acks = acked - acked_before, deliveries = delivered - delivered_before;
    printf("{\"acked_per_second\":%.1f,\"delivered_per_second\":%.1f,\"driver_cpu\":%.3f,\"server_cpu\":%.3f,"
        "\"us_per_ack\":%.3f,\"us_per_delivery\":%.3f}\n", acks / took, deliveries / took, (cpu() - start_cpu) / took, server / took,
        acks ? server * 1e6 / acks : 0, deliveries ? server * 1e6 / deliveries : 0);
}

static void latency(double seconds, double rate) {
    struct connection *publisher = &connections[connection_count - 1];
    samples = malloc(MAX_SAMPLES * sizeof *samples);
    sent_at = malloc(MAX_SAMPLES * sizeof *sent_at);
    if (!samples || !sent_at) fail("no memory");
    timing = true;
    double start = now(), start_cpu = cpu();
    int64_t count = (int64_t)(seconds * rate);
    for (int64_t i = 0; i < count; i++) {
        due = start + i / rate;
        while (now() < due || publisher->in_flight >= window) turn(due - now() > 0.002 ? 1 : 0);
        publish(publisher);
        flush(publisher);
    }
    double took = now() - start, end = now() + 2;
    while (now() < end && acked < published) turn(100);
    end = now() + 0.5;
    while (now() < end) turn(100);
    qsort(samples, sample_count, sizeof *samples, by_value);
    printf("{\"sent\":%" PRId64 ",\"timed\":%" PRId64 ",\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"driver_cpu\":%.3f}\n", published, sample_count,
        percentile(0.5), percentile(0.99), (cpu() - start_cpu) / took);
}

int main(int argc, char **argv) {
    if (argc < 5) fail("see the head of driver.c");
    const char *peers[] = {"holdfast", "mosquitto", "socketio"};
    for (peer = HOLDFAST; peer <= SOCKETIO && strcmp(argv[1], peers[peer]); peer++) {}
    if (peer > SOCKETIO) fail("no such peer: %s", argv[1]);
    port = atoi(argv[2]);
    epoll_fd = epoll_create1(0);
    const char *work = argv[3];
    int count = atoi(argv[4]);
    connections = calloc(count + 1024, sizeof *connections);
    if (!connections) fail("no memory");
    if (!strcmp(work, "stored") && argc >= 6) {
        room_count = count;
        // One member has all rooms, so that every message has a recipient.
        open_one(0, room_count, false);
        int publishers = argc > 6 ? atoi(argv[6]) : 8;
        for (int i = 0; i < publishers; i++) {
            // Publishers share one room, or each has its own.
            int share = room_count / publishers;
            if (share < 1) open_one(i % room_count, 1, true); else open_one(i * share, share, true);
        }
        all_ready();
        measure(atof(argv[5]), 1);
    } else if (!strcmp(work, "fanout") && argc >= 6) {
        for (int i = 0; i < count; i++) open_one(0, 1, false);
        open_one(0, 1, true);
        if (argc > 6) window = atoi(argv[6]);
        all_ready();
        measure(atof(argv[5]), count);
    } else if (!strcmp(work, "latency") && argc >= 7) {
        for (int i = 0; i < count; i++) open_one(0, 1, false);
        open_one(0, 1, true);
        all_ready();
        latency(atof(argv[5]), atof(argv[6]));
    } else if (!strcmp(work, "idle")) {
        for (int i = 0; i < count; i++) open_one(0, 1, false);
        all_ready();
        printf("ready\n");
        fflush(stdout);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
        int input = epoll_create1(0);
        epoll_ctl(input, EPOLL_CTL_ADD, 0, &event);
        struct epoll_event got;
        while (epoll_wait(input, &got, 1, 0) == 0) turn(100);
    } else {
        fail("no such work: %s", work);
    }
    return 0;
}
