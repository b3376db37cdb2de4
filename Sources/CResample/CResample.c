#include "CResample.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Vectors are handed from function to function only where these are made one: how they would be passed does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

// Clang's and GCC's vector types: the same source for every instruction set.
typedef int32_t lanes __attribute__((vector_size(32)));
typedef int32_t lanes4 __attribute__((vector_size(16)));
typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef uint8_t bytes4 __attribute__((vector_size(4)));

#define INLINE static inline __attribute__((always_inline))
#define HALF (1 << (CRESAMPLE_PRECISION - 1))

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

/// A factor whose high half is at `high`, in groups of so many.
INLINE int32_t factor_at(const int16_t *high, size_t group) { return high[0] * (1 << CRESAMPLE_LOW_BITS) + high[group]; }

// --- rows of pixels of four bytes --------------------------------------------------------------------------------------

static void horizontal(const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    const int16_t *halves = weights->halves;
    for (size_t output = 0; output < weights->outputs; output++) {
        const uint8_t *pixels = source + (size_t)weights->starts[output] * 4;
        lanes4 sums = (lanes4){0} + HALF;
        for (size_t tap = 0; tap < weights->taps; tap++) {
            bytes4 pixel;
            memcpy(&pixel, pixels + tap * 4, sizeof pixel);
            const int16_t *high = halves + tap / CRESAMPLE_PIXEL_GROUP * CRESAMPLE_PIXEL_GROUP * 2 + tap % CRESAMPLE_PIXEL_GROUP;
            sums += __builtin_convertvector(pixel, lanes4) * factor_at(high, CRESAMPLE_PIXEL_GROUP);
        }
        lanes4 levels = sums >> CRESAMPLE_PRECISION;
        levels = __builtin_elementwise_max(levels, (lanes4){0});
        levels = __builtin_elementwise_min(levels, (lanes4){0} + 255);
        bytes4 bytes = __builtin_convertvector(levels, bytes4);
        memcpy(destination + output * 4, &bytes, sizeof bytes);
        halves += weights->taps * 2;
    }
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

/// The sums of one output, by channel those of the first and of the second pair of each four pixels: R R G G, B B X X.
///
/// A product of 16-bit numbers takes a fifth of what one of 32-bit numbers takes, so factors come in halves. All additions are modulo
/// 2^32, and so exact, since the result fits.
INLINE AVX2 __m256i sums_avx2(const uint8_t *pixels, const int16_t *halves, size_t fours) {
    // Of four pixels, both in the low and in the high 16 bytes, to 16-bit numbers: R0 R1 R2 R3 G0 G1 G2 G3, B0 B1 B2 B3 X0 X1 X2 X3.
    const __m256i channels = _mm256_setr_epi8(
        0, -1, 4, -1, 8, -1, 12, -1, 1, -1, 5, -1, 9, -1, 13, -1,
        2, -1, 6, -1, 10, -1, 14, -1, 3, -1, 7, -1, 11, -1, 15, -1);
    __m256i high = _mm256_setzero_si256();
    __m256i low = _mm256_setr_epi32(HALF, 0, HALF, 0, HALF, 0, HALF, 0);
    for (size_t four = 0; four < fours; four++) {
        __m256i levels = _mm256_shuffle_epi8(
            _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(pixels + four * 16))), channels);
        __m256i highs = _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(halves + four * 8)));
        __m256i lows = _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(halves + four * 8 + 4)));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(levels, highs));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(levels, lows));
    }
    return _mm256_add_epi32(_mm256_slli_epi32(high, CRESAMPLE_LOW_BITS), low);
}

/// With a number of fours that the compiler knows: no branch inside that could be guessed wrongly, once for each output.
INLINE AVX2 void horizontal_fours_avx2(
    const cresample_weights *weights, size_t fours, const uint8_t *source, uint8_t *destination) {
    const int32_t *starts = weights->starts;
    const int16_t *halves = weights->halves;
    const size_t step = fours * 8;
    for (size_t output = 0; output < weights->outputs; output += 4) {
        __m256i a = sums_avx2(source + (size_t)starts[output] * 4, halves, fours);
        __m256i b = sums_avx2(source + (size_t)starts[output + 1] * 4, halves + step, fours);
        __m256i c = sums_avx2(source + (size_t)starts[output + 2] * 4, halves + step * 2, fours);
        __m256i d = sums_avx2(source + (size_t)starts[output + 3] * 4, halves + step * 3, fours);
        // Ra Ga Rb Gb, Ba Xa Bb Xb
        __m256i ab = _mm256_srai_epi32(_mm256_hadd_epi32(a, b), CRESAMPLE_PRECISION);
        __m256i cd = _mm256_srai_epi32(_mm256_hadd_epi32(c, d), CRESAMPLE_PRECISION);
        __m256i levels = _mm256_packs_epi32(ab, cd);
        __m256i bytes = _mm256_packus_epi16(levels, levels);
        _mm_storeu_si128(
            (__m128i *)(void *)(destination + output * 4),
            _mm_unpacklo_epi16(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
        halves += step * 4;
    }
}

AVX2 static void horizontal_avx2(const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    const size_t fours = weights->taps / CRESAMPLE_PIXEL_GROUP;
    switch (fours) {
    case 1: horizontal_fours_avx2(weights, 1, source, destination); return;
    case 2: horizontal_fours_avx2(weights, 2, source, destination); return;
    case 3: horizontal_fours_avx2(weights, 3, source, destination); return;
    default: horizontal_fours_avx2(weights, fours, source, destination); return;
    }
}
#endif

// --- rows of pixels of one byte ----------------------------------------------------------------------------------------

static void horizontal_gray(const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    const int16_t *halves = weights->halves;
    for (size_t output = 0; output < weights->outputs; output++) {
        const uint8_t *pixels = source + (size_t)weights->starts[output];
        int32_t sum = HALF;
        for (size_t tap = 0; tap < weights->taps; tap += CRESAMPLE_GRAY_GROUP) {
            for (size_t index = 0; index < CRESAMPLE_GRAY_GROUP; index++) {
                sum += pixels[tap + index] * factor_at(halves + index, CRESAMPLE_GRAY_GROUP);
            }
            halves += CRESAMPLE_GRAY_GROUP * 2;
        }
        int32_t level = sum >> CRESAMPLE_PRECISION;
        level = level < 0 ? 0 : level;
        destination[output] = (uint8_t)(level > 255 ? 255 : level);
    }
}

#if defined(__x86_64__)
/// Eight sums whose sum is that of one output: see `sums_avx2`.
INLINE AVX2 __m256i gray_sums_avx2(const uint8_t *pixels, const int16_t *halves, size_t groups) {
    __m256i high = _mm256_setzero_si256();
    __m256i low = _mm256_setr_epi32(HALF, 0, 0, 0, 0, 0, 0, 0);
    for (size_t group = 0; group < groups; group++) {
        __m256i levels = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(pixels + group * 16)));
        const __m256i *factors = (const __m256i *)(const void *)(halves + group * 32);
        high = _mm256_add_epi32(high, _mm256_madd_epi16(levels, _mm256_loadu_si256(factors)));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(levels, _mm256_loadu_si256(factors + 1)));
    }
    return _mm256_add_epi32(_mm256_slli_epi32(high, CRESAMPLE_LOW_BITS), low);
}

INLINE AVX2 void horizontal_gray_groups_avx2(
    const cresample_weights *weights, size_t groups, const uint8_t *source, uint8_t *destination) {
    const int32_t *starts = weights->starts;
    const int16_t *halves = weights->halves;
    const size_t step = groups * 32;
    for (size_t output = 0; output < weights->outputs; output += 4) {
        __m256i a = gray_sums_avx2(source + starts[output], halves, groups);
        __m256i b = gray_sums_avx2(source + starts[output + 1], halves + step, groups);
        __m256i c = gray_sums_avx2(source + starts[output + 2], halves + step * 2, groups);
        __m256i d = gray_sums_avx2(source + starts[output + 3], halves + step * 3, groups);
        // a b c d, a b c d
        __m256i parts = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        __m128i sums = _mm_add_epi32(_mm256_castsi256_si128(parts), _mm256_extracti128_si256(parts, 1));
        __m128i levels = _mm_srai_epi32(sums, CRESAMPLE_PRECISION);
        levels = _mm_packs_epi32(levels, levels);
        int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(levels, levels));
        memcpy(destination + output, &bytes, sizeof bytes);
        halves += step * 4;
    }
}

AVX2 static void horizontal_gray_avx2(const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    const size_t groups = weights->taps / CRESAMPLE_GRAY_GROUP;
    switch (groups) {
    case 1: horizontal_gray_groups_avx2(weights, 1, source, destination); return;
    case 2: horizontal_gray_groups_avx2(weights, 2, source, destination); return;
    default: horizontal_gray_groups_avx2(weights, groups, source, destination); return;
    }
}
#endif

// --- columns -----------------------------------------------------------------------------------------------------------

static void vertical(const cresample_rows *rows, const int16_t *halves, size_t bytes, uint8_t *destination) {
    const lanes half = (lanes){0} + HALF;
    for (size_t offset = 0; offset < bytes; offset += 32) {
        lanes a = half, b = half, c = half, d = half;
        size_t row = rows->first;
        for (size_t tap = 0; tap < rows->count; tap++) {
            const uint8_t *source = rows->ring + row * rows->stride + offset;
            int32_t factor = factor_at(halves + tap / 2 * 4 + tap % 2, CRESAMPLE_ROW_GROUP);
            a += load8(source) * factor;
            b += load8(source + 8) * factor;
            c += load8(source + 16) * factor;
            d += load8(source + 24) * factor;
            row = row + 1 == rows->capacity ? 0 : row + 1;
        }
        store8(destination + offset, a);
        store8(destination + offset + 8, b);
        store8(destination + offset + 16, c);
        store8(destination + offset + 24, d);
    }
}

#if defined(__x86_64__)
/// Adds the products of eight levels of one row and eight of the next, by turns, as they stand in the low or high half of each 16 bytes.
#define ADD_PRODUCTS(name, levels)                                                     \
    name##_high = _mm256_add_epi32(name##_high, _mm256_madd_epi16(levels, highs));     \
    name##_low = _mm256_add_epi32(name##_low, _mm256_madd_epi16(levels, lows))

/// What a pixel level is, of both sums.
INLINE AVX2 __m256i levels_avx2(__m256i high, __m256i low) {
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(high, CRESAMPLE_LOW_BITS), low), CRESAMPLE_PRECISION);
}

/// Two rows at a time: see `sums_avx2`.
AVX2 static void vertical_avx2(const cresample_rows *rows, const int16_t *halves, size_t bytes, uint8_t *destination) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i half = _mm256_set1_epi32(HALF);
    for (size_t offset = 0; offset < bytes; offset += 32) {
        __m256i a_high = zero, b_high = zero, c_high = zero, d_high = zero;
        __m256i a_low = half, b_low = half, c_low = half, d_low = half;
        size_t row = rows->first;
        const int16_t *pair = halves;
        for (size_t tap = 0; tap < rows->count; tap += 2) {
            __m256i one = _mm256_loadu_si256((const __m256i *)(const void *)(rows->ring + row * rows->stride + offset));
            row = row + 1 == rows->capacity ? 0 : row + 1;
            // After an odd last row this is any row of the ring: its factor is 0.
            __m256i other = _mm256_loadu_si256((const __m256i *)(const void *)(rows->ring + row * rows->stride + offset));
            row = row + 1 == rows->capacity ? 0 : row + 1;
            int32_t halves_of_two[2];
            memcpy(halves_of_two, pair, sizeof halves_of_two);
            __m256i highs = _mm256_set1_epi32(halves_of_two[0]);
            __m256i lows = _mm256_set1_epi32(halves_of_two[1]);
            pair += 4;
            __m256i ab = _mm256_unpacklo_epi8(one, other);
            __m256i cd = _mm256_unpackhi_epi8(one, other);
            __m256i a = _mm256_unpacklo_epi8(ab, zero), b = _mm256_unpackhi_epi8(ab, zero);
            __m256i c = _mm256_unpacklo_epi8(cd, zero), d = _mm256_unpackhi_epi8(cd, zero);
            ADD_PRODUCTS(a, a);
            ADD_PRODUCTS(b, b);
            ADD_PRODUCTS(c, c);
            ADD_PRODUCTS(d, d);
        }
        // Packing works by 16 bytes, as unpacking did: the bytes are in their places again.
        __m256i ab = _mm256_packs_epi32(levels_avx2(a_high, a_low), levels_avx2(b_high, b_low));
        __m256i cd = _mm256_packs_epi32(levels_avx2(c_high, c_low), levels_avx2(d_high, d_low));
        _mm256_storeu_si256((__m256i *)(void *)(destination + offset), _mm256_packus_epi16(ab, cd));
    }
}
#endif

// --- out of four bytes, three ------------------------------------------------------------------------------------------

INLINE void pack(const uint8_t *pixels, size_t count, int reversed, uint8_t *destination) {
    const size_t first = reversed ? 2 : 0, last = reversed ? 0 : 2;
    size_t done = 0;
    // Four pixels are stored as 16 bytes, of which the next store writes over the last four: there must be one.
    for (; done + 6 <= count; done += 4) {
        bytes16 four;
        memcpy(&four, pixels + done * 4, sizeof four);
        four = reversed ? __builtin_shufflevector(four, four, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 3, 7, 11, 15)
                        : __builtin_shufflevector(four, four, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
        memcpy(destination + done * 3, &four, sizeof four);
    }
    for (; done < count; done++) {
        destination[done * 3] = pixels[done * 4 + first];
        destination[done * 3 + 1] = pixels[done * 4 + 1];
        destination[done * 3 + 2] = pixels[done * 4 + last];
    }
}

// --- which one ---------------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
// The same source, compiled for the other processor.
AVX2 static void pack_avx2(const uint8_t *pixels, size_t count, int reversed, uint8_t *destination) {
    pack(pixels, count, reversed, destination);
}

#define CALL(name, ...) (level == CRESAMPLE_AVX2 ? name##_avx2(__VA_ARGS__) : name(__VA_ARGS__))
#else
#define CALL(name, ...) ((void)level, name(__VA_ARGS__))
#endif

cresample_level cresample_best(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        return CRESAMPLE_AVX2;
    }
#endif
    return CRESAMPLE_PORTABLE;
}

void cresample_horizontal(
    cresample_level level, const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    CALL(horizontal, weights, source, destination);
}

void cresample_horizontal_gray(
    cresample_level level, const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    CALL(horizontal_gray, weights, source, destination);
}

void cresample_vertical(
    cresample_level level, const cresample_rows *rows, const int16_t *halves, size_t bytes, uint8_t *destination) {
    CALL(vertical, rows, halves, bytes, destination);
}

void cresample_pack(
    cresample_level level, const uint8_t *pixels, size_t count, int reversed, uint8_t *destination) {
    CALL(pack, pixels, count, reversed, destination);
}
