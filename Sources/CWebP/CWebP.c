#include "CWebP.h"

#include <stdlib.h>

#include <webp/decode.h>

struct cwebp_decoder {
    WebPDecoderConfig config;
    WebPIDecoder *incremental;
};

static cwebp_status translate(VP8StatusCode code) {
    switch (code) {
    case VP8_STATUS_OK:
        return CWEBP_OK;
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return CWEBP_MORE;
    case VP8_STATUS_OUT_OF_MEMORY:
        return CWEBP_NO_MEMORY;
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return CWEBP_UNSUPPORTED;
    default:
        return CWEBP_CORRUPT;
    }
}

cwebp_status cwebp_probe(const uint8_t *bytes, size_t count, cwebp_header *header) {
    WebPBitstreamFeatures features;
    VP8StatusCode code = WebPGetFeatures(bytes, count, &features);
    if (code != VP8_STATUS_OK) {
        return translate(code);
    }
    if (features.width <= 0 || features.height <= 0) {
        return CWEBP_CORRUPT;
    }
    header->width = (uint32_t)features.width;
    header->height = (uint32_t)features.height;
    header->has_alpha = features.has_alpha != 0;
    header->is_animated = features.has_animation != 0;
    return CWEBP_OK;
}

cwebp_decoder *cwebp_create(
    uint32_t x, uint32_t y, uint32_t width, uint32_t height, uint8_t *destination, size_t stride) {
    cwebp_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) {
        return NULL;
    }
    if (!WebPInitDecoderConfig(&decoder->config)) {
        free(decoder);
        return NULL;
    }
    decoder->config.options.use_cropping = 1;
    decoder->config.options.crop_left = (int)x;
    decoder->config.options.crop_top = (int)y;
    decoder->config.options.crop_width = (int)width;
    decoder->config.options.crop_height = (int)height;
    decoder->config.output.colorspace = MODE_RGBA;
    decoder->config.output.is_external_memory = 1;
    decoder->config.output.u.RGBA.rgba = destination;
    decoder->config.output.u.RGBA.stride = (int)stride;
    // The last row may end before a following one would begin.
    decoder->config.output.u.RGBA.size = stride * (height - 1) + (size_t)width * 4;
    decoder->incremental = WebPIDecode(NULL, 0, &decoder->config);
    if (!decoder->incremental) {
        free(decoder);
        return NULL;
    }
    return decoder;
}

void cwebp_destroy(cwebp_decoder *decoder) {
    if (!decoder) {
        return;
    }
    WebPIDelete(decoder->incremental);
    WebPFreeDecBuffer(&decoder->config.output);
    free(decoder);
}

cwebp_status cwebp_update(cwebp_decoder *decoder, const uint8_t *bytes, size_t count) {
    return translate(WebPIUpdate(decoder->incremental, bytes, count));
}
