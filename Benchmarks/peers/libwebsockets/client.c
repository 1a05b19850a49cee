// libwebsockets as a client on its own event loop: client MODE PORT SIZE COUNT.
#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>

#include "../measure.h"

#define IO_BUFFER (64 << 10)

static struct measure measured;
static unsigned char *payload; // with LWS_PRE bytes in front
static size_t trips, counted, arrived;
static char answer[32];
static double sent_at;
static int order_due, finished;

static int write_binary(struct lws *wsi) { return lws_write(wsi, payload + LWS_PRE, measured.size, LWS_WRITE_BINARY) < 0; }

static int write_text(struct lws *wsi, const char *text) {
    unsigned char buffer[LWS_PRE + 64];
    size_t size = strlen(text);
    memcpy(buffer + LWS_PRE, text, size);
    return lws_write(wsi, buffer + LWS_PRE, size, LWS_WRITE_TEXT) < 0;
}

static void finish(void) {
    measure_stop(&measured);
    finished = 1;
}

static int write_ping(struct lws *wsi) {
    if (trips == measured.warm_up) measure_start(&measured);
    sent_at = measure_now();
    return write_binary(wsi);
}

static int write_order(struct lws *wsi) {
    char order[64];
    snprintf(order, sizeof order, "%zu %zu", measured.count, measured.size);
    return write_text(wsi, order);
}

// Sends until the socket is full, and requests another call.
static int pump(struct lws *wsi) {
    while (counted < measured.count) {
        if (lws_send_pipe_choked(wsi)) return lws_callback_on_writable(wsi) < 0;
        if (write_binary(wsi)) return 1;
        counted++;
    }
    order_due = 0;
    return write_text(wsi, "end");
}

static int writable(struct lws *wsi) {
    if (!order_due) return 0;
    if (measure_is(&measured, "send")) return pump(wsi);
    order_due = 0;
    return measure_is(&measured, "ping") ? write_ping(wsi) : write_order(wsi);
}

static void received_binary(struct lws *wsi) {
    measure_check("size of a message", arrived, measured.size);
    if (!measure_is(&measured, "ping")) {
        counted++;
        return;
    }
    if (trips >= measured.warm_up) measure_sample(&measured, measure_now() - sent_at);
    if (++trips == measured.warm_up + measured.count) {
        finish();
    } else {
        order_due = 1;
        lws_callback_on_writable(wsi);
    }
}

static void received_text(void) {
    finish();
    if (measure_is(&measured, "send")) counted = strtoull(answer, NULL, 10);
    measure_check("messages", counted, measured.count);
}

// Messages arrive in pieces. The last piece of the last fragment completes one.
static void received(struct lws *wsi, const char *bytes, size_t size) {
    if (!lws_frame_is_binary(wsi) && arrived + size < sizeof answer) memcpy(answer + arrived, bytes, size);
    arrived += size;
    if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi)) return;
    if (lws_frame_is_binary(wsi)) received_binary(wsi);
    else received_text();
    arrived = 0;
}

static int handle(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *bytes, size_t size) {
    (void)user;
    switch (reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        if (!measure_is(&measured, "ping")) measure_start(&measured);
        order_due = 1;
        lws_callback_on_writable(wsi);
        break;
    case LWS_CALLBACK_CLIENT_WRITEABLE: return writable(wsi) ? -1 : 0;
    case LWS_CALLBACK_CLIENT_RECEIVE: received(wsi, bytes, size); break;
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    case LWS_CALLBACK_CLIENT_CLOSED:
        if (!finished) measure_fail("answers", 0, 1);
        break;
    default: break;
    }
    return 0;
}

static const struct lws_protocols protocols[] = {
    {"client", handle, 0, IO_BUFFER, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

static void connect_to(struct lws_context *context) {
    struct lws_client_connect_info info;
    memset(&info, 0, sizeof info);
    info.context = context;
    info.address = info.host = info.origin = "127.0.0.1";
    info.port = measured.port;
    info.path = measure_path(&measured);
    info.local_protocol_name = protocols[0].name;
    if (!lws_client_connect_via_info(&info)) measure_fail("connections", 0, 1);
}

int main(int argc, char **argv) {
    measured = measure_parse(argc, argv);
    payload = malloc(LWS_PRE + measured.size);
    lws_set_log_level(LLL_ERR, NULL);
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.port = CONTEXT_PORT_NO_LISTEN;
    info.protocols = protocols;
    info.pt_serv_buf_size = IO_BUFFER;
    struct lws_context *context = lws_create_context(&info);
    if (!context) return 1;
    connect_to(context);
    while (!finished && lws_service(context, 0) >= 0) continue;
    measure_print(&measured);
    return 0;
}
