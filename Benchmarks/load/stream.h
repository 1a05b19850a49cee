// The output of a loading connection: prepared frames in one run of bytes.
#pragma once
#include "compressed.h"
#include "frame.h"

static const uint8_t load_key[MASK_SIZE] = {0xE5, 0x71, 0x3C, 0x9D};

struct stream {
    uint8_t *bytes;
    size_t *starts; // where each frame starts, and after the last one where it ends
    size_t frames;
    size_t repeat_from; // the frame that follows the last
    bool uniform;       // all frames are alike
};

static inline struct stream new_stream(size_t frames, size_t capacity) {
    return (struct stream){.bytes = allocate(capacity), .starts = allocate((frames + 1) * sizeof(size_t))};
}

// Appends a message. `first` is the first byte of its frame, or 0 for a message without a frame.
static inline void append(struct stream *stream, int first, const uint8_t *payload, size_t length) {
    uint8_t *to = stream->bytes + stream->starts[stream->frames];
    size_t header = first ? put_header(to, first, length, load_key) : 0;
    if (first) mask(to + header, payload, length, load_key, 0);
    else memcpy(to, payload, length);
    stream->starts[stream->frames + 1] = stream->starts[stream->frames] + header + length;
    stream->frames++;
}

// The message of the plain workloads.
static inline void put_plain_payload(uint8_t *to, size_t size) {
    for (size_t i = 0; i < size; i++) to[i] = "{\"id\":12345,\"text\":\"hello world\",\"v\":[1,2,3]} "[i % 45];
}

static inline struct stream uniform_stream(int first, size_t size, size_t frames) {
    struct stream stream = new_stream(frames, frames * (size + MAX_HEADER));
    uint8_t *payload = allocate(size);
    put_plain_payload(payload, size);
    for (size_t i = 0; i < frames; i++) append(&stream, first, payload, size);
    free(payload);
    stream.uniform = true;
    return stream;
}

static inline struct stream raw_stream(size_t size, size_t frames) { return uniform_stream(0, size, frames); }
static inline struct stream plain_stream(size_t size, size_t frames) { return uniform_stream(FINAL | BINARY, size, frames); }

static inline struct stream compressed_stream(size_t size) {
    static struct packed packed[2 * CYCLE];
    struct stream stream = new_stream(2 * CYCLE, 2 * CYCLE * (2 * size + 64 + MAX_HEADER));
    compress_conversation(packed, size);
    for (int i = 0; i < 2 * CYCLE; i++) append(&stream, FINAL | COMPRESSED | TEXT, packed[i].bytes, packed[i].length);
    stream.repeat_from = CYCLE;
    return stream;
}
