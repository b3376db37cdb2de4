// zlib's inflate of a whole raw deflate stream (RFC 1951), as zip archives have them, within memory of the caller's.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Unpacks `count` bytes into at most `capacity`. The number of bytes unpacked, or -1 where the stream is damaged, does not end, or
/// does not fit.
ptrdiff_t cinflate(const uint8_t *packed, size_t count, uint8_t *unpacked, size_t capacity);
