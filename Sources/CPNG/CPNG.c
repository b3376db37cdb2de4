#include "CPNG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

struct cpng_decoder {
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t count;
    size_t offset;
    // The number of rows left to read, over all passes.
    uint64_t rows_left;
    // True if the last row has no data: the last pass has only odd rows (from 0).
    int ends_without_data;
    // True if all rows are decompressed, and the offset in the bytes at that moment.
    int is_complete;
    size_t end;
    cpng_status status;
    char message[200];
};

// --- decoding --------------------------------------------------------------------------------------------------------

static _Noreturn void on_error(png_structp png, png_const_charp message) {
    cpng_decoder *decoder = png_get_error_ptr(png);
    if (decoder->status == CPNG_OK) {
        decoder->status = CPNG_CORRUPT;
    }
    snprintf(decoder->message, sizeof decoder->message, "%s", message);
    png_longjmp(png, 1);
}

// libpng's warnings are about metadata, or data after the last row: the pixels are correct.
static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

// After the last row, libpng reads to the end of the compressed data, all at once and of any length: 20 MB may expand to 20 GB. At
// most this many of those useless bytes are read, which takes about 50 ms at worst.
static const size_t most_after_end = 16 << 10;

static void on_read(png_structp png, png_bytep destination, size_t count) {
    cpng_decoder *decoder = png_get_io_ptr(png);
    if (decoder->is_complete && count > most_after_end - (decoder->offset - decoder->end)) {
        png_longjmp(png, 1);  // with CPNG_OK
    }
    if (count > decoder->count - decoder->offset) {
        decoder->status = CPNG_TRUNCATED;
        png_error(png, "the data ends before the picture does");
    }
    memcpy(destination, decoder->bytes + decoder->offset, count);
    decoder->offset += count;
}

static void complete(cpng_decoder *decoder) {
    decoder->is_complete = 1;
    decoder->end = decoder->offset;
}

// Called when a row was decompressed, before it is written; writing reads no more input.
static void on_row(png_structp png, png_row_infop info, png_bytep row) {
    (void)info;
    (void)row;
    cpng_decoder *decoder = png_get_io_ptr(png);
    if (decoder->rows_left == 0) {
        complete(decoder);
    }
}

cpng_decoder *cpng_create(const uint8_t *bytes, size_t count) {
    cpng_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) {
        return NULL;
    }
    decoder->bytes = bytes;
    decoder->count = count;
    decoder->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, decoder, on_error, on_warning);
    decoder->info = decoder->png ? png_create_info_struct(decoder->png) : NULL;
    if (!decoder->info) {
        cpng_destroy(decoder);
        return NULL;
    }
    return decoder;
}

void cpng_destroy(cpng_decoder *decoder) {
    if (!decoder) {
        return;
    }
    png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
    free(decoder);
}

void cpng_tolerate(cpng_decoder *decoder) {
    // libpng reads this many bytes at once, and discards all of them if some are missing: small pieces lose less.
    png_set_compression_buffer_size(decoder->png, 128);
}

cpng_status cpng_open(cpng_decoder *decoder, uint32_t maximum_width, uint32_t maximum_height, cpng_header *header) {
    png_structp png = decoder->png;
    png_infop info = decoder->info;
    if (setjmp(png_jmpbuf(png))) {
        return decoder->status;
    }
    png_set_read_fn(png, decoder, on_read);
    png_set_user_limits(png, maximum_width, maximum_height);
    // Ignore ancillary chunks other than tRNS without reading them, so that they cannot cost memory or time.
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_chunk_malloc_max(png, 1 << 20);
    png_set_chunk_cache_max(png, 16);
    png_read_info(png, info);

    int color = png_get_color_type(png, info);
    int transparent = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
    int alpha = (color & PNG_COLOR_MASK_ALPHA) || transparent;
    int gray = !(color & PNG_COLOR_MASK_COLOR);
    png_set_expand(png);
    png_set_strip_16(png);
    if (!gray && !alpha) {
        png_set_filler(png, 0xFF, PNG_FILLER_AFTER);
    }
    int passes = png_set_interlace_handling(png);
    png_set_read_user_transform_fn(png, on_row);
    png_read_update_info(png, info);

    header->width = png_get_image_width(png, info);
    header->height = png_get_image_height(png, info);
    header->channels = gray ? (alpha ? 2 : 1) : 4;
    header->has_alpha = alpha != 0;
    header->passes = (uint8_t)passes;
    decoder->rows_left = (uint64_t)header->height * header->passes;
    decoder->ends_without_data = passes > 1 && header->height % 2 == 1;
    // The caller's buffers rely on this size, so check it.
    if (png_get_rowbytes(png, info) != (size_t)header->width * header->channels) {
        png_error(png, "a row has an unexpected size");
    }
    return CPNG_OK;
}

cpng_status cpng_read(cpng_decoder *decoder, uint8_t *destination, size_t stride, uint32_t rows) {
    if (setjmp(png_jmpbuf(decoder->png))) {
        return decoder->status;
    }
    for (uint32_t index = 0; index < rows; index++) {
        if (decoder->rows_left > 0) {
            decoder->rows_left--;
        }
        if (decoder->rows_left == 0 && decoder->ends_without_data) {
            complete(decoder);
        }
        png_read_row(decoder->png, destination + (size_t)index * stride, NULL);
    }
    return CPNG_OK;
}

const char *cpng_message(const cpng_decoder *decoder) { return decoder->message; }

// --- text chunks -----------------------------------------------------------------------------------------------------

size_t cpng_inflate(const uint8_t *bytes, size_t count, void *destination, size_t capacity) {
    z_stream stream = {0};
    if (count > UINT32_MAX || capacity > UINT32_MAX || inflateInit(&stream) != Z_OK) {
        return 0;
    }
    // zlib only reads from this pointer.
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)count;
    stream.next_out = destination;
    stream.avail_out = (uInt)capacity;
    int result = inflate(&stream, Z_SYNC_FLUSH);
    size_t produced = capacity - stream.avail_out;
    inflateEnd(&stream);
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? produced : 0;
}

// --- encoding --------------------------------------------------------------------------------------------------------

typedef struct encoder {
    uint8_t *bytes;
    size_t count;
    size_t capacity;
} encoder;

static void on_write(png_structp png, png_bytep bytes, size_t count) {
    encoder *target = png_get_io_ptr(png);
    if (count > target->capacity - target->count) {
        size_t capacity = target->capacity * 2 + count;
        uint8_t *grown = realloc(target->bytes, capacity);
        if (!grown) {
            png_error(png, "out of memory");
        }
        target->bytes = grown;
        target->capacity = capacity;
    }
    memcpy(target->bytes + target->count, bytes, count);
    target->count += count;
}

static void on_flush(png_structp png) { (void)png; }

static _Noreturn void on_encode_error(png_structp png, png_const_charp message) {
    (void)message;
    png_longjmp(png, 1);
}

// Separate from cpng_encode_rows, so that its results are not local variables of the function that calls setjmp.
static int encode(
    encoder *target, uint32_t width, uint32_t height, int bits, int color, const uint8_t *palette, int compression,
    const uint8_t *(*row)(void *context, uint32_t index), void *context) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_encode_error, on_warning);
    if (!png) {
        return 0;
    }
    png_infop info = png_create_info_struct(png);
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, info ? &info : NULL);
        return 0;
    }
    png_set_write_fn(png, target, on_write, on_flush);
    png_set_user_limits(png, 0x7FFFFFFF, 0x7FFFFFFF);
    png_set_compression_level(png, compression);
    png_set_IHDR(
        png, info, width, height, bits, color, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
        PNG_FILTER_TYPE_DEFAULT);
    if (palette) {
        png_color colors[256];
        for (int index = 0; index < 256; index++) {
            colors[index].red = palette[3 * index];
            colors[index].green = palette[3 * index + 1];
            colors[index].blue = palette[3 * index + 2];
        }
        png_set_PLTE(png, info, colors, 256);
    }
    png_write_info(png, info);
    for (uint32_t index = 0; index < height; index++) {
        const uint8_t *bytes = row(context, index);
        if (!bytes) {
            png_error(png, "stopped");
        }
        png_write_row(png, bytes);
    }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return 1;
}

// Returns the bytes of a complete file, or NULL.
static uint8_t *encoded(
    uint32_t width, uint32_t height, int bits, int color, const uint8_t *palette, int compression,
    const uint8_t *(*row)(void *context, uint32_t index), void *context, size_t *count) {
    encoder target = {NULL, 0, 0};
    if (!encode(&target, width, height, bits, color, palette, compression, row, context)) {
        free(target.bytes);
        return NULL;
    }
    *count = target.count;
    return target.bytes;
}

uint8_t *cpng_encode_rows(
    uint32_t width, uint32_t height, int bits, const uint8_t *palette, int compression,
    const uint8_t *(*row)(void *context, uint32_t index), void *context, size_t *count) {
    int color = palette ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_GRAY;
    return encoded(width, height, bits, color, palette, compression, row, context, count);
}

typedef struct {
    const uint8_t *pixels;
    size_t stride;
    int (*poll)(void *context);
    void *poll_context;
} picture;

static const uint8_t *picture_row(void *context, uint32_t index) {
    const picture *whole = context;
    if (whole->poll && index % 64 == 0 && whole->poll(whole->poll_context)) {
        return NULL;
    }
    return whole->pixels + index * whole->stride;
}

uint8_t *cpng_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels, int compression,
    int (*poll)(void *context), void *context, size_t *count) {
    picture whole = {pixels, (size_t)width * channels, poll, context};
    int color = channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB;
    return encoded(width, height, 8, color, NULL, compression, picture_row, &whole, count);
}
