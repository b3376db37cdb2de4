// libwebp's decoder behind three plain functions: its own headers have macros and version arguments that Swift cannot call.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The result of a call. Anything but `CWEBP_OK` and `CWEBP_MORE` ends the picture.
typedef enum cwebp_status {
    CWEBP_OK = 0,
    /// More bytes are needed; if all were passed, the data is truncated.
    CWEBP_MORE,
    CWEBP_CORRUPT,
    CWEBP_UNSUPPORTED,
    CWEBP_NO_MEMORY,
} cwebp_status;

/// The contents of the header.
typedef struct cwebp_header {
    uint32_t width;
    uint32_t height;
    uint8_t has_alpha;
    uint8_t is_animated;
} cwebp_header;

/// Reads the header of a file, or of one frame of an animation (the data after its own header).
cwebp_status cwebp_probe(const uint8_t *bytes, size_t count, cwebp_header *header);

/// A decoder for one picture.
typedef struct cwebp_decoder cwebp_decoder;

/// Decodes a rectangle, whose `x` and `y` must be even, to rows of red, green, blue, alpha (not premultiplied). `cwebp_update`
/// writes them to `destination`, which must stay in place and have room for `height - 1` times `stride` and the last row's
/// `width * 4` bytes. Returns NULL if out of memory.
cwebp_decoder *cwebp_create(
    uint32_t x, uint32_t y, uint32_t width, uint32_t height, uint8_t *destination, size_t stride);
void cwebp_destroy(cwebp_decoder *decoder);

/// Continues with the first `count` bytes of the file (the same bytes and more at each call).
cwebp_status cwebp_update(cwebp_decoder *decoder, const uint8_t *bytes, size_t count);
