// Opens, upgrades and closes connections as fast as a server allows.
//
//   accept PORT PID AT_ONCE SECONDS
//
// AT_ONCE connections are open at any time. Every answer must be `101`. The first one is checked completely.
// They are closed with a reset, because otherwise this machine's ports would be used up within seconds.
//
// Prints one line of JSON: handshakes, seconds, and the processor time that process PID and the load spent in them.
#include "handshake.h"
#include "process.h"
#include <sys/epoll.h>

struct connection {
    int fd;
    size_t length;
    char head[2048];
};

static int poller, port;
static char request[1024];
static int request_length;
static uint64_t handshakes;

static void start(struct connection *c) {
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    c->fd = connect_to(port);
    c->length = 0;
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    write_all(c->fd, request, request_length);
    never_block(c->fd);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event) != 0) fail("epoll_ctl");
}

// Takes the received part of the answer. Returns true when it is complete.
static bool finish(struct connection *c) {
    ssize_t got = read(c->fd, c->head + c->length, sizeof c->head - 1 - c->length);
    if (got < 0 && errno == EAGAIN) return false;
    if (got < 0) fail("read");
    if (got == 0) reject("the server ended the connection or answered at too great length");
    c->length += got;
    if (c->length < 4 || memcmp(c->head + c->length - 4, "\r\n\r\n", 4) != 0) return false;
    c->head[c->length] = 0;
    if (handshakes == 0) check_answer(c->head);
    if (memcmp(c->head, "HTTP/1.1 101", 12) != 0) reject("no upgrade: %.12s", c->head);
    handshakes++;
    close(c->fd);
    return true;
}

static void run_until(double end) {
    struct epoll_event events[256];
    double last = now();
    while (now() < end) {
        int ready = epoll_wait(poller, events, 256, 100);
        if (ready > 0) last = now();
        else if (now() - last > PATIENCE_SECONDS) reject("the server has fallen silent");
        for (int i = 0; i < ready; i++) {
            if (finish(events[i].data.ptr)) start(events[i].data.ptr);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: accept PORT PID AT_ONCE SECONDS\n");
        return 2;
    }
    port = atoi(argv[1]);
    int pid = atoi(argv[2]), at_once = atoi(argv[3]);
    double seconds = atof(argv[4]);
    request_length = put_request(request, sizeof request, port, "/echo", "");
    poller = epoll_create1(0);
    for (int i = 0; i < at_once; i++) start(allocate(sizeof(struct connection)));
    run_until(now() + seconds / 4);

    uint64_t before = handshakes;
    double started = now(), cpu = cpu_seconds(pid), load_cpu = own_cpu_seconds();
    run_until(started + seconds);
    double elapsed = now() - started;
    cpu = cpu_seconds(pid) - cpu;
    load_cpu = own_cpu_seconds() - load_cpu;
    if (handshakes == before) reject("no handshake in %g s", seconds);
    printf("{\"messages\": %llu, \"seconds\": %.6f, \"cpu\": %.6f, \"load_cpu\": %.6f}\n", (unsigned long long)(handshakes - before),
        elapsed, cpu, load_cpu);
}
