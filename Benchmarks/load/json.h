// Messages for the compressed workload: typical JSON of services, all different, the same in every run.
#pragma once
#include "net.h"

static inline uint32_t next_random(uint32_t *state) { // xorshift, Marsaglia 2003
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

// Writes message `number` with exactly `size` bytes, at least 256. It is a list of trades, as in a market feed.
static inline void put_json(uint8_t *to, size_t size, uint32_t number) {
    static const char *const symbols[] = {"AAPL", "MSFT", "NVDA", "AMZN", "GOOG", "TSLA", "ASML", "SAP", "NESN", "NOVO", "TSM", "SHEL"};
    uint32_t random = number * 2654435761u + 1;
    char text[256];
    if (size < sizeof text) reject("a JSON message has at least %zu bytes", sizeof text);
    size_t at = snprintf(text, sizeof text, "{\"channel\":\"trades\",\"sequence\":%u,\"trades\":[", 480000 + number);
    memcpy(to, text, at);
    for (bool first = true;; first = false) {
        size_t length = snprintf(text, sizeof text,
            "%s{\"id\":\"%08x%08x\",\"symbol\":\"%s\",\"price\":%u.%02u,\"size\":%u,\"side\":\"%s\"}",
            first ? "" : ",", next_random(&random), next_random(&random),
            symbols[next_random(&random) % (sizeof symbols / sizeof *symbols)], 20 + next_random(&random) % 900,
            next_random(&random) % 100, 1 + next_random(&random) % 5000, next_random(&random) % 2 ? "buy" : "sell");
        if (at + length > size - 12) break;
        memcpy(to + at, text, length);
        at += length;
    }
    // A field of digits fills the rest.
    memcpy(to + at, "],\"pad\":\"", 9);
    for (at += 9; at < size - 2; at++) to[at] = '0' + next_random(&random) % 10;
    memcpy(to + size - 2, "\"}", 2);
}
