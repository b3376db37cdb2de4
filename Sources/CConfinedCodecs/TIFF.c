#include "Internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// libtiff's ABI, as documented in TIFF Functions and tiff.h, versions 4.0 and later.
enum {
    tag_width = 256, tag_height = 257, tag_bits = 258, tag_compression = 259, tag_photometric = 262, tag_orientation = 274,
    tag_samples = 277, tag_rows_per_strip = 278, tag_planar = 284, tag_colors = 320, tag_tile_width = 322,
    tag_tile_height = 323, tag_extra = 338, tag_sample_format = 339, tag_dng = 50706, tag_jpeg_colors = 65538,
};
enum { white_is_zero, black_is_zero, rgb, palette, separated = 5, ycbcr = 6 };
enum { compression_jpeg = 7, associated = 1, unassociated = 2, floating = 3 };
enum {
    compression_old_jpeg = 6, compression_jbig = 34661, compression_lerc = 34887, compression_lzma = 34925,
    compression_zstd = 50000, compression_webp = 50001,
};

static struct {
    void *(*open)(const char *, const char *, void *, long (*)(void *, void *, long), long (*)(void *, void *, long),
                  uint64_t (*)(void *, uint64_t, int), int (*)(void *), uint64_t (*)(void *), int (*)(void *, void **, uint64_t *),
                  void (*)(void *, void *, uint64_t));
    void (*(*on_error)(void (*)(const char *, const char *, va_list)))(const char *, const char *, va_list);
    void (*(*on_warning)(void (*)(const char *, const char *, va_list)))(const char *, const char *, va_list);
    int (*directory)(void *, uint32_t);
    int (*field)(void *, uint32_t, ...), (*default_field)(void *, uint32_t, ...), (*set)(void *, uint32_t, ...);
    int (*is_tiled)(void *);
    long (*tile_size)(void *), (*tile_row)(void *), (*strip_size)(void *), (*row)(void *);
    uint32_t (*tile)(void *, uint32_t, uint32_t, uint32_t, uint16_t), (*strip)(void *, uint32_t, uint16_t);
    long (*read_tile)(void *, uint32_t, void *, long), (*read_strip)(void *, uint32_t, void *, long);
    int (*whole)(void *, uint32_t, uint32_t, uint32_t *, int, int);
} tiff;

static struct ccodec_input input;
static uint64_t place;
static char problem[CCODEC_REASON];
static void *file;
static uint32_t width, height;
static uint16_t bits, samples, photometric, planar, compression, orientation, sample_format;
/// The index of the sample that is opacity; 0 for none.
static uint16_t alpha;
static bool is_associated;
static uint16_t *colors[3];
/// Strips or tiles: their size in pixels, the bytes of one and of its rows, and the number of planes.
static struct {
    bool are_tiles;
    uint32_t columns, rows;
    long bytes, stride;
    uint16_t planes;
} parts;

static const char *load(void) {
    void *library = ccodec_library((const char *const[]){"libtiff.so.6", "libtiff.so.5", NULL});
    if (!library) return "install libtiff: on Debian 12 and later the package libtiff6";
    return ccodec_functions(
               library, "TIFFClientOpen", &tiff.open, "TIFFSetErrorHandler", &tiff.on_error, "TIFFSetWarningHandler",
               &tiff.on_warning, "TIFFSetDirectory", &tiff.directory, "TIFFGetField", &tiff.field,
               "TIFFGetFieldDefaulted", &tiff.default_field, "TIFFSetField", &tiff.set, "TIFFIsTiled", &tiff.is_tiled,
               "TIFFTileSize", &tiff.tile_size, "TIFFTileRowSize", &tiff.tile_row, "TIFFStripSize", &tiff.strip_size,
               "TIFFScanlineSize", &tiff.row, "TIFFComputeTile", &tiff.tile, "TIFFComputeStrip", &tiff.strip,
               "TIFFReadEncodedTile", &tiff.read_tile, "TIFFReadEncodedStrip", &tiff.read_strip,
               "TIFFReadRGBAImageOriented", &tiff.whole, NULL)
        ? NULL
        : "the installed libtiff is too old: 4.0 or later is needed";
}

static long read_bytes(void *unused, void *into, long count) {
    (void)unused;
    if (count < 0 || place >= input.count) return 0;
    uint64_t rest = input.count - place, taken = (uint64_t)count < rest ? (uint64_t)count : rest;
    memcpy(into, input.bytes + place, taken);
    place += taken;
    return (long)taken;
}
static long write_bytes(void *unused, void *from, long count) {
    (void)unused, (void)from, (void)count;
    return -1;
}
static uint64_t seek(void *unused, uint64_t offset, int from) {
    (void)unused;
    place = from == SEEK_SET ? offset : from == SEEK_CUR ? place + offset : input.count + offset;
    return place;
}
static int close_file(void *unused) {
    (void)unused;
    return 0;
}
static uint64_t size(void *unused) {
    (void)unused;
    return input.count;
}
static int map(void *unused, void **base, uint64_t *count) {
    (void)unused, (void)base, (void)count;
    return 0;
}
static void unmap(void *unused, void *base, uint64_t count) { (void)unused, (void)base, (void)count; }

/// Keeps the first error: later ones are consequences of it.
static void keep(const char *module, const char *format, va_list values) {
    (void)module;
    if (!problem[0]) vsnprintf(problem, sizeof problem, format, values);
}

static bool broken(struct ccodec_statement *statement, const char *otherwise) {
    return ccodec_refuse(statement, "%s", problem[0] ? problem : otherwise);
}

static uint16_t colour_sample_count(void) {
    return photometric == rgb || photometric == ycbcr ? 3 : photometric == separated ? 4 : 1;
}

/// True for subsampled chroma, which libtiff converts to pixels.
static bool is_subsampled(void) { return photometric == ycbcr && compression != compression_jpeg; }

static bool read_kind(struct ccodec_statement *statement) {
    uint16_t extra_count = 0, *extra = NULL;
    uint16_t colour_samples = colour_sample_count();
    if (photometric > separated && photometric != ycbcr)
        return ccodec_refuse(statement, "its photometric interpretation %u is not supported", photometric);
    if (photometric == 4) return ccodec_refuse(statement, "it is a transparency mask, not a picture");
    if (samples < colour_samples) return ccodec_refuse(statement, "it has %u samples of %u", samples, colour_samples);
    bool is_float = sample_format == floating && bits == 32;
    bool has_bits = photometric == ycbcr ? bits == 8 : bits >= 1 && bits <= 16;
    if (!is_float && (!has_bits || sample_format == 2 || sample_format == floating))
        return ccodec_refuse(statement, "samples of %u bits in format %u are not supported", bits, sample_format);
    if (photometric == palette) {
        if (bits > 8 || !tiff.field(file, tag_colors, &colors[0], &colors[1], &colors[2]))
            return ccodec_refuse(statement, "it has no palette for samples of %u bits", bits);
    }
    tiff.default_field(file, tag_extra, &extra_count, &extra);
    if (extra_count > 0 && extra && samples > colour_samples && (extra[0] == associated || extra[0] == unassociated)) {
        alpha = colour_samples;
        is_associated = extra[0] == associated;
    }
    return true;
}

static bool read_parts(struct ccodec_statement *statement) {
    parts.are_tiles = tiff.is_tiled(file) != 0;
    parts.columns = width;
    parts.rows = height;
    if (parts.are_tiles) {
        if (!tiff.field(file, tag_tile_width, &parts.columns) || !tiff.field(file, tag_tile_height, &parts.rows))
            return broken(statement, "its tiles have no size");
    } else {
        tiff.default_field(file, tag_rows_per_strip, &parts.rows);
        if (parts.rows > height) parts.rows = height;
    }
    if (parts.columns == 0 || parts.rows == 0) return ccodec_refuse(statement, "its strips or tiles are empty");
    parts.bytes = parts.are_tiles ? tiff.tile_size(file) : tiff.strip_size(file);
    parts.stride = parts.are_tiles ? tiff.tile_row(file) : tiff.row(file);
    parts.planes = planar == 2 ? (uint16_t)(alpha > 0 ? alpha + 1 : colour_sample_count()) : 1;
    // libtiff itself reads these parts.
    if (is_subsampled() && parts.bytes > 0) return true;
    uint64_t row_bits = (uint64_t)parts.columns * bits * (planar == 2 ? 1 : samples);
    if (parts.bytes <= 0 || parts.stride <= 0 || (uint64_t)parts.stride < (row_bits + 7) / 8 ||
        (uint64_t)parts.bytes / (uint64_t)parts.stride < parts.rows)
        return broken(statement, "its strips or tiles are too small");
    return true;
}

/// An upper bound of the memory for decoding: a strip or tile of each plane, libtiff's copy of its data (possibly most
/// of the file), and the memory of its codecs.
static uint64_t memory(void) {
    // More than any machine has, so sums of a few do not overflow.
    const uint64_t most = (uint64_t)1 << 56;
    uint64_t part = (uint64_t)parts.bytes < most ? (uint64_t)parts.bytes : most, sum = parts.planes * part + 3 * input.count + (2 << 20);
    switch (compression) {
    // These codecs hold a whole strip or tile, progressive JPEG as coefficients of 16 bits.
    case compression_jpeg:
    case compression_old_jpeg:
    case compression_jbig:
    case compression_webp: return sum + 3 * part;
    case compression_lerc: return sum + 4 * part;
    // For dictionaries.
    case compression_zstd: return sum + (32 << 20);
    case compression_lzma: return sum + (72 << 20);
    default: return sum;
    }
}

static bool open_tiff(const struct ccodec_input *picture, struct ccodec_statement *statement) {
    input = *picture;
    tiff.on_error(keep);
    tiff.on_warning(NULL);
    file = tiff.open("picture", "rm", NULL, read_bytes, write_bytes, seek, close_file, size, map, unmap);
    if (!file) return broken(statement, "it is damaged");
    if (picture->page > 65534 || (picture->page > 0 && !tiff.directory(file, picture->page)))
        return ccodec_refuse(statement, "it has no page %u (pages count from 0)", picture->page);
    uint32_t version = 0;
    void *bytes = NULL;
    if (tiff.field(file, tag_dng, &bytes)) return ccodec_refuse(statement, "it is a camera raw file (DNG)");
    (void)version;
    if (!tiff.field(file, tag_width, &width) || !tiff.field(file, tag_height, &height) || width == 0 || height == 0)
        return broken(statement, "it has no size");
    tiff.default_field(file, tag_bits, &bits);
    tiff.default_field(file, tag_samples, &samples);
    tiff.default_field(file, tag_planar, &planar);
    tiff.default_field(file, tag_compression, &compression);
    tiff.default_field(file, tag_orientation, &orientation);
    tiff.default_field(file, tag_sample_format, &sample_format);
    if (!tiff.field(file, tag_photometric, &photometric)) photometric = samples >= 3 ? rgb : black_is_zero;
    if (!read_kind(statement)) return false;
    // libjpeg then converts to RGB.
    if (photometric == ycbcr && compression == compression_jpeg) tiff.set(file, tag_jpeg_colors, 1);
    statement->width = width;
    statement->height = height;
    statement->orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
    statement->has_alpha = alpha > 0;
    if (!read_parts(statement)) return false;
    statement->memory = memory();
    return true;
}

/// A sample of a row as a level of 0 to 255: the upper 8 of more than 8 bits; a float clamped to 0 to 255. Samples of
/// up to 8 bits are returned as stored.
static uint8_t sample(const uint8_t *row, size_t index) {
    switch (bits) {
    case 8: return row[index];
    case 16: {
        uint16_t value;
        memcpy(&value, row + index * 2, 2);
        return (uint8_t)(value >> 8);
    }
    case 32: {
        float value;
        memcpy(&value, row + index * 4, 4);
        return value >= 255 ? 255 : value > 0 ? (uint8_t)value : 0;
    }
    default: {
        // Packed, most significant bit first, in up to three bytes.
        size_t bit = index * bits;
        const uint8_t *at = row + bit / 8;
        uint32_t end = (uint32_t)(bit % 8) + bits, window = (uint32_t)at[0] << 16;
        if (end > 8) window |= (uint32_t)at[1] << 8;
        if (end > 16) window |= at[2];
        uint32_t value = window >> (24 - end) & ((1u << bits) - 1);
        return (uint8_t)(bits > 8 ? value >> (bits - 8) : value);
    }
    }
}

/// A sample of up to 8 bits as a level of 0 to 255.
static uint8_t level(uint8_t value) {
    if (bits >= 8) return value;
    uint32_t most = (1u << bits) - 1;
    return (uint8_t)((value * 255u + most / 2) / most);
}

static uint8_t product(uint8_t first, uint8_t second) {
    uint32_t value = (uint32_t)first * second + 128;
    return (uint8_t)(((value >> 8) + value) >> 8);
}

/// Writes one pixel from its samples.
static void write_pixel(const uint8_t *values, uint8_t *to) {
    switch (photometric) {
    case palette:
        for (int channel = 0; channel < 3; channel++) to[channel] = (uint8_t)(colors[channel][values[0]] >> 8);
        break;
    case separated:
        for (int channel = 0; channel < 3; channel++) {
            uint8_t rest = (uint8_t)(255 - values[3]);
            to[channel] = (uint8_t)(rest - product(values[channel], rest));
        }
        break;
    case rgb:
    case ycbcr: memcpy(to, values, 3); break;
    default: memset(to, photometric == white_is_zero ? 255 - values[0] : values[0], 3);
    }
    to[3] = 255;
    if (alpha == 0) return;
    uint8_t opacity = values[alpha];
    to[3] = opacity;
    if (!is_associated || opacity == 0 || opacity == 255) return;
    for (int channel = 0; channel < 3; channel++) {
        uint32_t value = 255u * to[channel] / opacity;
        to[channel] = (uint8_t)(value > 255 ? 255 : value);
    }
}

/// A strip or a tile: its position, and its rows, of one plane or of all samples.
struct part {
    uint32_t x, y, columns, rows;
    size_t stride;
    const uint8_t *bytes[5];
};

static void write_part(const struct part *part, uint8_t *pixels) {
    uint16_t wanted = alpha > 0 ? (uint16_t)(alpha + 1) : colour_sample_count();
    uint8_t values[5] = {0};
    for (uint32_t y = 0; y < part->rows && part->y + y < height; y++) {
        uint8_t *to = pixels + ((size_t)(part->y + y) * width + part->x) * 4;
        for (uint32_t x = 0; x < part->columns && part->x + x < width; x++, to += 4) {
            for (uint16_t index = 0; index < wanted; index++) {
                values[index] = planar == 2 ? sample(part->bytes[index] + y * part->stride, x)
                                            : sample(part->bytes[0] + y * part->stride, (size_t)x * samples + index);
                // The first sample of a palette picture is an index, not a level.
                if (photometric != palette || index > 0) values[index] = level(values[index]);
            }
            write_pixel(values, to);
        }
    }
}

static bool decode_parts(uint8_t *pixels, struct ccodec_statement *statement) {
    uint8_t *memory = calloc(parts.planes, (size_t)parts.bytes);
    if (!memory) return ccodec_refuse(statement, "out of memory");
    for (uint64_t y = 0; y < height; y += parts.rows) {
        for (uint64_t x = 0; x < width; x += parts.columns) {
            struct part part = {(uint32_t)x, (uint32_t)y, parts.columns, parts.rows, (size_t)parts.stride, {0}};
            for (uint16_t plane = 0; plane < parts.planes; plane++) {
                uint8_t *into = memory + (size_t)plane * (size_t)parts.bytes;
                part.bytes[plane] = into;
                // The last strip has only the remaining rows.
                uint64_t left = height - y < parts.rows ? height - y : parts.rows;
                long expected = parts.are_tiles ? parts.bytes : (long)(left * (uint64_t)parts.stride);
                long read = parts.are_tiles
                    ? tiff.read_tile(file, tiff.tile(file, part.x, part.y, 0, plane), into, parts.bytes)
                    : tiff.read_strip(file, tiff.strip(file, part.y, plane), into, expected);
                if (read < expected) return broken(statement, "it ends within its pixels");
            }
            write_part(&part, pixels);
        }
    }
    return true;
}

static bool decode_tiff(uint8_t *pixels, struct ccodec_statement *statement) {
    if (!is_subsampled()) return decode_parts(pixels, statement);
    // Requested in the picture's own orientation, libtiff does not rotate it.
    if (!tiff.whole(file, width, height, (uint32_t *)(void *)pixels, (int)statement->orientation, 1))
        return broken(statement, "it is damaged");
    return true;
}

const struct ccodec ccodec_tiff = {CCODEC_TIFF, load, open_tiff, decode_tiff};
