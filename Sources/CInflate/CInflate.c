#include "CInflate.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

ptrdiff_t cinflate(const uint8_t *packed, size_t count, uint8_t *unpacked, size_t capacity) {
    if (count > UINT_MAX || capacity > UINT_MAX) return -1;
    z_stream stream = {0};
    // Negative: a raw stream, without zlib's header.
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return -1;
    stream.next_in = (Bytef *)packed;
    stream.avail_in = (uInt)count;
    stream.next_out = unpacked;
    stream.avail_out = (uInt)capacity;
    int status = inflate(&stream, Z_FINISH);
    ptrdiff_t size = (ptrdiff_t)(capacity - stream.avail_out);
    inflateEnd(&stream);
    return status == Z_STREAM_END ? size : -1;
}

struct cinflate_stream {
    z_stream z;
    const uint8_t *rest;
    size_t left;
    int ended;
};

cinflate_stream *cinflate_open(const uint8_t *packed, size_t count) {
    cinflate_stream *stream = calloc(1, sizeof *stream);
    if (!stream) return NULL;
    stream->rest = packed;
    stream->left = count;
    // 32: gzip or zlib, detected by the first bytes.
    if (inflateInit2(&stream->z, MAX_WBITS + 32) == Z_OK) return stream;
    free(stream);
    return NULL;
}

ptrdiff_t cinflate_next(cinflate_stream *stream, uint8_t *unpacked, size_t capacity) {
    z_stream *z = &stream->z;
    uInt wanted = capacity > INT_MAX ? INT_MAX : (uInt)capacity;
    z->next_out = unpacked;
    z->avail_out = wanted;
    while (z->avail_out > 0 && !stream->ended) {
        if (z->avail_in == 0 && stream->left > 0) {
            z->next_in = (Bytef *)stream->rest;
            z->avail_in = stream->left > UINT_MAX ? UINT_MAX : (uInt)stream->left;
            stream->rest += z->avail_in;
            stream->left -= z->avail_in;
        }
        int status = inflate(z, Z_NO_FLUSH);
        if (status == Z_STREAM_END) {
            // Another member may follow.
            stream->ended = z->avail_in == 0 && stream->left == 0;
            if (!stream->ended && inflateReset(z) != Z_OK) return -1;
        } else if (status != Z_OK) {
            // Z_BUF_ERROR, too: there is room for output, so input is missing.
            return -1;
        }
    }
    return wanted - z->avail_out;
}

void cinflate_close(cinflate_stream *stream) {
    inflateEnd(&stream->z);
    free(stream);
}
