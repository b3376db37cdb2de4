// The inner loops of resampling, compiled for the baseline of the architecture and, on x86-64, also for AVX2 and VNNI; selected at
// run time. Swift has SIMD types, but cannot compile a function for another processor, and lacks the instructions that multiply
// 16-bit numbers and add pairs of products.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The number of fraction bits of a factor.
enum { CRESAMPLE_PRECISION = 22 };

/// A factor in halves is `high * 2^CRESAMPLE_LOW_BITS + low`, with `low` not negative.
enum { CRESAMPLE_LOW_BITS = 15 };

/// The processors that a loop is compiled for, each level requiring more than the previous one. All give equal bytes.
typedef enum cresample_level {
    CRESAMPLE_PORTABLE,
    CRESAMPLE_AVX2,
    /// AVX-512's neural network instructions, on vectors of 32 bytes.
    CRESAMPLE_VNNI,
} cresample_level;

/// The highest level that this processor supports.
cresample_level cresample_best(void);

/// The number of factors in a group: the high halves of a group precede its low halves.
enum {
    /// For rows of pixels of 4 bytes.
    CRESAMPLE_PIXEL_GROUP = 4,
    /// For rows of pixels of one byte.
    CRESAMPLE_GRAY_GROUP = 16,
    /// For sums over rows.
    CRESAMPLE_ROW_GROUP = 2,
};

/// The weights of one axis. Each output has `taps` factors, in whole groups padded with 0; `outputs` is a multiple of 4.
typedef struct cresample_weights {
    /// The first source pixel of each output.
    const int32_t *starts;
    const int16_t *halves;
    size_t taps;
    size_t outputs;
} cresample_weights;

/// Computes a row of outputs from a row of pixels of 4 bytes. Reads `taps` pixels from each start on.
void cresample_horizontal(
    cresample_level level, const cresample_weights *weights, const uint8_t *source, uint8_t *destination);

/// Computes a row of outputs from a row of pixels of one byte. Reads `taps` pixels from each start on.
void cresample_horizontal_gray(
    cresample_level level, const cresample_weights *weights, const uint8_t *source, uint8_t *destination);

/// Consecutive rows in a ring: `count` rows from row `first` on.
typedef struct cresample_rows {
    const uint8_t *ring;
    /// The distance between rows in bytes: a multiple of 32.
    size_t stride;
    /// The number of rows in the ring.
    size_t capacity;
    size_t first;
    size_t count;
} cresample_rows;

/// Computes `bytes` sums over rows, with a factor for each row; the factor of a missing row is 0. Works on 32 bytes at a time:
/// `destination` must have room for `bytes` rounded up to that.
void cresample_vertical(
    cresample_level level, const cresample_rows *rows, const int16_t *halves, size_t bytes, uint8_t *destination);

/// Copies pixels of 4 bytes without their fourth byte, in this order or `reversed`: writes exactly 3 * `count` bytes.
void cresample_pack(
    cresample_level level, const uint8_t *pixels, size_t count, int reversed, uint8_t *destination);

/// The order of the bytes of a pixel.
typedef enum cresample_order {
    CRESAMPLE_RGBA,
    CRESAMPLE_BGRA,
    CRESAMPLE_ARGB,
} cresample_order;

/// Copies pixels of 4 bytes in the order red, green, blue, opacity; in that order already (`CRESAMPLE_RGBA`), nothing is
/// written. Returns 1 if all are opaque, otherwise 0.
int cresample_reorder(
    cresample_level level, const uint8_t *source, size_t count, cresample_order order, uint8_t *destination);

/// Copies pixels of 3 bytes, in this order or `reversed`, to opaque pixels of 4 bytes. Reads exactly 3 * `count` bytes.
void cresample_expand(
    cresample_level level, const uint8_t *source, size_t count, int reversed, uint8_t *destination);

/// The number of fraction bits of a factor of luma or chroma.
enum { CRESAMPLE_YUV_BITS = 16 };

/// The factors from luma (above 16) and chroma (above 128) to red, green and blue. The sum of a pixel's products must fit 32 bits.
typedef struct cresample_yuv {
    int32_t luma;
    int32_t red;
    int32_t green_of_blue;
    int32_t green_of_red;
    int32_t blue;
} cresample_yuv;

/// Converts a row of luma, with a sample of chroma for each two of it, to opaque pixels of 4 bytes.
/// `step`: the distance between samples of chroma: 1, or 2 for samples in turn.
void cresample_convert(
    cresample_level level, const uint8_t *luma, const uint8_t *blue, const uint8_t *red, size_t step, size_t count,
    const cresample_yuv *factors, uint8_t *destination);
