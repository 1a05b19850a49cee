// libwebsockets as an echo server on its own event loop: server PORT. DEFLATE=1 accepts permessage-deflate.
//
// Version 4.1 aborts at the echo of an empty compressed message.
#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>

#define IO_BUFFER (64 << 10)

// A waiting message, with the space in front that lws_write() needs for the header.
struct reply {
    struct reply *next;
    size_t size;
    enum lws_write_protocol kind;
    unsigned char bytes[];
};

// The state of a connection: replies in order, the one being written, and the arriving message.
struct session {
    struct reply *first, *last, *leaving, *arriving;
    size_t capacity;
};

static int deflates;

// Messages arrive in pieces. The last piece of the last fragment completes one.
static void receive(struct lws *wsi, struct session *session, const void *bytes, size_t size) {
    size_t before = session->arriving ? session->arriving->size : 0;
    if (!session->arriving || before + size > session->capacity) {
        size_t announced = before + size + lws_remaining_packet_payload(wsi);
        session->capacity = before && announced < 2 * before ? 2 * before : announced;
        session->arriving = realloc(session->arriving, sizeof(struct reply) + LWS_PRE + session->capacity);
    }
    memcpy(session->arriving->bytes + LWS_PRE + before, bytes, size);
    session->arriving->size = before + size;
    if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi)) return;

    struct reply *reply = session->arriving;
    session->arriving = NULL;
    reply->next = NULL;
    reply->kind = lws_frame_is_binary(wsi) ? LWS_WRITE_BINARY : LWS_WRITE_TEXT;
    if (session->last) session->last->next = reply;
    else session->first = reply;
    session->last = reply;
    lws_callback_on_writable(wsi);
}

static struct reply *remove_first(struct session *session) {
    struct reply *reply = session->first;
    session->first = reply->next;
    if (!session->first) session->last = NULL;
    return reply;
}

// Writes replies until the socket is full or none is left. Compressed input may be read until the next callback, and until then
// no other reply may be written.
static int write_replies(struct lws *wsi, struct session *session) {
    while (session->first) {
        free(session->leaving);
        struct reply *reply = session->leaving = remove_first(session);
        if (lws_write(wsi, reply->bytes + LWS_PRE, reply->size, reply->kind) < 0) return -1;
        if (deflates || lws_send_pipe_choked(wsi)) break;
    }
    if (session->first) lws_callback_on_writable(wsi);
    return 0;
}

// Buffer sizes are powers of two. With the default of 1 KiB most messages take several turns.
static void set_up_deflate(struct lws *wsi) {
    lws_set_extension_option(wsi, "permessage-deflate", "compression_level", "6");
    lws_set_extension_option(wsi, "permessage-deflate", "rx_buf_size", "16");
    lws_set_extension_option(wsi, "permessage-deflate", "tx_buf_size", "16");
}

static int handle(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *bytes, size_t size) {
    struct session *session = user;
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED:
        memset(session, 0, sizeof *session);
        if (deflates) set_up_deflate(wsi);
        break;
    case LWS_CALLBACK_RECEIVE: receive(wsi, session, bytes, size); break;
    case LWS_CALLBACK_SERVER_WRITEABLE: return write_replies(wsi, session);
    case LWS_CALLBACK_CLOSED:
        while (session->first) free(remove_first(session));
        free(session->leaving);
        free(session->arriving);
        break;
    default: break;
    }
    return 0;
}

static const struct lws_protocols protocols[] = {
    {"echo", handle, sizeof(struct session), IO_BUFFER, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};
static const struct lws_extension extensions[] = {
    {"permessage-deflate", lws_extension_callback_pm_deflate, "permessage-deflate"},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    deflates = getenv("DEFLATE") != NULL;
    lws_set_log_level(LLL_ERR, NULL);
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.iface = "127.0.0.1";
    info.port = atoi(argv[1]);
    info.protocols = protocols;
    info.options = LWS_SERVER_OPTION_DISABLE_IPV6;
    info.pt_serv_buf_size = IO_BUFFER;
    if (deflates) info.extensions = extensions;
    struct lws_context *context = lws_create_context(&info);
    if (!context) return 1;
    while (lws_service(context, 0) >= 0) continue;
    lws_context_destroy(context);
    return 0;
}
