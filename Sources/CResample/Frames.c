// Rows of raw frames as rows of pixels of four bytes. Each loop is compiled for the baseline and, on x86-64, for AVX2 too.
#include "CResample.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef uint8_t bytes16 __attribute__((vector_size(16)));

// --- four bytes in another order ---------------------------------------------------------------------------------------

INLINE uint32_t load32(const uint8_t *source) {
    uint32_t pixel;
    memcpy(&pixel, source, sizeof pixel);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    pixel = __builtin_bswap32(pixel);
#endif
    return pixel;
}

INLINE void store32(uint8_t *destination, uint32_t pixel) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    pixel = __builtin_bswap32(pixel);
#endif
    memcpy(destination, &pixel, sizeof pixel);
}

INLINE int reorder(const uint8_t *source, size_t count, cresample_order order, uint8_t *destination) {
    uint32_t all = 0xFFFFFFFF;
    if (order == CRESAMPLE_RGBA) {
        for (size_t index = 0; index < count; index++) {
            all &= load32(source + index * 4);
        }
    } else if (order == CRESAMPLE_BGRA) {
        for (size_t index = 0; index < count; index++) {
            uint32_t pixel = load32(source + index * 4);
            pixel = (pixel & 0xFF00FF00) | (pixel >> 16 & 0xFF) | (pixel & 0xFF) << 16;
            all &= pixel;
            store32(destination + index * 4, pixel);
        }
    } else {
        for (size_t index = 0; index < count; index++) {
            uint32_t pixel = load32(source + index * 4);
            pixel = pixel >> 8 | pixel << 24;
            all &= pixel;
            store32(destination + index * 4, pixel);
        }
    }
    return all >> 24 == 0xFF;
}

// --- three bytes -------------------------------------------------------------------------------------------------------

INLINE void expand(const uint8_t *source, size_t count, int reversed, uint8_t *destination) {
    const bytes16 opaque = {0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255};
    size_t done = 0;
    // Four pixels are read as 16 bytes, so four bytes of the next two pixels must follow.
    for (; done + 6 <= count; done += 4) {
        bytes16 four;
        memcpy(&four, source + done * 3, sizeof four);
        four = reversed ? __builtin_shufflevector(four, opaque, 2, 1, 0, 19, 5, 4, 3, 19, 8, 7, 6, 19, 11, 10, 9, 19)
                        : __builtin_shufflevector(four, opaque, 0, 1, 2, 19, 3, 4, 5, 19, 6, 7, 8, 19, 9, 10, 11, 19);
        memcpy(destination + done * 4, &four, sizeof four);
    }
    const size_t first = reversed ? 2 : 0, last = reversed ? 0 : 2;
    for (; done < count; done++) {
        destination[done * 4] = source[done * 3 + first];
        destination[done * 4 + 1] = source[done * 3 + 1];
        destination[done * 4 + 2] = source[done * 3 + last];
        destination[done * 4 + 3] = 255;
    }
}

// --- luma and chroma ---------------------------------------------------------------------------------------------------

INLINE uint32_t level(int32_t sum) {
    sum >>= CRESAMPLE_YUV_BITS;
    return (uint32_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

INLINE uint32_t pixel_of(int32_t luma, int32_t red, int32_t green, int32_t blue) {
    return level(luma + red) | level(luma + green) << 8 | level(luma + blue) << 16 | 0xFF000000;
}

INLINE void convert(
    const uint8_t *luma, const uint8_t *blue, const uint8_t *red, size_t step, size_t pairs, const cresample_yuv *factors,
    uint8_t *destination) {
    const int32_t half = 1 << (CRESAMPLE_YUV_BITS - 1);
    for (size_t pair = 0; pair < pairs; pair++) {
        int32_t u = blue[pair * step] - 128, v = red[pair * step] - 128;
        int32_t to_red = v * factors->red, to_green = u * factors->green_of_blue + v * factors->green_of_red,
                to_blue = u * factors->blue;
        int32_t first = (luma[pair * 2] - 16) * factors->luma + half, second = (luma[pair * 2 + 1] - 16) * factors->luma + half;
        store32(destination + pair * 8, pixel_of(first, to_red, to_green, to_blue));
        store32(destination + pair * 8 + 4, pixel_of(second, to_red, to_green, to_blue));
    }
}

INLINE void yuv(
    const uint8_t *luma, const uint8_t *blue, const uint8_t *red, size_t step, size_t count, const cresample_yuv *factors,
    uint8_t *destination) {
    // A copy, so that the compiler knows that writing pixels does not change the factors.
    const cresample_yuv constant = *factors;
    // A constant step in each call, so that both loops become vectors.
    if (step == 2) {
        convert(luma, blue, red, 2, count / 2, &constant, destination);
    } else {
        convert(luma, blue, red, 1, count / 2, &constant, destination);
    }
    if (count % 2 == 1) {
        const uint8_t last[2] = {luma[count - 1], 16};
        uint8_t two[8];
        convert(last, blue + count / 2 * step, red + count / 2 * step, 1, 1, &constant, two);
        memcpy(destination + (count - 1) * 4, two, 4);
    }
}

// --- which one ---------------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
#define VARIANTS(result, name, parameters, arguments)                                                     \
    __attribute__((target("avx2"))) static result name##_avx2 parameters { return name arguments; }       \
    static result name##_portable parameters { return name arguments; }
#define CALL(name, arguments) (variant >= CRESAMPLE_AVX2 ? name##_avx2 arguments : name##_portable arguments)
#else
#define VARIANTS(result, name, parameters, arguments) \
    static result name##_portable parameters { return name arguments; }
#define CALL(name, arguments) ((void)variant, name##_portable arguments)
#endif

VARIANTS(
    int, reorder, (const uint8_t *source, size_t count, cresample_order order, uint8_t *destination),
    (source, count, order, destination))
VARIANTS(
    void, expand, (const uint8_t *source, size_t count, int reversed, uint8_t *destination),
    (source, count, reversed, destination))
VARIANTS(
    void, yuv,
    (const uint8_t *luma, const uint8_t *blue, const uint8_t *red, size_t step, size_t count, const cresample_yuv *factors,
     uint8_t *destination),
    (luma, blue, red, step, count, factors, destination))

int cresample_reorder(
    cresample_level variant, const uint8_t *source, size_t count, cresample_order order, uint8_t *destination) {
    return CALL(reorder, (source, count, order, destination));
}

void cresample_expand(
    cresample_level variant, const uint8_t *source, size_t count, int reversed, uint8_t *destination) {
    CALL(expand, (source, count, reversed, destination));
}

void cresample_convert(
    cresample_level variant, const uint8_t *luma, const uint8_t *blue, const uint8_t *red, size_t step, size_t count,
    const cresample_yuv *factors, uint8_t *destination) {
    CALL(yuv, (luma, blue, red, step, count, factors, destination));
}
