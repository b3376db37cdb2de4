// libpng reports errors by longjmp; Swift frames must never be jumped over. Every function here sets its own jump target,
// so that a jump starts and ends within one C call.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The result of a call. Anything but `CPNG_OK` ends the picture: only `cpng_destroy` may follow.
typedef enum cpng_status {
    CPNG_OK = 0,
    /// The bytes end before the picture does.
    CPNG_TRUNCATED,
    /// The bytes are not a PNG that can be decoded.
    CPNG_CORRUPT,
} cpng_status;

/// Facts of the header, and the form the rows are decoded to.
typedef struct cpng_header {
    uint32_t width;
    uint32_t height;
    /// 1: gray; 2: gray and alpha; 4: red, green, blue, and alpha or a byte without meaning.
    uint32_t channels;
    /// True if the last channel is an alpha to composite by.
    uint8_t has_alpha;
    /// 1, or 7 for an interlaced picture: the rows are then to be read that many times, over the same memory.
    uint8_t passes;
} cpng_header;

/// Decompresses a zlib stream into `destination`, at most `capacity` bytes of it. Returns how many came: fewer of a stream that
/// is cut off, 0 of one that is damaged.
size_t cpng_inflate(const uint8_t *bytes, size_t count, void *destination, size_t capacity);

/// One decoder, for one picture.
typedef struct cpng_decoder cpng_decoder;

/// NULL when there is no memory. `bytes` must stay until `cpng_destroy`.
cpng_decoder *cpng_create(const uint8_t *bytes, size_t count);
void cpng_destroy(cpng_decoder *decoder);

/// To be called before `cpng_open` where rows before a truncation are wanted: as many of them as can be are then read.
void cpng_tolerate(cpng_decoder *decoder);

/// Reads the header and asks for 8 bits a channel: 16 bits lose their low byte, palettes and tRNS are expanded, and what
/// gAMA, cHRM, sRGB and iCCP say is not looked at (as Pillow does). Larger pictures than the limits fail.
cpng_status cpng_open(cpng_decoder *decoder, uint32_t maximum_width, uint32_t maximum_height, cpng_header *header);

/// Decodes the next `rows` rows, each to `destination + n * stride`. In passes after the first, the memory must hold what
/// the passes before left there.
cpng_status cpng_read(cpng_decoder *decoder, uint8_t *destination, size_t stride, uint32_t rows);

/// The reason of the last failure, in libpng's words; empty when there was none.
const char *cpng_message(const cpng_decoder *decoder);

/// Encodes 8-bit gray (1 channel) or RGB (3 channels) rows that follow each other without gaps. `poll` (when not NULL) is called
/// regularly: non-zero stops. NULL when it stopped, or there is no memory; otherwise `free` is the caller's.
uint8_t *cpng_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels, int compression,
    int (*poll)(void *context), void *context, size_t *count);

/// Encodes numbers, one channel of 8 or 16 bits (the high byte first), row by row: the picture is never whole in memory.
/// `palette` is 256 colours of 3 bytes for 8 bits, or NULL for gray. `row` gives a row's bytes, valid until it is called again, or
/// NULL to stop; it must return, not jump. NULL when it stopped, or there is no memory; otherwise `free` is the caller's.
uint8_t *cpng_encode_rows(
    uint32_t width, uint32_t height, int bits, const uint8_t *palette, int compression,
    const uint8_t *(*row)(void *context, uint32_t index), void *context, size_t *count);
