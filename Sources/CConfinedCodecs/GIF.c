#include "Internal.h"

#include <stdlib.h>
#include <string.h>

// giflib's ABI, as documented in gif_lib.h since 5.0.
struct color {
    uint8_t red, green, blue;
};
struct color_map {
    int count, bits;
    bool is_sorted;
    struct color *colors;
};
struct image_description {
    int left, top, width, height;
    bool is_interlaced;
    struct color_map *map;
};
struct gif_file {
    int width, height, resolution, background;
    uint8_t aspect;
    struct color_map *map;
    int image_count;
    struct image_description image;
    void *saved;
    int block_count;
    void *blocks;
    int error;
    void *user, *internal;
};
enum { record_image = 2, record_extension = 3, extension_graphics = 0xF9 };

static struct {
    struct gif_file *(*open)(void *, int (*)(struct gif_file *, uint8_t *, int), int *);
    int (*record)(struct gif_file *, int *);
    int (*image)(struct gif_file *);
    int (*extension)(struct gif_file *, int *, uint8_t **);
    int (*next)(struct gif_file *, uint8_t **);
    int (*line)(struct gif_file *, uint8_t *, int);
    const char *(*text)(int);
} gif;
static struct ccodec_input left;
static struct gif_file *file;
static int transparent = -1;

static const char *load(void) {
    void *library = ccodec_library((const char *const[]){"libgif.so.7", NULL});
    if (!library) return "install giflib: on Debian and Ubuntu the package libgif7";
    return ccodec_functions(
               library, "DGifOpen", &gif.open, "DGifGetRecordType", &gif.record, "DGifGetImageDesc", &gif.image,
               "DGifGetExtension", &gif.extension, "DGifGetExtensionNext", &gif.next, "DGifGetLine", &gif.line,
               "GifErrorString", &gif.text, NULL)
        ? NULL
        : "the installed giflib is too old: 5.0 or later is needed";
}

static int more(struct gif_file *reading, uint8_t *into, int count) {
    (void)reading;
    size_t wanted = count > 0 ? (size_t)count : 0;
    size_t taken = wanted < left.count ? wanted : left.count;
    memcpy(into, left.bytes, taken);
    left.bytes += taken;
    left.count -= taken;
    return (int)taken;
}

static bool broken(struct ccodec_statement *statement, int code) {
    const char *text = gif.text(code);
    return ccodec_refuse(statement, "%s", left.count == 0 ? "it ends too early" : text ? text : "it is damaged");
}

static bool open_gif(const struct ccodec_input *input, struct ccodec_statement *statement) {
    left = *input;
    int code = 0;
    file = gif.open(NULL, more, &code);
    if (!file) return broken(statement, code);
    while (true) {
        int record = 0;
        if (!gif.record(file, &record)) return broken(statement, file->error);
        if (record == record_image) break;
        if (record != record_extension) return ccodec_refuse(statement, "it has no picture");
        int label = 0;
        uint8_t *block = NULL;
        if (!gif.extension(file, &label, &block)) return broken(statement, file->error);
        if (label == extension_graphics && block && block[0] >= 4) transparent = block[1] & 1 ? block[4] : -1;
        while (block)
            if (!gif.next(file, &block)) return broken(statement, file->error);
    }
    if (!gif.image(file)) return broken(statement, file->error);
    // A frame outside the canvas enlarges it.
    int width = file->image.left + file->image.width, height = file->image.top + file->image.height;
    if (file->width > width) width = file->width;
    if (file->height > height) height = file->height;
    if (width <= 0 || height <= 0 || file->image.width <= 0 || file->image.height <= 0)
        return ccodec_refuse(statement, "it has no pixels");
    statement->width = (uint32_t)width;
    statement->height = (uint32_t)height;
    statement->orientation = 1;
    statement->has_alpha = transparent >= 0;
    // giflib holds its tables, and this codec a row.
    statement->memory = (256 << 10) + (uint64_t)file->image.width;
    return true;
}

static bool decode_gif(uint8_t *pixels, struct ccodec_statement *statement) {
    uint8_t palette[256][4];
    struct color_map *map = file->image.map ? file->image.map : file->map;
    for (int index = 0; index < 256; index++) {
        bool known = map && index < map->count;
        palette[index][0] = known ? map->colors[index].red : (uint8_t)index;
        palette[index][1] = known ? map->colors[index].green : (uint8_t)index;
        palette[index][2] = known ? map->colors[index].blue : (uint8_t)index;
        palette[index][3] = index == transparent ? 0 : 255;
    }
    // The pixels outside the frame are transparent, or have the palette's first colour.
    const uint8_t *around = palette[transparent >= 0 ? transparent : 0];
    size_t stride = statement->width, count = stride * statement->height;
    struct image_description *frame = &file->image;
    if (frame->left != 0 || frame->top != 0 || (uint32_t)frame->width != statement->width ||
        (uint32_t)frame->height != statement->height)
        for (size_t index = 0; index < count; index++) memcpy(pixels + index * 4, around, 4);
    uint8_t *line = malloc((size_t)frame->width);
    if (!line) return ccodec_refuse(statement, "out of memory");
    static const int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
    for (int pass = 0; pass < (frame->is_interlaced ? 4 : 1); pass++) {
        int step = frame->is_interlaced ? steps[pass] : 1;
        for (int y = frame->is_interlaced ? starts[pass] : 0; y < frame->height; y += step) {
            if (!gif.line(file, line, frame->width)) return broken(statement, file->error);
            uint8_t *to = pixels + ((size_t)(frame->top + y) * stride + (size_t)frame->left) * 4;
            for (int x = 0; x < frame->width; x++) memcpy(to + 4 * (size_t)x, palette[line[x]], 4);
        }
    }
    return true;
}

const struct ccodec ccodec_gif = {CCODEC_GIF, load, open_gif, decode_gif};
