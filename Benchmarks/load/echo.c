// Echoes bytes without WebSocket: the cost of TCP itself.
//
//   echo PORT
#include "net.h"
#include <signal.h>
#include <sys/epoll.h>

struct connection {
    int fd;
    uint8_t *unsent; // bytes that the socket did not accept; nothing is read meanwhile
    size_t length, offset;
};

static int poller;

static void watch(struct connection *c, int operation, int what) {
    struct epoll_event event = {.events = what, .data.ptr = c};
    if (epoll_ctl(poller, operation, c->fd, &event) != 0) fail("epoll_ctl");
}

static void accept_all(int listener) {
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
        struct connection *c = allocate(sizeof *c);
        no_delay(fd);
        c->fd = fd;
        watch(c, EPOLL_CTL_ADD, EPOLLIN);
    }
}

static void end(struct connection *c) {
    close(c->fd);
    free(c->unsent);
    free(c);
}

static void read_and_echo(struct connection *c) {
    static uint8_t buffer[512 * 1024];
    ssize_t got = read(c->fd, buffer, sizeof buffer);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
        end(c);
        return;
    }
    ssize_t written = write(c->fd, buffer, got);
    if (written < 0) written = 0;
    if (written == got) return;
    c->length = got - written;
    c->offset = 0;
    c->unsent = allocate(c->length);
    memcpy(c->unsent, buffer + written, c->length);
    watch(c, EPOLL_CTL_MOD, EPOLLOUT);
}

static void write_unsent(struct connection *c) {
    ssize_t written = write(c->fd, c->unsent + c->offset, c->length - c->offset);
    if (written < 0 && errno != EAGAIN) {
        end(c);
        return;
    }
    if (written > 0) c->offset += written;
    if (c->offset < c->length) return;
    free(c->unsent);
    c->unsent = NULL;
    watch(c, EPOLL_CTL_MOD, EPOLLIN);
}

int main(int argc, char **argv) {
    if (argc != 2) reject("usage: echo PORT");
    signal(SIGPIPE, SIG_IGN);
    poller = epoll_create1(0);
    struct connection listener = {.fd = listen_on(atoi(argv[1]))};
    watch(&listener, EPOLL_CTL_ADD, EPOLLIN);
    for (struct epoll_event events[256];;) {
        int ready = epoll_wait(poller, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (c == &listener) accept_all(listener.fd);
            else if (c->unsent) write_unsent(c);
            else read_and_echo(c);
        }
    }
}
