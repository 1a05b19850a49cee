#ifndef CZLIB_H
#define CZLIB_H

#include <zlib.h>

// Swift does not see zlib's macros; these are its two ways to open a stream.

static inline int CZlib_deflateInit2(z_streamp stream, int level, int windowBits, int memoryLevel, int strategy) {
    return deflateInit2(stream, level, Z_DEFLATED, windowBits, memoryLevel, strategy);
}

static inline int CZlib_inflateInit2(z_streamp stream, int windowBits) {
    return inflateInit2(stream, windowBits);
}

#endif
