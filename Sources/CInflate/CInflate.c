#include "CInflate.h"

#include <limits.h>
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
