// Frames of RFC 6455 §5.2: their header and their mask.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };
enum { FINAL = 0x80, COMPRESSED = 0x40 }; // flags of the first byte: FIN and RSV1
enum { MAX_HEADER = 14, MASK_SIZE = 4 };

// Writes a header and returns its length. `first` is its first byte: flags and opcode. `key` is NULL for a server's frame.
static inline size_t put_header(uint8_t *to, int first, size_t length, const uint8_t *key) {
    size_t at = 0;
    uint8_t masked = key ? 0x80 : 0;
    to[at++] = first;
    if (length < 126) {
        to[at++] = masked | length;
    } else {
        int bytes = length < 65536 ? 2 : 8;
        to[at++] = masked | (bytes == 2 ? 126 : 127);
        for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) to[at++] = (uint64_t)length >> shift;
    }
    if (key) {
        memcpy(to + at, key, MASK_SIZE);
        at += MASK_SIZE;
    }
    return at;
}

struct header {
    bool final, compressed, masked;
    int opcode;
    uint64_t length; // of the payload
    size_t size;     // of the header itself, with the mask
};

// Parses a header out of `available` bytes. Returns false if they are too few.
static inline bool get_header(const uint8_t *from, size_t available, struct header *header) {
    if (available < 2) return false;
    header->final = from[0] & FINAL;
    header->compressed = from[0] & COMPRESSED;
    header->opcode = from[0] & 0x0F;
    header->masked = from[1] & 0x80;
    header->length = from[1] & 0x7F;
    header->size = 2 + (header->masked ? MASK_SIZE : 0);
    if (header->length == 126) {
        if (available < (header->size += 2)) return false;
        header->length = from[2] << 8 | from[3];
    } else if (header->length == 127) {
        if (available < (header->size += 8)) return false;
        uint64_t big_endian;
        memcpy(&big_endian, from + 2, 8);
        header->length = __builtin_bswap64(big_endian);
    }
    return available >= header->size;
}

// Masks or unmasks `count` bytes, the first of which is the payload's byte number `phase`. `to` may be `from`.
static inline void mask(uint8_t *to, const uint8_t *from, size_t count, const uint8_t *key, size_t phase) {
    uint8_t turned[8];
    for (int i = 0; i < 8; i++) turned[i] = key[(phase + i) % MASK_SIZE];
    uint64_t word;
    memcpy(&word, turned, 8);
    size_t at = 0;
    for (; at + 8 <= count; at += 8) { // the compiler vectorizes this
        uint64_t value;
        memcpy(&value, from + at, 8);
        value ^= word;
        memcpy(to + at, &value, 8);
    }
    for (; at < count; at++) to[at] = from[at] ^ turned[at % 8];
}
