// zlib's inflate: decompresses a whole raw deflate stream (RFC 1951), as in zip archives, or gzip and zlib data in parts, as in
// HTTP. Output goes to the caller's memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Decompresses `count` bytes into at most `capacity`. Returns the number of bytes written, or -1 if the stream is damaged,
/// incomplete or too long.
ptrdiff_t cinflate(const uint8_t *packed, size_t count, uint8_t *unpacked, size_t capacity);

/// Decompresses gzip (RFC 1952, with any number of members) or zlib data (RFC 1950) in parts.
typedef struct cinflate_stream cinflate_stream;

/// Opens a stream of `count` bytes, which must stay in place until `cinflate_close`. NULL: out of memory.
cinflate_stream *cinflate_open(const uint8_t *packed, size_t count);

/// Decompresses the next bytes, at most `capacity`. Returns the number of bytes written; 0 at the end; -1 if the data are damaged
/// or incomplete.
ptrdiff_t cinflate_next(cinflate_stream *stream, uint8_t *unpacked, size_t capacity);

void cinflate_close(cinflate_stream *stream);
