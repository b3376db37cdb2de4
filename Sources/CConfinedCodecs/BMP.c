#include "Internal.h"

#include <string.h>

// BMP of Windows (headers of 40 to 124 bytes) and of OS/2 (12, 16 and 64 bytes). No library: the format is small.

enum { uncompressed = 0, rle8 = 1, rle4 = 2, bit_fields = 3 };

static struct {
    const uint8_t *bytes;
    size_t count, pixels;
    uint32_t bits, compression, masks[4], width, height;
    bool is_top_down;
    uint8_t palette[256][4];
} bmp;

static uint32_t little(size_t offset, int bytes) {
    uint32_t value = 0;
    for (int index = 0; index < bytes; index++)
        if (offset + (size_t)index < bmp.count) value |= (uint32_t)bmp.bytes[offset + (size_t)index] << (8 * index);
    return value;
}

/// Reads the sides from a header of OS/2's first version or of later ones.
static bool read_size(uint32_t header, struct ccodec_statement *statement) {
    int64_t width, height;
    if (header == 12) {
        width = little(18, 2);
        height = little(20, 2);
        bmp.bits = little(24, 2);
    } else {
        width = (int32_t)little(18, 4);
        height = (int32_t)little(22, 4);
        bmp.bits = little(28, 2);
        bmp.compression = header >= 20 ? little(30, 4) : 0;
    }
    bmp.is_top_down = height < 0;
    if (height < 0) height = -height;
    if (width <= 0 || height <= 0 || height > INT32_MAX)
        return ccodec_refuse(statement, "its size is %lld x %lld pixels", (long long)width, (long long)height);
    bmp.width = (uint32_t)width;
    bmp.height = (uint32_t)height;
    return true;
}

/// Reads the palette at `offset`, and finds the pixels that follow it. If a program wrote 0, or the offset of the
/// palette, as the offset of the pixels, the pixels begin at the end of the palette.
static void read_palette(size_t offset, uint32_t header) {
    size_t entry = header == 12 ? 3 : 4, used = header >= 40 ? little(46, 4) : 0;
    size_t count = (size_t)1 << bmp.bits, stored = used > 0 ? used : count;
    if (bmp.pixels == 0 || bmp.pixels == offset) bmp.pixels = offset + stored * entry;
    size_t room = bmp.pixels > offset ? (bmp.pixels - offset) / entry : 0;
    if (count > stored) count = stored;
    if (count > room) count = room;
    for (size_t index = 0; index < 256; index++) {
        bool known = index < count && offset + (index + 1) * entry <= bmp.count;
        const uint8_t *color = known ? bmp.bytes + offset + index * entry : NULL;
        for (int channel = 0; channel < 3; channel++) bmp.palette[index][channel] = color ? color[2 - channel] : 0;
        bmp.palette[index][3] = 255;
    }
}

static bool open_bmp(const struct ccodec_input *input, struct ccodec_statement *statement) {
    bmp.bytes = input->bytes;
    bmp.count = input->count;
    bmp.pixels = little(10, 4);
    uint32_t header = little(14, 4);
    if (bmp.count < 14 + (size_t)header) return ccodec_refuse(statement, "it ends within its header");
    if (!read_size(header, statement)) return false;
    bool has_palette = bmp.bits == 1 || bmp.bits == 2 || bmp.bits == 4 || bmp.bits == 8;
    if (!has_palette && bmp.bits != 16 && bmp.bits != 24 && bmp.bits != 32)
        return ccodec_refuse(statement, "%u bits for each pixel are not supported", bmp.bits);
    // OS/2 uses the numbers 3 and 4 for other compressions.
    bool is_known = bmp.compression == uncompressed || (bmp.compression == rle8 && bmp.bits == 8) ||
        (bmp.compression == rle4 && bmp.bits == 4) ||
        (bmp.compression == bit_fields && header != 64 && header != 16 && (bmp.bits == 16 || bmp.bits == 32));
    if (!is_known)
        return ccodec_refuse(statement, "compression %u of %u bits is not supported", bmp.compression, bmp.bits);
    size_t palette = 14 + (size_t)header;
    if (bmp.compression == bit_fields) {
        for (size_t channel = 0; channel < 3; channel++) bmp.masks[channel] = little(54 + channel * 4, 4);
        bmp.masks[3] = header >= 56 ? little(66, 4) : 0;
        if (header == 40) palette += 12;
    } else if (bmp.bits == 16) {
        memcpy(bmp.masks, (uint32_t[]){0x7C00, 0x3E0, 0x1F, 0}, sizeof bmp.masks);
    } else {
        memcpy(bmp.masks, (uint32_t[]){0xFF0000, 0xFF00, 0xFF, 0}, sizeof bmp.masks);
    }
    if (has_palette) read_palette(palette, header);
    if (bmp.pixels == 0) bmp.pixels = palette;
    if (bmp.pixels < 14 + (size_t)header)
        return ccodec_refuse(
            statement, "its pixels begin at byte %zu, within its headers of %zu bytes", bmp.pixels, 14 + (size_t)header);
    if (bmp.pixels > bmp.count) return ccodec_refuse(statement, "it ends before its pixels");
    statement->width = bmp.width;
    statement->height = bmp.height;
    statement->orientation = 1;
    statement->has_alpha = bmp.masks[3] != 0 && !has_palette;
    statement->memory = 64 << 10;
    return true;
}

/// The bits of a mask as a level of 0 to 255.
static uint8_t level(uint32_t pixel, uint32_t mask) {
    if (mask == 0) return 0;
    int shift = __builtin_ctz(mask);
    uint64_t most = mask >> shift;
    return (uint8_t)((uint64_t)((pixel & mask) >> shift) * 255 / most);
}

static uint8_t *row(uint8_t *pixels, uint32_t y) {
    return pixels + (size_t)(bmp.is_top_down ? y : bmp.height - 1 - y) * bmp.width * 4;
}

static void decode_row(const uint8_t *from, uint8_t *to) {
    for (uint32_t x = 0; x < bmp.width; x++, to += 4) {
        if (bmp.bits <= 8) {
            size_t bit = (size_t)x * bmp.bits;
            uint32_t index = from[bit / 8] >> (8 - bmp.bits - bit % 8) & ((1u << bmp.bits) - 1);
            memcpy(to, bmp.palette[index], 4);
            continue;
        }
        size_t bytes = bmp.bits / 8;
        uint32_t pixel = 0;
        for (size_t index = 0; index < bytes; index++) pixel |= (uint32_t)from[x * bytes + index] << (8 * index);
        for (int channel = 0; channel < 3; channel++) to[channel] = level(pixel, bmp.masks[channel]);
        to[3] = bmp.masks[3] ? level(pixel, bmp.masks[3]) : 255;
    }
}

/// Decodes runs: a count and a colour; or 0 followed by the end of a row (0) or of the picture (1), a move (2), or a
/// count of literal pixels.
static bool decode_runs(uint8_t *pixels, struct ccodec_statement *statement) {
    for (size_t index = 0; index < (size_t)bmp.width * bmp.height; index++)
        memcpy(pixels + index * 4, bmp.palette[0], 4);
    size_t at = bmp.pixels;
    uint32_t x = 0, y = 0;
    while (y < bmp.height) {
        if (bmp.count - at < 2) return ccodec_refuse(statement, "it ends within its pixels");
        uint8_t count = bmp.bytes[at], value = bmp.bytes[at + 1];
        at += 2;
        if (count == 0 && value == 0) {
            x = 0;
            y++;
            continue;
        }
        if (count == 0 && value == 1) return true;
        if (count == 0 && value == 2) {
            if (bmp.count - at < 2) return ccodec_refuse(statement, "it ends within its pixels");
            x += bmp.bytes[at];
            y += bmp.bytes[at + 1];
            at += 2;
            continue;
        }
        const uint8_t *literals = NULL;
        uint32_t pixel_count = count;
        if (count == 0) {
            pixel_count = value;
            size_t bytes = bmp.compression == rle8 ? value : (value + 1u) / 2;
            if (bmp.count - at < bytes) return ccodec_refuse(statement, "it ends within its pixels");
            literals = bmp.bytes + at;
            // Literals are padded to whole words, except at the end of the file.
            bytes += bytes & 1;
            at = bmp.count - at < bytes ? bmp.count : at + bytes;
        }
        // Runs may extend past the end of a row.
        uint32_t room = x < bmp.width ? bmp.width - x : 0, shown = pixel_count < room ? pixel_count : room;
        uint8_t *to = row(pixels, y) + (size_t)(room > 0 ? x : 0) * 4;
        for (uint32_t index = 0; index < shown; index++, to += 4) {
            uint8_t byte = literals ? literals[bmp.compression == rle8 ? index : index / 2] : value;
            uint8_t color = bmp.compression == rle8 ? byte : index % 2 == 0 ? byte >> 4 : byte & 15;
            memcpy(to, bmp.palette[color], 4);
        }
        x += shown;
    }
    return true;
}

static bool decode_bmp(uint8_t *pixels, struct ccodec_statement *statement) {
    if (bmp.compression == rle8 || bmp.compression == rle4) return decode_runs(pixels, statement);
    size_t stride = ((size_t)bmp.width * bmp.bits + 31) / 32 * 4, used = ((size_t)bmp.width * bmp.bits + 7) / 8;
    for (uint32_t y = 0; y < bmp.height; y++) {
        size_t start = bmp.pixels + (size_t)y * stride;
        if (start > bmp.count || bmp.count - start < used)
            return ccodec_refuse(statement, "it ends within its pixels, in row %u of %u", y, bmp.height);
        decode_row(bmp.bytes + start, row(pixels, y));
    }
    return true;
}

const struct ccodec ccodec_bmp = {CCODEC_BMP, NULL, open_bmp, decode_bmp};
