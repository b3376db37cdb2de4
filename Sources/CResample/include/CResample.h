// The inner loops of resampling, compiled for the baseline of the architecture and, on x86-64, for AVX2 and VNNI too; which
// one runs is found out at run time. Swift has SIMD types, but no way to compile one function for another processor, nor the
// instructions that multiply 16-bit numbers and add pairs of products.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Fraction bits of a factor.
enum { CRESAMPLE_PRECISION = 22 };

/// A factor in halves is `high * 2^CRESAMPLE_LOW_BITS + low`, with `low` not negative.
enum { CRESAMPLE_LOW_BITS = 15 };

/// For which processors a loop was compiled, each asking for more than the one before. All give the same bytes.
typedef enum cresample_level {
    CRESAMPLE_PORTABLE,
    CRESAMPLE_AVX2,
    /// AVX-512's neural network instructions, on vectors of 32 bytes.
    CRESAMPLE_VNNI,
} cresample_level;

/// The most that this processor can do.
cresample_level cresample_best(void);

/// Factors are kept in groups of so many: the high halves of a group, then the low ones.
enum {
    /// For rows of pixels of 4 bytes.
    CRESAMPLE_PIXEL_GROUP = 4,
    /// For rows of pixels of one byte.
    CRESAMPLE_GRAY_GROUP = 16,
    /// For sums over rows.
    CRESAMPLE_ROW_GROUP = 2,
};

/// Weights of one axis. Each output has `taps` factors, whole groups, of which those not needed are 0; `outputs` is a multiple of 4.
typedef struct cresample_weights {
    /// The first source pixel of each output.
    const int32_t *starts;
    const int16_t *halves;
    size_t taps;
    size_t outputs;
} cresample_weights;

/// A row of outputs of a row of pixels of 4 bytes. Reads `taps` pixels from each start on.
void cresample_horizontal(
    cresample_level level, const cresample_weights *weights, const uint8_t *source, uint8_t *destination);

/// The same for pixels of one byte.
void cresample_horizontal_gray(
    cresample_level level, const cresample_weights *weights, const uint8_t *source, uint8_t *destination);

/// Some rows of a ring: `count` of them, from row `first` on.
typedef struct cresample_rows {
    const uint8_t *ring;
    /// Bytes from row to row: a multiple of 32.
    size_t stride;
    /// Rows of the ring.
    size_t capacity;
    size_t first;
    size_t count;
} cresample_rows;

/// `bytes` sums over rows, with a factor for each; that of a row that is not there is 0. Works on 32 bytes at a time: `destination`
/// has room for `bytes` rounded up to that.
void cresample_vertical(
    cresample_level level, const cresample_rows *rows, const int16_t *halves, size_t bytes, uint8_t *destination);

/// Pixels of 4 bytes without their fourth one, in this order or `reversed`: 3 * `count` bytes, and no other is written.
void cresample_pack(
    cresample_level level, const uint8_t *pixels, size_t count, int reversed, uint8_t *destination);
