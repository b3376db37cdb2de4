// The inner loops of resampling, compiled for the baseline of the architecture and, on x86-64, for AVX2 too; which one
// runs is found out at run time. Swift has SIMD types, but no way to compile one function for another processor, and
// 32-bit products cost x86-64's baseline five times as much.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Fraction bits of a factor.
enum { CRESAMPLE_PRECISION = 22 };

/// Weights of one axis. By output: the first source pixel, and `taps` factors, the same number for all: an even one, each factor four
/// times, once for each byte of a pixel, so that they are loaded as they are needed; for gray a multiple of 8, each once.
typedef struct cresample_weights {
    const int32_t *starts;
    const int32_t *factors;
    size_t taps;
    size_t outputs;
} cresample_weights;

/// A row of outputs of a row of pixels of 4 bytes. Reads `taps` pixels from each start on.
void cresample_horizontal(const cresample_weights *weights, const uint8_t *source, uint8_t *destination);

/// The same for pixels of one byte.
void cresample_horizontal_gray(const cresample_weights *weights, const uint8_t *source, uint8_t *destination);

/// `bytes` sums over `count` rows of a ring of `capacity` rows that are `stride` bytes apart, beginning with row `first`. Works on 32
/// bytes at a time: `stride` is a multiple of 32, and `destination` has room for `bytes` rounded up to one.
void cresample_vertical(
    const uint8_t *ring, size_t stride, size_t capacity, size_t first, const int32_t *factors, size_t count, size_t bytes,
    uint8_t *destination);
