#define _GNU_SOURCE 1
#include "Internal.h"

#include <string.h>

// libheif's ABI, as documented in libheif/heif.h since 1.13.
struct heif_error {
    int code, subcode;
    const char *message;
};
enum { hevc = 1, av1 = 4, colorspace_rgb = 1, chroma_rgb = 10, chroma_rgba = 11, channel_interleaved = 10 };
enum { as_stored = 99, monochrome = 0, channel_y = 0 };
/// The start of heif_color_profile_nclx.
struct color_profile {
    uint8_t version;
    int primaries, transfer, matrix;
    uint8_t is_full_range;
};
/// The start of heif_decoding_options, which has had these members since its second version.
struct decoding_options {
    uint8_t version, ignore_transformations;
    void *progress[4];
    uint8_t convert_hdr_to_8bit;
};

static struct {
    struct heif_error (*init)(void *);
    int (*have_decoder)(int);
    void *(*context)(void);
    struct heif_error (*read)(void *, const void *, size_t, const void *);
    void (*threads)(void *, int);
    struct heif_error (*primary)(void *, void **);
    int (*width)(const void *), (*height)(const void *), (*has_alpha)(const void *);
    struct decoding_options *(*options)(void);
    struct heif_error (*decode)(const void *, void **, int, int, const struct decoding_options *);
    int (*image_width)(const void *, int), (*image_height)(const void *, int);
    const uint8_t *(*plane)(const void *, int, int *);
    struct heif_error (*profile)(const void *, struct color_profile **), (*image_profile)(const void *, struct color_profile **);
    void (*release)(const void *);
    int (*stored_bits)(const void *), (*stored_width)(const void *), (*stored_height)(const void *);
    int (*chroma)(const void *), (*bits)(const void *, int);
} heif;
static void *library, *handle;

static const char *load(int format, const char *without) {
    if (!library) library = ccodec_library((const char *const[]){"libheif.so.1", NULL});
    if (!library) return "install libheif: on Debian and Ubuntu the package libheif1";
    if (!ccodec_functions(
            library, "heif_have_decoder_for_format", &heif.have_decoder, "heif_context_alloc", &heif.context,
            "heif_context_read_from_memory_without_copy", &heif.read, "heif_context_set_max_decoding_threads",
            &heif.threads, "heif_context_get_primary_image_handle", &heif.primary, "heif_image_handle_get_width",
            &heif.width, "heif_image_handle_get_height", &heif.height, "heif_image_handle_has_alpha_channel",
            &heif.has_alpha, "heif_decoding_options_alloc", &heif.options, "heif_decode_image", &heif.decode,
            "heif_image_get_width", &heif.image_width, "heif_image_get_height", &heif.image_height,
            "heif_image_get_plane_readonly", &heif.plane, "heif_image_handle_get_nclx_color_profile", &heif.profile,
            "heif_image_get_nclx_color_profile", &heif.image_profile, "heif_image_release", &heif.release,
            "heif_image_handle_get_luma_bits_per_pixel", &heif.stored_bits,
            "heif_image_handle_get_ispe_width", &heif.stored_width, "heif_image_handle_get_ispe_height",
            &heif.stored_height, "heif_image_get_chroma_format", &heif.chroma, "heif_image_get_bits_per_pixel_range",
            &heif.bits, NULL))
        return "the installed libheif is too old: 1.13 or later is needed";
    // Loads the plug-ins of later versions, which are separate files.
    if (!heif.init && ccodec_functions(library, "heif_init", &heif.init, NULL)) heif.init(NULL);
    return heif.have_decoder(format) ? NULL : without;
}

static const char *load_heic(void) {
    return load(hevc, "libheif has no HEVC decoder: install the package libheif-plugin-libde265");
}

static const char *load_avif(void) {
    return load(av1, "libheif has no AV1 decoder: install the package libheif-plugin-dav1d");
}

/// True if all coded pictures have chroma of half the width and height, or none, according to their configurations in
/// the file. If a configuration is wrong, decoding runs out of memory.
static bool is_subsampled(const struct ccodec_input *input) {
    static const char *const names[] = {"hvcC", "av1C"};
    const uint8_t *end = input->bytes + input->count;
    bool is_known = false;
    for (int index = 0; index < 2; index++) {
        const uint8_t *at = input->bytes;
        while ((at = memmem(at, (size_t)(end - at), names[index], 4)) && end - (at += 4) > 16) {
            if (index == 0 ? (at[16] & 3) > 1 : (at[2] & 0x0C) != 0x0C) return false;
            is_known = true;
        }
    }
    return is_known;
}

static bool open_heif(const struct ccodec_input *input, struct ccodec_statement *statement) {
    void *context = heif.context();
    if (!context) return ccodec_refuse(statement, "out of memory");
    heif.threads(context, 0);
    struct heif_error error = heif.read(context, input->bytes, input->count, NULL);
    if (error.code == 0) error = heif.primary(context, &handle);
    if (error.code != 0) return ccodec_refuse(statement, "%s", error.message);
    int width = heif.width(handle), height = heif.height(handle);
    if (width <= 0 || height <= 0) return ccodec_refuse(statement, "its size is %d x %d pixels", width, height);
    statement->width = (uint32_t)width;
    statement->height = (uint32_t)height;
    statement->orientation = 1;
    statement->has_alpha = heif.has_alpha(handle) != 0;
    // The memory for planes as stored, a rotated copy, and RGB of up to 16 bits during conversion. Measured per pixel:
    // 11 bytes for 8 bits with subsampled chroma, 17 with other chroma; 19 and 30 for more bits. libheif copies the
    // coded picture. The picture may be a part of a larger one.
    bool is_deep = heif.stored_bits(handle) > 8;
    uint64_t of_pixel = is_subsampled(input) ? (is_deep ? 20 : 12) : is_deep ? 32 : 18;
    uint64_t stored = (uint64_t)heif.stored_width(handle) * (uint64_t)heif.stored_height(handle);
    uint64_t pixels = (uint64_t)width * (uint64_t)height, most = (uint64_t)1 << 32;
    if (pixels < stored) pixels = stored < most ? stored : most;
    statement->memory = pixels * of_pixel + 2 * input->count + (8 << 20);
    return true;
}

/// Expands the gray levels of a monochrome picture of limited range, 16 to 235 for 8 bits, to 0 to 255 (H.273, 8.3),
/// which not all versions of libheif do. The range is that of the file, or, if it states none, of the coded picture.
static void expand_range(uint8_t *pixels, uint32_t width, uint32_t height, const struct decoding_options *options) {
    size_t count = (size_t)width * height;
    for (size_t index = 0; index < count; index++)
        if (pixels[index * 4] != pixels[index * 4 + 1] || pixels[index * 4] != pixels[index * 4 + 2]) return;
    void *image = NULL;
    int stride = 0;
    if (heif.decode(handle, &image, as_stored, as_stored, options).code != 0 || heif.chroma(image) != monochrome) return;
    struct color_profile *profile = NULL;
    if (heif.profile(handle, &profile).code != 0 || !profile)
        if (heif.image_profile(image, &profile).code != 0 || !profile) return;
    const uint8_t *rows = heif.plane(image, channel_y, &stride);
    int bits = heif.bits(image, channel_y);
    if (profile->is_full_range || !rows || bits < 8 || bits > 16) return;
    if (heif.image_width(image, channel_y) != (int)width || heif.image_height(image, channel_y) != (int)height) return;
    int black = 16 << (bits - 8), range = 219 << (bits - 8);
    for (size_t y = 0; y < height; y++) {
        const uint8_t *at = rows + y * (size_t)stride;
        for (size_t x = 0; x < width; x++) {
            int above = (bits > 8 ? at[2 * x] | at[2 * x + 1] << 8 : at[x]) - black;
            int level = above <= 0 ? 0 : above >= range ? 255 : (above * 255 + range / 2) / range;
            memset(pixels + (y * width + x) * 4, level, 3);
        }
    }
}

static bool decode_heif(uint8_t *pixels, struct ccodec_statement *statement) {
    struct decoding_options *options = heif.options();
    if (!options) return ccodec_refuse(statement, "out of memory");
    if (options->version >= 2) options->convert_hdr_to_8bit = 1;
    void *image = NULL;
    bool alpha = statement->has_alpha != 0;
    struct heif_error error = heif.decode(handle, &image, colorspace_rgb, alpha ? chroma_rgba : chroma_rgb, options);
    if (error.code != 0) return ccodec_refuse(statement, "%s", error.message);
    // The handle's size can differ from that of the image.
    int width = heif.image_width(image, channel_interleaved), height = heif.image_height(image, channel_interleaved);
    int stride = 0;
    const uint8_t *rows = heif.plane(image, channel_interleaved, &stride);
    if (!rows || width <= 0 || height <= 0) return ccodec_refuse(statement, "it has no pixels");
    if ((uint64_t)width * (uint64_t)height > (uint64_t)statement->width * statement->height)
        return ccodec_refuse(
            statement, "its header says %u x %u pixels, and it has %d x %d", statement->width, statement->height, width,
            height);
    for (int y = 0; y < height; y++) {
        const uint8_t *from = rows + (size_t)y * (size_t)stride;
        uint8_t *to = pixels + (size_t)y * (size_t)width * 4;
        if (alpha) {
            memcpy(to, from, (size_t)width * 4);
            continue;
        }
        for (int x = 0; x < width; x++, from += 3, to += 4) {
            to[0] = from[0];
            to[1] = from[1];
            to[2] = from[2];
            to[3] = 255;
        }
    }
    statement->width = (uint32_t)width;
    statement->height = (uint32_t)height;
    heif.release(image);
    expand_range(pixels, statement->width, statement->height, options);
    return true;
}

const struct ccodec ccodec_heic = {CCODEC_HEIC, load_heic, open_heif, decode_heif};
const struct ccodec ccodec_avif = {CCODEC_AVIF, load_avif, open_heif, decode_heif};
