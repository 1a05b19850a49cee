// Measures the memory of a server for an idle connection.
//
//   idle PORT PID CONNECTIONS raw|upgraded|ws|tls
//
// `raw`: TCP only. `upgraded`: after an HTTP upgrade, bytes without frames. `ws`: WebSocket. `tls`: WebSocket over TLS.
// Each connection gets one small echo, compared byte by byte, so that it has been used. A tenth more connections are opened
// first and not counted, because of the server's one-time allocations.
//
// Prints one line of JSON: connections, bytes of anonymous memory of process PID per connection, and of resident memory.
#include "frame.h"
#include "handshake.h"
#include "process.h"
#include "stream.h"
#include <openssl/ssl.h>
#include <sys/resource.h>

enum { MESSAGE_SIZE = 32 };

// The transport: TCP, or TLS over it.
struct wire {
    int fd;
    SSL *tls;
};

static SSL_CTX *tls_context;

static void put(struct wire *wire, const void *bytes, size_t count) {
    if (!wire->tls) write_all(wire->fd, bytes, count);
    else if (SSL_write(wire->tls, bytes, count) != (int)count) reject("SSL_write");
}

static void take(struct wire *wire, void *bytes, size_t count) {
    if (!wire->tls) {
        read_all(wire->fd, bytes, count);
        return;
    }
    for (uint8_t *at = bytes; count > 0;) {
        int got = SSL_read(wire->tls, at, count);
        if (got <= 0) reject("SSL_read");
        at += got;
        count -= got;
    }
}

static void start_tls(struct wire *wire) {
    wire->tls = SSL_new(tls_context);
    SSL_set_fd(wire->tls, wire->fd);
    if (SSL_connect(wire->tls) != 1) reject("no TLS");
}

static void ask_for_upgrade(struct wire *wire, int port) {
    char request[1024], head[4096];
    put(wire, request, put_request(request, sizeof request, port, "/echo", ""));
    size_t length = 0;
    while (length < 4 || memcmp(head + length - 4, "\r\n\r\n", 4) != 0) {
        if (length + 1 == sizeof head) reject("the HTTP head is too long");
        take(wire, head + length++, 1);
    }
    head[length] = 0;
    check_answer(head);
}

static void echo_once(struct wire *wire, bool framed) {
    uint8_t sent[MESSAGE_SIZE], frame[MESSAGE_SIZE + MAX_HEADER], echo[MESSAGE_SIZE + 2];
    put_plain_payload(sent, sizeof sent);
    size_t header = framed ? put_header(frame, FINAL | BINARY, sizeof sent, load_key) : 0;
    if (framed) mask(frame + header, sent, sizeof sent, load_key, 0);
    else memcpy(frame, sent, sizeof sent);
    put(wire, frame, header + sizeof sent);
    size_t skip = framed ? 2 : 0; // the header of a short frame
    take(wire, echo, skip + sizeof sent);
    if (framed && (echo[0] != (FINAL | BINARY) || echo[1] != sizeof sent)) reject("the echo's frame differs");
    if (memcmp(echo + skip, sent, sizeof sent) != 0) reject("the echo differs");
}

static void open_connections(int count, int port, const char *kind) {
    bool raw = strcmp(kind, "raw") == 0, framed = !raw && strcmp(kind, "upgraded") != 0;
    for (int i = 0; i < count; i++) {
        struct wire wire = {.fd = connect_to(port)};
        if (tls_context) start_tls(&wire);
        if (!raw) ask_for_upgrade(&wire, port);
        echo_once(&wire, framed);
    }
}

// The memory after the server has become idle.
static struct memory memory_at_rest(int pid) {
    usleep(1000 * 1000);
    return memory_of(pid);
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: idle PORT PID CONNECTIONS raw|upgraded|ws|tls\n");
        return 2;
    }
    int port = atoi(argv[1]), pid = atoi(argv[2]), count = atoi(argv[3]);
    const char *kind = argv[4];
    if (strcmp(kind, "tls") == 0) {
        tls_context = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_mode(tls_context, SSL_MODE_RELEASE_BUFFERS);
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    open_connections(count / 10, port, kind);
    struct memory before = memory_at_rest(pid);
    open_connections(count, port, kind);
    struct memory after = memory_at_rest(pid);
    printf("{\"connections\": %d, \"bytes\": %.0f, \"resident\": %.0f}\n", count, (after.anonymous - before.anonymous) / (double)count,
        (after.resident - before.resident) / (double)count);
}
