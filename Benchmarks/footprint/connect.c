// The same with libwebsockets: connects, prints the first message, and ends.
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int finished;

static int hear(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *bytes, size_t size) {
    (void)wsi, (void)user;
    if (reason == LWS_CALLBACK_CLIENT_RECEIVE) printf("%.*s\n", (int)size, (char *)bytes);
    if (reason == LWS_CALLBACK_CLIENT_RECEIVE || reason == LWS_CALLBACK_CLIENT_CONNECTION_ERROR) finished = 1;
    return 0;
}

int main(int count, char **words) {
    if (count < 4) return 64;
    const struct lws_protocols protocols[] = {{"hear", hear, 0, 4096, 0, NULL, 0}, {NULL, NULL, 0, 0, 0, NULL, 0}};
    struct lws_context_creation_info with = {.port = CONTEXT_PORT_NO_LISTEN, .protocols = protocols};
    lws_set_log_level(LLL_ERR, NULL);
    with.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    struct lws_context *context = lws_create_context(&with);
    if (!context) return 1;
    struct lws_client_connect_info to = {.context = context, .address = words[2], .port = atoi(words[3]), .path = "/", .host = words[2]};
    to.ssl_connection = strcmp(words[1], "wss") ? 0 : LCCSCF_USE_SSL;
    lws_client_connect_via_info(&to);
    while (!finished && lws_service(context, 0) >= 0) {}
    lws_context_destroy(context);
    return 0;
}
