// libjpeg-turbo reports errors by a function that must not return, which means longjmp; Swift frames must never be jumped
// over. Every function here sets its own jump target, so that a jump starts and ends within one C call.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The result of a call. Anything but `CJPEG_OK` ends the picture: only `cjpeg_close` and `cjpeg_destroy` may follow.
typedef enum cjpeg_status {
    CJPEG_OK = 0,
    /// The bytes end before the picture does.
    CJPEG_TRUNCATED,
    /// The bytes are not a JPEG that can be decoded.
    CJPEG_CORRUPT,
    /// The caller's `poll` asked to stop.
    CJPEG_CANCELLED,
    /// More scans than allowed.
    CJPEG_TOO_MANY_SCANS,
    /// The allocator refused.
    CJPEG_NO_MEMORY,
} cjpeg_status;

/// The form of a pixel that the decoder writes.
typedef enum cjpeg_output {
    /// One byte: luma.
    CJPEG_GRAY,
    /// Four bytes: red, green, blue, and one without meaning.
    CJPEG_RGBX,
    /// Four bytes as stored: Adobe's inverted CMYK in nearly all files.
    CJPEG_CMYK,
} cjpeg_output;

/// Facts of the header.
typedef struct cjpeg_header {
    uint32_t width;
    uint32_t height;
    /// 1 (gray), 3 (colour) or 4 (CMYK, YCCK).
    uint32_t components;
    /// True if all coefficients have to be held in memory before the first row: progressive, or components apart.
    uint8_t multiple_scans;
    /// The bytes that holding them takes.
    uint64_t coefficient_bytes;
} cjpeg_header;

/// One decoder; may be used for one picture after the other, by one thread at a time.
typedef struct cjpeg_decoder cjpeg_decoder;

/// NULL when there is no memory.
cjpeg_decoder *cjpeg_create(void);
void cjpeg_destroy(cjpeg_decoder *decoder);

/// Reads the header. `bytes` must stay until `cjpeg_close`. With `tolerant`, missing or damaged data becomes gray pixels
/// instead of an error.
cjpeg_status cjpeg_open(
    cjpeg_decoder *decoder, const uint8_t *bytes, size_t count, int tolerant, cjpeg_header *header);

/// Begins decoding at `scale`/8 of the size (1 to 8); `width` and `height` get the size that comes out. Pixels to the right
/// of the first `columns` columns of that are not asked for, and may be anything: `cjpeg_crop` must leave them out. With
/// multiple scans this reads the whole file, calling `poll` (when not NULL) regularly: non-zero stops with
/// CJPEG_CANCELLED.
cjpeg_status cjpeg_start(
    cjpeg_decoder *decoder, uint32_t scale, cjpeg_output output, uint32_t columns, uint32_t maximum_scans,
    int (*poll)(void *context), void *context, uint32_t *width, uint32_t *height);

/// Narrows what is decoded to `width` columns from `x`; both come back as what libjpeg made of them (whole MCUs).
cjpeg_status cjpeg_crop(cjpeg_decoder *decoder, uint32_t *x, uint32_t *width);

/// Passes over rows without reconstructing them.
cjpeg_status cjpeg_skip(cjpeg_decoder *decoder, uint32_t rows);

/// Decodes the next `rows` rows, each to `destination + n * stride`.
cjpeg_status cjpeg_read(cjpeg_decoder *decoder, uint8_t *destination, size_t stride, uint32_t rows);

/// Releases the picture, finished or not.
void cjpeg_close(cjpeg_decoder *decoder);

/// Encodes rows of red, green, blue that follow each other without gaps, without metadata. `poll` (when not NULL) is called
/// regularly: non-zero stops. NULL when it stopped, or there is no memory; otherwise `free` is the caller's.
uint8_t *cjpeg_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, int quality, int (*poll)(void *context), void *context,
    size_t *count);

/// The reason of the last failure, in libjpeg's words; empty when there was none.
const char *cjpeg_message(const cjpeg_decoder *decoder);

/// The number of bytes that had been consumed at the last failure; 0 when there was none.
size_t cjpeg_offset(const cjpeg_decoder *decoder);
