#include "CJPEG.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

struct cjpeg_decoder {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    size_t count;
    size_t offset;
    int tolerant;
    uint32_t maximum_scans;
    int (*poll)(void *);
    void *poll_context;
    cjpeg_status status;
    char message[JMSG_LENGTH_MAX];
};

// --- errors ----------------------------------------------------------------------------------------------------------

static _Noreturn void fail(cjpeg_decoder *decoder, cjpeg_status status, const char *message) {
    decoder->status = status;
    decoder->offset = decoder->count - decoder->source.bytes_in_buffer;
    if (message) {
        snprintf(decoder->message, sizeof decoder->message, "%s", message);
    } else {
        decoder->errors.format_message((j_common_ptr)&decoder->info, decoder->message);
    }
    longjmp(decoder->jump, 1);
}

static void error_exit(j_common_ptr info) {
    cjpeg_decoder *decoder = info->client_data;
    fail(decoder, info->err->msg_code == JERR_OUT_OF_MEMORY ? CJPEG_NO_MEMORY : CJPEG_CORRUPT, NULL);
}

// The warnings that mean that pixels are wrong. Others are about metadata, or about bytes between markers that many cameras and
// editors leave; the pixels are correct.
static int is_damage(int code) {
    switch (code) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
        return 1;
    default:
        return 0;
    }
}

static void emit_message(j_common_ptr info, int level) {
    if (level >= 0) {
        return;  // a trace message
    }
    info->err->num_warnings++;
    cjpeg_decoder *decoder = info->client_data;
    if (!decoder->tolerant && is_damage(info->err->msg_code)) {
        fail(decoder, CJPEG_CORRUPT, NULL);
    }
}

static void output_message(j_common_ptr info) { (void)info; }

// --- the bytes: all in memory already --------------------------------------------------------------------------------

static void source_nothing(j_decompress_ptr info) { (void)info; }

static boolean source_fill(j_decompress_ptr info) {
    static const JOCTET end_of_image[2] = {0xFF, JPEG_EOI};
    cjpeg_decoder *decoder = info->client_data;
    if (!decoder->tolerant) {
        decoder->source.bytes_in_buffer = 0;
        fail(decoder, CJPEG_TRUNCATED, "the data ends before the picture does");
    }
    // Repeatedly, if necessary: libjpeg then fills the missing parts.
    decoder->count = 2;
    decoder->source.next_input_byte = end_of_image;
    decoder->source.bytes_in_buffer = 2;
    return TRUE;
}

static void source_skip(j_decompress_ptr info, long count) {
    cjpeg_decoder *decoder = info->client_data;
    if (count <= 0) {
        return;
    }
    if ((size_t)count > decoder->source.bytes_in_buffer) {
        source_fill(info);
        return;
    }
    decoder->source.next_input_byte += count;
    decoder->source.bytes_in_buffer -= (size_t)count;
}

// --- limits while reading --------------------------------------------------------------------------------------------

static void monitor(j_common_ptr common) {
    cjpeg_decoder *decoder = common->client_data;
    // A file of a few hundred KB can have tens of thousands of scans, each of which costs a pass over all coefficients.
    if (decoder->info.input_scan_number > 0 && (uint32_t)decoder->info.input_scan_number > decoder->maximum_scans) {
        fail(decoder, CJPEG_TOO_MANY_SCANS, "more scans than allowed");
    }
    // The caller's function returns before any jump.
    if (decoder->poll && decoder->poll(decoder->poll_context)) {
        fail(decoder, CJPEG_CANCELLED, "cancelled");
    }
}

// --- life ------------------------------------------------------------------------------------------------------------

cjpeg_decoder *cjpeg_create(void) {
    cjpeg_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) {
        return NULL;
    }
    decoder->info.err = jpeg_std_error(&decoder->errors);
    decoder->errors.error_exit = error_exit;
    decoder->errors.emit_message = emit_message;
    decoder->errors.output_message = output_message;
    // jpeg_create_decompress keeps err and client_data when it clears the other fields.
    decoder->info.client_data = decoder;
    decoder->source.init_source = source_nothing;
    decoder->source.fill_input_buffer = source_fill;
    decoder->source.skip_input_data = source_skip;
    decoder->source.resync_to_restart = jpeg_resync_to_restart;
    decoder->source.term_source = source_nothing;
    decoder->progress.progress_monitor = monitor;
    return decoder;
}

// libjpeg's state is created for each picture (half a microsecond): jpeg_abort_decompress would keep the tables, and a picture that
// lacks some, like a camera's MJPEG frames, would be decoded with those of the previous request.
static void begin(cjpeg_decoder *decoder) {
    jpeg_create_decompress(&decoder->info);
    decoder->info.src = &decoder->source;
    decoder->info.progress = &decoder->progress;
}

void cjpeg_destroy(cjpeg_decoder *decoder) {
    if (!decoder) {
        return;
    }
    cjpeg_close(decoder);
    free(decoder);
}

void cjpeg_close(cjpeg_decoder *decoder) {
    // Also correct if no picture is open.
    if (!setjmp(decoder->jump)) {
        jpeg_destroy_decompress(&decoder->info);
    }
    decoder->source.next_input_byte = NULL;
    decoder->source.bytes_in_buffer = 0;
    decoder->poll = NULL;
    decoder->poll_context = NULL;
}

// --- one picture -----------------------------------------------------------------------------------------------------

cjpeg_status cjpeg_open(
    cjpeg_decoder *decoder, const uint8_t *bytes, size_t count, int tolerant, cjpeg_header *header) {
    cjpeg_close(decoder);
    decoder->source.next_input_byte = bytes;
    decoder->source.bytes_in_buffer = count;
    decoder->count = count;
    decoder->offset = 0;
    decoder->tolerant = tolerant;
    decoder->maximum_scans = UINT32_MAX;
    decoder->poll = NULL;
    decoder->status = CJPEG_OK;
    decoder->message[0] = 0;
    if (setjmp(decoder->jump)) {
        return decoder->status;
    }
    begin(decoder);
    jpeg_read_header(&decoder->info, TRUE);
    header->width = decoder->info.image_width;
    header->height = decoder->info.image_height;
    header->components = (uint32_t)decoder->info.num_components;
    header->multiple_scans = jpeg_has_multiple_scans(&decoder->info) != 0;
    header->coefficient_bytes = 0;
    for (int index = 0; index < decoder->info.num_components; index++) {
        const jpeg_component_info *component = &decoder->info.comp_info[index];
        // Rounded up to whole MCUs, as libjpeg allocates them.
        uint64_t across = (uint64_t)component->width_in_blocks + (uint64_t)component->h_samp_factor;
        uint64_t down = (uint64_t)component->height_in_blocks + (uint64_t)component->v_samp_factor;
        header->coefficient_bytes += across * down * sizeof(JBLOCK);
    }
    return CJPEG_OK;
}

// The number of MCUs in a row up to the last one that `columns` columns of the decoded picture need, plus one, from which libjpeg
// may omit blocks; 0 for all. Only if a restart marker follows each row, as Apple, Samsung, Photoshop and Lightroom write it:
// without markers, the start of the next row is not known.
static uint32_t needed_mcus(const struct jpeg_decompress_struct *info, uint32_t scale, uint32_t columns) {
    // A scan with a single component has other MCUs, and libjpeg finds markers only in Huffman codes.
    if (info->comps_in_scan < 2 || info->comps_in_scan != info->num_components || info->progressive_mode ||
        info->arith_code || columns == 0) {
        return 0;
    }
    uint64_t across = 8 * (uint64_t)info->max_h_samp_factor;
    uint64_t all = (info->image_width + across - 1) / across;
    uint64_t needed = (columns - 1) / (scale * (uint64_t)info->max_h_samp_factor) + 2;
    return needed < all && info->restart_interval == all ? (uint32_t)needed : 0;
}

cjpeg_status cjpeg_start(
    cjpeg_decoder *decoder, uint32_t scale, cjpeg_output output, uint32_t columns, uint32_t maximum_scans,
    int (*poll)(void *context), void *context, uint32_t *width, uint32_t *height) {
    decoder->maximum_scans = maximum_scans;
    decoder->poll = poll;
    decoder->poll_context = context;
    if (setjmp(decoder->jump)) {
        return decoder->status;
    }
    // libjpeg then ends the row there, and skips the bytes up to the marker.
    const uint32_t mcus = needed_mcus(&decoder->info, scale, columns);
    if (mcus) {
        decoder->info.restart_interval = mcus;
    }
    decoder->info.scale_num = scale;
    decoder->info.scale_denom = 8;
    decoder->info.dct_method = JDCT_ISLOW;
    switch (output) {
    case CJPEG_GRAY:
        decoder->info.out_color_space = JCS_GRAYSCALE;
        break;
    case CJPEG_RGBX:
        decoder->info.out_color_space = JCS_EXT_RGBX;
        break;
    case CJPEG_CMYK:
        decoder->info.out_color_space = JCS_CMYK;
        break;
    }
    jpeg_start_decompress(&decoder->info);
    if (mcus) {
        decoder->info.MCUs_per_row = mcus;
    }
    // From here on, the caller polls between its calls.
    decoder->poll = NULL;
    decoder->poll_context = NULL;
    *width = decoder->info.output_width;
    *height = decoder->info.output_height;
    return CJPEG_OK;
}

cjpeg_status cjpeg_crop(cjpeg_decoder *decoder, uint32_t *x, uint32_t *width) {
    if (setjmp(decoder->jump)) {
        return decoder->status;
    }
    JDIMENSION left = *x;
    JDIMENSION columns = *width;
    jpeg_crop_scanline(&decoder->info, &left, &columns);
    *x = left;
    *width = columns;
    return CJPEG_OK;
}

cjpeg_status cjpeg_skip(cjpeg_decoder *decoder, uint32_t rows) {
    if (setjmp(decoder->jump)) {
        return decoder->status;
    }
    if (jpeg_skip_scanlines(&decoder->info, rows) != rows) {
        fail(decoder, CJPEG_CORRUPT, "fewer rows than the header says");
    }
    return CJPEG_OK;
}

cjpeg_status cjpeg_read(cjpeg_decoder *decoder, uint8_t *destination, size_t stride, uint32_t rows) {
    if (setjmp(decoder->jump)) {
        return decoder->status;
    }
    enum { batch = 16 };
    JSAMPROW pointers[batch];
    // Not changed between setjmp and a jump back: after a failure it is not used.
    uint32_t done = 0;
    while (done < rows) {
        uint32_t wanted = rows - done < batch ? rows - done : batch;
        for (uint32_t index = 0; index < wanted; index++) {
            pointers[index] = destination + (size_t)(done + index) * stride;
        }
        JDIMENSION got = jpeg_read_scanlines(&decoder->info, pointers, wanted);
        if (got == 0) {
            fail(decoder, CJPEG_CORRUPT, "fewer rows than the header says");
        }
        done += got;
    }
    return CJPEG_OK;
}

const char *cjpeg_message(const cjpeg_decoder *decoder) { return decoder->message; }

size_t cjpeg_offset(const cjpeg_decoder *decoder) { return decoder->offset; }

// --- writing ---------------------------------------------------------------------------------------------------------

typedef struct {
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    jmp_buf jump;
    // The output of jpeg_mem_dest, set by term_destination at the end.
    unsigned char *bytes;
    unsigned long count;
    // True once jpeg_mem_dest has returned: before, the fields that term_destination reads are not set.
    bool has_destination;
} encoder;

static void encode_error(j_common_ptr info) {
    encoder *target = info->client_data;
    longjmp(target->jump, 1);
}

static void encode_message(j_common_ptr info, int level) {
    (void)info;
    (void)level;
}

uint8_t *cjpeg_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, int quality, int (*poll)(void *context), void *context,
    size_t *count) {
    // Not a local variable: it is used after a jump.
    encoder *target = calloc(1, sizeof *target);
    if (!target) {
        return NULL;
    }
    target->info.err = jpeg_std_error(&target->errors);
    target->errors.error_exit = encode_error;
    target->errors.emit_message = encode_message;
    target->errors.output_message = output_message;
    target->info.client_data = target;
    if (setjmp(target->jump)) {
        // Until then, `bytes` is the first buffer, which was freed if a larger one replaced it.
        if (target->has_destination) {
            target->info.dest->term_destination(&target->info);
        }
        jpeg_destroy_compress(&target->info);
        free(target->bytes);
        free(target);
        return NULL;
    }
    jpeg_create_compress(&target->info);
    jpeg_mem_dest(&target->info, &target->bytes, &target->count);
    target->has_destination = true;
    target->info.image_width = width;
    target->info.image_height = height;
    target->info.input_components = 3;
    target->info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&target->info);
    jpeg_set_quality(&target->info, quality, TRUE);
    jpeg_start_compress(&target->info, TRUE);
    while (target->info.next_scanline < height) {
        if (poll && target->info.next_scanline % 64 == 0 && poll(context)) {
            longjmp(target->jump, 1);
        }
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)target->info.next_scanline * width * 3);
        jpeg_write_scanlines(&target->info, &row, 1);
    }
    jpeg_finish_compress(&target->info);
    jpeg_destroy_compress(&target->info);
    uint8_t *bytes = target->bytes;
    *count = target->count;
    free(target);
    return bytes;
}
