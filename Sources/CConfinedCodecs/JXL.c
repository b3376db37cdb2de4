#include "Internal.h"

#include <string.h>

// libjxl's ABI, as documented in jxl/decode.h and jxl/codestream_header.h since 0.7.
struct basic_info {
    int have_container;
    uint32_t width, height, bits, exponent_bits;
    float intensity_target, min_nits;
    int relative_to_max_display;
    float linear_below;
    int uses_original_profile, have_preview, have_animation, orientation;
    uint32_t color_channels, extra_channels, alpha_bits, alpha_exponent_bits;
    int alpha_premultiplied;
    uint8_t rest[256];
};
struct pixel_format {
    uint32_t channels;
    int type, endianness;
    size_t align;
};
enum { success = 0, need_more = 2, need_buffer = 5, basic = 0x40, full_image = 0x1000, type_uint8 = 2 };

static struct {
    void *(*create)(const void *);
    int (*subscribe)(void *, int), (*keep_orientation)(void *, int), (*input)(void *, const uint8_t *, size_t);
    void (*close_input)(void *);
    int (*process)(void *), (*info)(const void *, struct basic_info *);
    int (*size)(const void *, const struct pixel_format *, size_t *);
    int (*buffer)(void *, const struct pixel_format *, void *, size_t);
} jxl;
static void *decoder;

static const char *load(void) {
    void *library = ccodec_library((const char *const[]){
        "libjxl.so.0.11", "libjxl.so.0.10", "libjxl.so.0.9", "libjxl.so.0.8", "libjxl.so.0.7", NULL});
    if (!library) return "install libjxl: on Debian 12 the package libjxl0.7, on Debian 13 libjxl0.11";
    return ccodec_functions(
               library, "JxlDecoderCreate", &jxl.create, "JxlDecoderSubscribeEvents", &jxl.subscribe,
               "JxlDecoderSetKeepOrientation", &jxl.keep_orientation, "JxlDecoderSetInput", &jxl.input,
               "JxlDecoderCloseInput", &jxl.close_input, "JxlDecoderProcessInput", &jxl.process,
               "JxlDecoderGetBasicInfo", &jxl.info, "JxlDecoderImageOutBufferSize", &jxl.size,
               "JxlDecoderSetImageOutBuffer", &jxl.buffer, NULL)
        ? NULL
        : "the installed libjxl is too old: 0.7 or later is needed";
}

static bool broken(struct ccodec_statement *statement, int status) {
    return ccodec_refuse(statement, status == need_more ? "it ends too early" : "it is damaged");
}

static bool open_jxl(const struct ccodec_input *input, struct ccodec_statement *statement) {
    struct basic_info info;
    memset(&info, 0, sizeof info);
    decoder = jxl.create(NULL);
    if (!decoder || jxl.subscribe(decoder, basic | full_image) || jxl.keep_orientation(decoder, 1) ||
        jxl.input(decoder, input->bytes, input->count))
        return ccodec_refuse(statement, "out of memory");
    jxl.close_input(decoder);
    int status = jxl.process(decoder);
    if (status != basic || jxl.info(decoder, &info)) return broken(statement, status);
    statement->width = info.width;
    statement->height = info.height;
    statement->orientation = info.orientation >= 1 && info.orientation <= 8 ? (uint32_t)info.orientation : 1;
    statement->has_alpha = info.alpha_bits > 0;
    // Frames that later ones refer to are kept as floats. Measured: 5 to 17 bytes per pixel of pictures with one frame.
    // The number of extra channels has 12 bits.
    statement->memory = ccodec_memory(
        statement, 40 + 8 * (uint64_t)(info.extra_channels < 4096 ? info.extra_channels : 4096), 16 << 20);
    return true;
}

static bool decode_jxl(uint8_t *pixels, struct ccodec_statement *statement) {
    const struct pixel_format format = {.channels = 4, .type = type_uint8};
    size_t bytes = (size_t)statement->width * statement->height * 4, needed = 0;
    while (true) {
        int status = jxl.process(decoder);
        if (status == full_image || status == success) return true;
        if (status != need_buffer) return broken(statement, status);
        if (jxl.size(decoder, &format, &needed) || needed != bytes || jxl.buffer(decoder, &format, pixels, bytes))
            return ccodec_refuse(statement, "its frame is not of the size that its header says");
    }
}

const struct ccodec ccodec_jxl = {CCODEC_JXL, load, open_jxl, decode_jxl};
