// libwebp's decoder behind three plain functions: its own headers have macros and version arguments that Swift cannot call.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The result of a call. Anything but `CWEBP_OK` and `CWEBP_MORE` ends the picture.
typedef enum cwebp_status {
    CWEBP_OK = 0,
    /// Not all bytes have been offered yet; or, once they have, the data is truncated.
    CWEBP_MORE,
    CWEBP_CORRUPT,
    CWEBP_UNSUPPORTED,
    CWEBP_NO_MEMORY,
} cwebp_status;

/// Facts of the header.
typedef struct cwebp_header {
    uint32_t width;
    uint32_t height;
    uint8_t has_alpha;
    uint8_t is_animated;
} cwebp_header;

/// Reads the header of a file, or of one frame of an animation (what follows its own header).
cwebp_status cwebp_probe(const uint8_t *bytes, size_t count, cwebp_header *header);

/// One decoder, for one picture.
typedef struct cwebp_decoder cwebp_decoder;

/// Decodes the rectangle, whose `x` and `y` must be even, to red, green, blue, alpha (not premultiplied) rows in
/// `destination`, which must stay, hold `height - 1` times `stride` and the last row's `width * 4` bytes, and is written by
/// `cwebp_update`. NULL when there is no memory.
cwebp_decoder *cwebp_create(
    uint32_t x, uint32_t y, uint32_t width, uint32_t height, uint8_t *destination, size_t stride);
void cwebp_destroy(cwebp_decoder *decoder);

/// Goes on with the first `count` of the file's bytes (the same ones and more at each call).
cwebp_status cwebp_update(cwebp_decoder *decoder, const uint8_t *bytes, size_t count);
