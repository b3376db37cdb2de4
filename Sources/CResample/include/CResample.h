// The two inner loops of resampling, compiled for the baseline of the architecture and, on x86-64, for AVX2 too; which one
// runs is found out at run time. Swift has SIMD types, but no way to compile one function for another processor, and
// 32-bit products cost x86-64's baseline five times as much.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Fraction bits of a factor.
enum { CRESAMPLE_PRECISION = 22 };

/// Weights of one axis. By output: the first source pixel, how many there are, and `stride` factors, of which those beyond the
/// count are 0. `stride` is even.
typedef struct cresample_weights {
    const int32_t *starts;
    const int32_t *counts;
    const int32_t *factors;
    size_t stride;
    size_t outputs;
} cresample_weights;

/// A row of outputs of a row of pixels of 4 bytes. Each factor stands four times in `weights->factors`, once for each byte, so that
/// they are loaded as they are needed; `stride` counts them once. 4 bytes behind the last pixel must be readable.
void cresample_horizontal(const cresample_weights *weights, const uint8_t *source, uint8_t *destination);

/// `bytes` sums over `count` rows of a ring of `capacity` rows that are `stride` bytes apart, beginning with row `first`. Works on 32
/// bytes at a time: `stride` is a multiple of 32, and `destination` has room for `bytes` rounded up to one.
void cresample_vertical(
    const uint8_t *ring, size_t stride, size_t capacity, size_t first, const int32_t *factors, size_t count, size_t bytes,
    uint8_t *destination);
