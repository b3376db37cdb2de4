// A shim around libjpeg-turbo, which reports errors by calling a function that must not return, that is, by longjmp. A jump must
// never cross Swift frames: every function here sets its own jump target, so that a jump starts and ends within one C call.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The result of a call. After any result but `CJPEG_OK`, only `cjpeg_close` and `cjpeg_destroy` may follow.
typedef enum cjpeg_status {
    CJPEG_OK = 0,
    /// The bytes end before the picture does.
    CJPEG_TRUNCATED,
    /// The bytes are not a JPEG file that can be decoded.
    CJPEG_CORRUPT,
    /// The caller's `poll` requested to stop.
    CJPEG_CANCELLED,
    /// More scans than allowed.
    CJPEG_TOO_MANY_SCANS,
    /// Out of memory.
    CJPEG_NO_MEMORY,
} cjpeg_status;

/// The format of decoded pixels.
typedef enum cjpeg_output {
    /// One byte: luma.
    CJPEG_GRAY,
    /// Four bytes: red, green, blue, and an undefined one.
    CJPEG_RGBX,
    /// Four bytes as stored: Adobe's inverted CMYK in nearly all files.
    CJPEG_CMYK,
} cjpeg_output;

/// The contents of the header.
typedef struct cjpeg_header {
    uint32_t width;
    uint32_t height;
    /// 1 (gray), 3 (color) or 4 (CMYK, YCCK).
    uint32_t components;
    /// True if all coefficients must be held in memory before the first row: progressive, or separate scans of components.
    uint8_t multiple_scans;
    /// The memory for all coefficients in bytes.
    uint64_t coefficient_bytes;
} cjpeg_header;

/// A decoder, for any number of pictures in sequence. Not thread-safe.
typedef struct cjpeg_decoder cjpeg_decoder;

/// Returns NULL if out of memory.
cjpeg_decoder *cjpeg_create(void);
void cjpeg_destroy(cjpeg_decoder *decoder);

/// Reads the header. `bytes` must stay in place until `cjpeg_close`. With `tolerant`, missing or damaged data become gray pixels
/// instead of an error.
cjpeg_status cjpeg_open(
    cjpeg_decoder *decoder, const uint8_t *bytes, size_t count, int tolerant, cjpeg_header *header);

/// Starts decoding at `scale`/8 of the size (1 to 8); `width` and `height` receive the resulting size. Only its first `columns`
/// columns are needed; those to the right may have any value, and `cjpeg_crop` must exclude them. With multiple scans, this reads
/// the whole file and calls `poll` (unless it is NULL) regularly; if it returns non-zero, the result is CJPEG_CANCELLED.
cjpeg_status cjpeg_start(
    cjpeg_decoder *decoder, uint32_t scale, cjpeg_output output, uint32_t columns, uint32_t maximum_scans,
    int (*poll)(void *context), void *context, uint32_t *width, uint32_t *height);

/// Restricts decoding to `width` columns from `x`; both receive the values that libjpeg uses (whole MCUs).
cjpeg_status cjpeg_crop(cjpeg_decoder *decoder, uint32_t *x, uint32_t *width);

/// Skips rows without reconstructing them.
cjpeg_status cjpeg_skip(cjpeg_decoder *decoder, uint32_t rows);

/// Decodes the next `rows` rows, each to `destination + n * stride`.
cjpeg_status cjpeg_read(cjpeg_decoder *decoder, uint8_t *destination, size_t stride, uint32_t rows);

/// Closes the picture, complete or not.
void cjpeg_close(cjpeg_decoder *decoder);

/// Encodes consecutive rows of red, green, blue without gaps, without metadata. `poll` (unless it is NULL) is called regularly;
/// non-zero stops. Returns NULL if stopped or out of memory; otherwise the caller must `free` the result.
uint8_t *cjpeg_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, int quality, int (*poll)(void *context), void *context,
    size_t *count);

/// libjpeg's message for the last failure; empty if no call failed.
const char *cjpeg_message(const cjpeg_decoder *decoder);

/// The number of bytes consumed at the last failure; 0 if no call failed.
size_t cjpeg_offset(const cjpeg_decoder *decoder);
