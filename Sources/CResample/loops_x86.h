// The loops for x86-64, included by CResample.c once for each instruction set. It must define: TARGET, the attribute to compile a
// function for the set; NAME(loop), the name of a loop for the set; ADD_PRODUCTS(sums, a, b), which adds the products of 16-bit
// numbers, summed in pairs, to `sums`.

// --- rows of pixels of four bytes --------------------------------------------------------------------------------------

/// The sums of one output, by channel, for the first and the second pair of each four pixels: R R G G, B B X X.
///
/// A product of 16-bit numbers takes a fifth of the time of a 32-bit one, so factors are split into halves. Additions are modulo
/// 2^32, which is exact because the result fits.
INLINE TARGET __m256i NAME(sums)(const uint8_t *pixels, const int16_t *halves, size_t fours) {
    // Expand four pixels, in the low and in the high 16 bytes, to 16-bit numbers: R0 R1 R2 R3 G0 G1 G2 G3, B0 B1 B2 B3 X0 X1 X2 X3.
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
        high = ADD_PRODUCTS(high, levels, highs);
        low = ADD_PRODUCTS(low, levels, lows);
    }
    return _mm256_add_epi32(_mm256_slli_epi32(high, CRESAMPLE_LOW_BITS), low);
}

/// With a constant number of fours, so that no branch can be mispredicted once for each output.
INLINE TARGET void NAME(horizontal_fours)(
    const cresample_weights *weights, size_t fours, const uint8_t *source, uint8_t *destination) {
    const int32_t *starts = weights->starts;
    const int16_t *halves = weights->halves;
    const size_t step = fours * 8;
    for (size_t output = 0; output < weights->outputs; output += 4) {
        __m256i a = NAME(sums)(source + (size_t)starts[output] * 4, halves, fours);
        __m256i b = NAME(sums)(source + (size_t)starts[output + 1] * 4, halves + step, fours);
        __m256i c = NAME(sums)(source + (size_t)starts[output + 2] * 4, halves + step * 2, fours);
        __m256i d = NAME(sums)(source + (size_t)starts[output + 3] * 4, halves + step * 3, fours);
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

TARGET static void NAME(horizontal)(const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    const size_t fours = weights->taps / CRESAMPLE_PIXEL_GROUP;
    switch (fours) {
    case 1: NAME(horizontal_fours)(weights, 1, source, destination); return;
    case 2: NAME(horizontal_fours)(weights, 2, source, destination); return;
    case 3: NAME(horizontal_fours)(weights, 3, source, destination); return;
    default: NAME(horizontal_fours)(weights, fours, source, destination); return;
    }
}

// --- rows of pixels of one byte ----------------------------------------------------------------------------------------

/// Eight sums that add up to that of one output: see `NAME(sums)`.
INLINE TARGET __m256i NAME(gray_sums)(const uint8_t *pixels, const int16_t *halves, size_t groups) {
    __m256i high = _mm256_setzero_si256();
    __m256i low = _mm256_setr_epi32(HALF, 0, 0, 0, 0, 0, 0, 0);
    for (size_t group = 0; group < groups; group++) {
        __m256i levels = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(pixels + group * 16)));
        const __m256i *factors = (const __m256i *)(const void *)(halves + group * 32);
        high = ADD_PRODUCTS(high, levels, _mm256_loadu_si256(factors));
        low = ADD_PRODUCTS(low, levels, _mm256_loadu_si256(factors + 1));
    }
    return _mm256_add_epi32(_mm256_slli_epi32(high, CRESAMPLE_LOW_BITS), low);
}

INLINE TARGET void NAME(horizontal_gray_groups)(
    const cresample_weights *weights, size_t groups, const uint8_t *source, uint8_t *destination) {
    const int32_t *starts = weights->starts;
    const int16_t *halves = weights->halves;
    const size_t step = groups * 32;
    for (size_t output = 0; output < weights->outputs; output += 4) {
        __m256i a = NAME(gray_sums)(source + starts[output], halves, groups);
        __m256i b = NAME(gray_sums)(source + starts[output + 1], halves + step, groups);
        __m256i c = NAME(gray_sums)(source + starts[output + 2], halves + step * 2, groups);
        __m256i d = NAME(gray_sums)(source + starts[output + 3], halves + step * 3, groups);
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

TARGET static void NAME(horizontal_gray)(const cresample_weights *weights, const uint8_t *source, uint8_t *destination) {
    const size_t groups = weights->taps / CRESAMPLE_GRAY_GROUP;
    switch (groups) {
    case 1: NAME(horizontal_gray_groups)(weights, 1, source, destination); return;
    case 2: NAME(horizontal_gray_groups)(weights, 2, source, destination); return;
    default: NAME(horizontal_gray_groups)(weights, groups, source, destination); return;
    }
}

// --- columns -----------------------------------------------------------------------------------------------------------

/// Combines both sums to pixel levels.
INLINE TARGET __m256i NAME(levels)(__m256i high, __m256i low) {
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(high, CRESAMPLE_LOW_BITS), low), CRESAMPLE_PRECISION);
}

/// Processes two rows at a time: see `NAME(sums)`.
TARGET static void NAME(vertical)(const cresample_rows *rows, const int16_t *halves, size_t bytes, uint8_t *destination) {
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
            // After an odd last row, this is any row of the ring: its factor is 0.
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
            a_high = ADD_PRODUCTS(a_high, a, highs);
            a_low = ADD_PRODUCTS(a_low, a, lows);
            b_high = ADD_PRODUCTS(b_high, b, highs);
            b_low = ADD_PRODUCTS(b_low, b, lows);
            c_high = ADD_PRODUCTS(c_high, c, highs);
            c_low = ADD_PRODUCTS(c_low, c, lows);
            d_high = ADD_PRODUCTS(d_high, d, highs);
            d_low = ADD_PRODUCTS(d_low, d, lows);
        }
        // Packing works on 16 bytes, as unpacking did, so the bytes are in order again.
        __m256i ab = _mm256_packs_epi32(NAME(levels)(a_high, a_low), NAME(levels)(b_high, b_low));
        __m256i cd = _mm256_packs_epi32(NAME(levels)(c_high, c_low), NAME(levels)(d_high, d_low));
        _mm256_storeu_si256((__m256i *)(void *)(destination + offset), _mm256_packus_epi16(ab, cd));
    }
}

// --- what is the same source for every processor -----------------------------------------------------------------------

TARGET static void NAME(pack)(const uint8_t *pixels, size_t count, int reversed, uint8_t *destination) {
    pack(pixels, count, reversed, destination);
}
