// A shim around libpng, which reports errors by longjmp. A jump must never cross Swift frames: every function here sets its own
// jump target, so that a jump starts and ends within one C call.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The result of a call. After any result but `CPNG_OK`, only `cpng_destroy` may follow.
typedef enum cpng_status {
    CPNG_OK = 0,
    /// The bytes end before the picture does.
    CPNG_TRUNCATED,
    /// The bytes are not a PNG file that can be decoded.
    CPNG_CORRUPT,
} cpng_status;

/// The contents of the header, and the format of decoded rows.
typedef struct cpng_header {
    uint32_t width;
    uint32_t height;
    /// 1: gray; 2: gray and alpha; 4: red, green, blue, and alpha or an undefined byte.
    uint32_t channels;
    /// True if the last channel is alpha.
    uint8_t has_alpha;
    /// 1, or 7 for an interlaced picture: its rows must be read that many times into the same memory.
    uint8_t passes;
} cpng_header;

/// Decompresses a zlib stream into at most `capacity` bytes at `destination`. Returns the number of bytes written: fewer if the
/// stream is truncated, 0 if it is damaged.
size_t cpng_inflate(const uint8_t *bytes, size_t count, void *destination, size_t capacity);

/// A decoder for one picture.
typedef struct cpng_decoder cpng_decoder;

/// Returns NULL if out of memory. `bytes` must stay in place until `cpng_destroy`.
cpng_decoder *cpng_create(const uint8_t *bytes, size_t count);
void cpng_destroy(cpng_decoder *decoder);

/// Enables reading of truncated pictures: as many rows as possible are read. Call it before `cpng_open`.
void cpng_tolerate(cpng_decoder *decoder);

/// Reads the header and selects 8 bits per channel: 16 bits lose their low byte, palettes and tRNS are expanded, and gAMA, cHRM,
/// sRGB and iCCP are ignored (as in Pillow). Fails for pictures larger than the limits.
cpng_status cpng_open(cpng_decoder *decoder, uint32_t maximum_width, uint32_t maximum_height, cpng_header *header);

/// Decodes the next `rows` rows, each to `destination + n * stride`. In passes after the first, the memory must hold the output of
/// the previous passes.
cpng_status cpng_read(cpng_decoder *decoder, uint8_t *destination, size_t stride, uint32_t rows);

/// libpng's message for the last failure; empty if no call failed.
const char *cpng_message(const cpng_decoder *decoder);

/// Encodes consecutive 8-bit gray (1 channel) or RGB (3 channels) rows without gaps. `poll` (unless it is NULL) is called
/// regularly; non-zero stops. Returns NULL if stopped or out of memory; otherwise the caller must `free` the result.
uint8_t *cpng_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels, int compression,
    int (*poll)(void *context), void *context, size_t *count);

/// Encodes one channel of 8 or 16 bits (big-endian) row by row, without the whole picture in memory. `palette` has 256 colors of 3
/// bytes, for 8 bits, or is NULL for gray. `row` returns the bytes of a row, valid until its next call, or NULL to stop; it must
/// return, not jump. Returns NULL if stopped or out of memory; otherwise the caller must `free` the result.
uint8_t *cpng_encode_rows(
    uint32_t width, uint32_t height, int bits, const uint8_t *palette, int compression,
    const uint8_t *(*row)(void *context, uint32_t index), void *context, size_t *count);
