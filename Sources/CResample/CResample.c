#include "CResample.h"

#include <string.h>

// Vectors are handed from function to function only where these are made one: how they would be passed does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

// Clang's and GCC's vector types: the same source for every instruction set.
typedef int32_t lanes __attribute__((vector_size(32)));
typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef uint8_t bytes4 __attribute__((vector_size(4)));
typedef int32_t lanes4 __attribute__((vector_size(16)));

#define INLINE static inline __attribute__((always_inline))

INLINE lanes load8(const uint8_t *source) {
    bytes8 bytes;
    memcpy(&bytes, source, sizeof bytes);
    return __builtin_convertvector(bytes, lanes);
}

INLINE void store8(uint8_t *destination, lanes sums) {
    lanes levels = sums >> CRESAMPLE_PRECISION;
    levels = __builtin_elementwise_max(levels, (lanes){0});
    levels = __builtin_elementwise_min(levels, (lanes){0} + 255);
    bytes8 bytes = __builtin_convertvector(levels, bytes8);
    memcpy(destination, &bytes, sizeof bytes);
}

/// With a number of pairs that the compiler knows: no branch inside that could be guessed wrongly, once for each output.
INLINE void horizontal_pairs(
    const cresample_weights *weights, size_t pairs, const uint8_t *source, uint8_t *destination) {
    const int32_t half = 1 << (CRESAMPLE_PRECISION - 1);
    const int32_t *factors = weights->factors;
    const int32_t *starts = weights->starts;
    const size_t outputs = weights->outputs;
    for (size_t output = 0; output < outputs; output++) {
        const uint8_t *pixels = source + (size_t)starts[output] * 4;
        lanes sums = {half, half, half, half, 0, 0, 0, 0};
        // Two pixels at a time.
        for (size_t pair = 0; pair < pairs; pair++) {
            lanes both;
            memcpy(&both, factors + pair * 8, sizeof both);
            sums += load8(pixels + pair * 8) * both;
        }
        lanes4 levels = (__builtin_shufflevector(sums, sums, 0, 1, 2, 3) + __builtin_shufflevector(sums, sums, 4, 5, 6, 7)) >>
                        CRESAMPLE_PRECISION;
        levels = __builtin_elementwise_max(levels, (lanes4){0});
        levels = __builtin_elementwise_min(levels, (lanes4){0} + 255);
        bytes4 bytes = __builtin_convertvector(levels, bytes4);
        memcpy(destination + output * 4, &bytes, sizeof bytes);
        factors += pairs * 8;
    }
}

INLINE void horizontal(const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    const size_t pairs = weights->taps / 2;
    switch (pairs) {
    case 1: horizontal_pairs(weights, 1, source, destination); return;
    case 2: horizontal_pairs(weights, 2, source, destination); return;
    case 3: horizontal_pairs(weights, 3, source, destination); return;
    case 4: horizontal_pairs(weights, 4, source, destination); return;
    case 5: horizontal_pairs(weights, 5, source, destination); return;
    case 6: horizontal_pairs(weights, 6, source, destination); return;
    default: horizontal_pairs(weights, pairs, source, destination); return;
    }
}

/// Eight pixels of one byte at a time, with a number of eights that the compiler knows.
INLINE void horizontal_gray_eights(
    const cresample_weights *weights, size_t eights, const uint8_t *source, uint8_t *destination) {
    const int32_t *factors = weights->factors;
    const int32_t *starts = weights->starts;
    const size_t outputs = weights->outputs;
    for (size_t output = 0; output < outputs; output++) {
        const uint8_t *pixels = source + (size_t)starts[output];
        lanes sums = {1 << (CRESAMPLE_PRECISION - 1), 0, 0, 0, 0, 0, 0, 0};
        for (size_t eight = 0; eight < eights; eight++) {
            lanes both;
            memcpy(&both, factors + eight * 8, sizeof both);
            sums += load8(pixels + eight * 8) * both;
        }
        lanes4 four = __builtin_shufflevector(sums, sums, 0, 1, 2, 3) + __builtin_shufflevector(sums, sums, 4, 5, 6, 7);
        four += __builtin_shufflevector(four, four, 2, 3, 0, 1);
        int32_t level = (four[0] + four[1]) >> CRESAMPLE_PRECISION;
        level = level < 0 ? 0 : level;
        destination[output] = (uint8_t)(level > 255 ? 255 : level);
        factors += eights * 8;
    }
}

INLINE void horizontal_gray(const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    const size_t eights = weights->taps / 8;
    switch (eights) {
    case 1: horizontal_gray_eights(weights, 1, source, destination); return;
    case 2: horizontal_gray_eights(weights, 2, source, destination); return;
    default: horizontal_gray_eights(weights, eights, source, destination); return;
    }
}

INLINE void vertical(
    const uint8_t *ring, size_t stride, size_t capacity, size_t first, const int32_t *factors, size_t count, size_t bytes,
    uint8_t *destination) {
    const lanes half = (lanes){0} + (1 << (CRESAMPLE_PRECISION - 1));
    for (size_t offset = 0; offset < bytes; offset += 32) {
        lanes a = half, b = half, c = half, d = half;
        size_t row = first;
        for (size_t tap = 0; tap < count; tap++) {
            const uint8_t *source = ring + row * stride + offset;
            int32_t factor = factors[tap];
            a += load8(source) * factor;
            b += load8(source + 8) * factor;
            c += load8(source + 16) * factor;
            d += load8(source + 24) * factor;
            row = row + 1 == capacity ? 0 : row + 1;
        }
        store8(destination + offset, a);
        store8(destination + offset + 8, b);
        store8(destination + offset + 16, c);
        store8(destination + offset + 24, d);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void horizontal_avx2(
    const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    horizontal(weights, source, destination);
}

__attribute__((target("avx2"))) static void horizontal_gray_avx2(
    const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    horizontal_gray(weights, source, destination);
}

__attribute__((target("avx2"))) static void vertical_avx2(
    const uint8_t *ring, size_t stride, size_t capacity, size_t first, const int32_t *factors, size_t count, size_t bytes,
    uint8_t *destination) {
    vertical(ring, stride, capacity, first, factors, count, bytes, destination);
}
#endif

void cresample_horizontal(const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        horizontal_avx2(weights, source, destination);
        return;
    }
#endif
    horizontal(weights, source, destination);
}

void cresample_horizontal_gray(const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        horizontal_gray_avx2(weights, source, destination);
        return;
    }
#endif
    horizontal_gray(weights, source, destination);
}

void cresample_vertical(
    const uint8_t *ring, size_t stride, size_t capacity, size_t first, const int32_t *factors, size_t count, size_t bytes,
    uint8_t *destination) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        vertical_avx2(ring, stride, capacity, first, factors, count, bytes, destination);
        return;
    }
#endif
    vertical(ring, stride, capacity, first, factors, count, bytes, destination);
}
