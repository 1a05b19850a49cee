// A compressed conversation (RFC 7692, context takeover) that can be repeated forever without compressing again.
//
// One compressor compresses CYCLE messages twice in a row. The second time its window contains only these
// messages, and so it does at the end. Therefore, after the first 2 × CYCLE messages, the last CYCLE may be sent again
// and again: the receiver's window is always the one of their compression.
#pragma once
#include "json.h"
#include <zlib.h>

enum { CYCLE = 128, WINDOW = 32768, LEVEL = 6 };

// RFC 7692 §7.2.1: an empty stored block ends each message's DEFLATE output and is omitted on the wire.
static const uint8_t flush_end[4] = {0x00, 0x00, 0xFF, 0xFF};

struct packed {
    uint8_t *bytes; // as on the wire, with `flush_end` after them
    size_t length;  // without `flush_end`
};

static inline void start_deflating(z_stream *stream) {
    *stream = (z_stream){0};
    if (deflateInit2(stream, LEVEL, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) reject("deflateInit2");
}

static inline void start_inflating(z_stream *stream) {
    *stream = (z_stream){0};
    if (inflateInit2(stream, -15) != Z_OK) reject("inflateInit2");
}

// Compresses a message and returns its length on the wire. `flush_end` follows it.
static inline size_t deflate_message(z_stream *stream, uint8_t *to, size_t capacity, uint8_t *from, size_t length) {
    stream->next_in = from;
    stream->avail_in = length;
    stream->next_out = to;
    stream->avail_out = capacity;
    if (deflate(stream, Z_SYNC_FLUSH) != Z_OK || stream->avail_in || !stream->avail_out) reject("deflate");
    return capacity - stream->avail_out - sizeof flush_end;
}

// Inflates a message with `flush_end` after it and returns its size.
static inline size_t inflate_message(z_stream *stream, uint8_t *to, size_t capacity, uint8_t *from, size_t length) {
    stream->next_in = from;
    stream->avail_in = length + sizeof flush_end;
    stream->next_out = to;
    stream->avail_out = capacity;
    int result = inflate(stream, Z_SYNC_FLUSH);
    if ((result != Z_OK && result != Z_BUF_ERROR) || stream->avail_in) reject("inflate: %s", stream->msg ? stream->msg : "too long");
    return capacity - stream->avail_out;
}

// Message `index` of the conversation is JSON number `index % CYCLE`.
static inline void compress_conversation(struct packed packed[2 * CYCLE], size_t size) {
    if (size * CYCLE < WINDOW) reject("too few bytes to fill the window");
    z_stream deflater;
    start_deflating(&deflater);
    size_t capacity = size * 2 + 64;
    uint8_t *message = allocate(size);
    for (int i = 0; i < 2 * CYCLE; i++) {
        put_json(message, size, i % CYCLE);
        packed[i].bytes = allocate(capacity);
        packed[i].length = deflate_message(&deflater, packed[i].bytes, capacity, message, size);
    }
    free(message);
    deflateEnd(&deflater);
}
