// zlib's inflate: of a whole raw deflate stream (RFC 1951), as zip archives have them, and of gzip and zlib data part by part, as HTTP has
// them. Output goes to the caller's memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Unpacks `count` bytes into at most `capacity`. The number of bytes unpacked, or -1 where the stream is damaged, does not end, or
/// does not fit.
ptrdiff_t cinflate(const uint8_t *packed, size_t count, uint8_t *unpacked, size_t capacity);

/// Unpacks gzip (RFC 1952, with any number of members) or zlib data (RFC 1950) part by part.
typedef struct cinflate_stream cinflate_stream;

/// Begins with `count` bytes, which must stay where they are until `cinflate_close`. NULL: no memory.
cinflate_stream *cinflate_open(const uint8_t *packed, size_t count);

/// Unpacks the next bytes, at most `capacity`. The number of bytes unpacked; 0 at the end; -1 where the data are damaged or end too soon.
ptrdiff_t cinflate_next(cinflate_stream *stream, uint8_t *unpacked, size_t capacity);

void cinflate_close(cinflate_stream *stream);
