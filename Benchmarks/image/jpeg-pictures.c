// Other forms of a JPEG, for jpeg-tries:
//
//   jpeg-pictures KIND FILE OUT
//
// KIND: the same coefficients with restart markers (rows:N, after so many rows of MCUs; mcus:N) or progressive; the same
// pixels again with as much chroma as luma (444) or turned (tall); or N pixels wide, 4:3, with noise as of a camera (wide:N).
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

static void fail(const char *message) {
    fprintf(stderr, "jpeg-pictures: %s\n", message);
    exit(1);
}

static void write_file(const char *name, const uint8_t *data, size_t count) {
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(data, 1, count, file) != count || fclose(file)) fail(name);
}

static void open_file(struct jpeg_decompress_struct *from, const char *name) {
    FILE *file = fopen(name, "rb");
    if (!file) fail(name);
    jpeg_create_decompress(from);
    jpeg_stdio_src(from, file);
    jpeg_read_header(from, TRUE);
}

static void recode(const char *name, const char *out, unsigned rows, unsigned mcus, bool progressive) {
    struct jpeg_decompress_struct from;
    struct jpeg_compress_struct to;
    struct jpeg_error_mgr errors;
    unsigned char *result = NULL;
    unsigned long count = 0;
    from.err = to.err = jpeg_std_error(&errors);
    open_file(&from, name);
    jpeg_create_compress(&to);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(&from);
    jpeg_copy_critical_parameters(&from, &to);
    jpeg_mem_dest(&to, &result, &count);
    to.restart_in_rows = (int)rows;
    to.restart_interval = mcus;
    if (progressive) jpeg_simple_progression(&to);
    jpeg_write_coefficients(&to, arrays);
    jpeg_finish_compress(&to);
    write_file(out, result, count);
}

typedef struct {
    uint8_t *bytes;
    unsigned width, height;
    bool turned;
} pixels;

static pixels decode(const char *name) {
    struct jpeg_decompress_struct from;
    struct jpeg_error_mgr errors;
    from.err = jpeg_std_error(&errors);
    open_file(&from, name);
    from.out_color_space = JCS_RGB;
    jpeg_start_decompress(&from);
    pixels result = {.width = from.output_width, .height = from.output_height};
    result.bytes = malloc((size_t)result.width * result.height * 3);
    while (from.output_scanline < result.height) {
        JSAMPROW row = result.bytes + (size_t)from.output_scanline * result.width * 3;
        jpeg_read_scanlines(&from, &row, 1);
    }
    return result;
}

static double sample(const pixels *p, unsigned x, unsigned y, unsigned channel) {
    unsigned column = p->turned ? y : x, row = p->turned ? x : y;
    if (column >= p->width) column = p->width - 1;
    if (row >= p->height) row = p->height - 1;
    return p->bytes[((size_t)row * p->width + column) * 3 + channel];
}

static double between(const pixels *p, double x, double y, unsigned channel) {
    unsigned left = (unsigned)x, top = (unsigned)y;
    double right = x - left, below = y - top;
    return (1 - below) * ((1 - right) * sample(p, left, top, channel) + right * sample(p, left + 1, top, channel)) +
           below * ((1 - right) * sample(p, left, top + 1, channel) + right * sample(p, left + 1, top + 1, channel));
}

static void redraw(const char *name, const char *out, unsigned width, bool turned, int factor) {
    pixels p = decode(name);
    p.turned = turned;
    unsigned w = turned ? p.height : p.width, h = turned ? p.width : p.height;
    struct jpeg_compress_struct to;
    struct jpeg_error_mgr errors;
    unsigned char *result = NULL;
    unsigned long count = 0;
    to.err = jpeg_std_error(&errors);
    jpeg_create_compress(&to);
    jpeg_mem_dest(&to, &result, &count);
    to.image_width = width ? width : w;
    to.image_height = width ? width / 4 * 3 : h;
    to.input_components = 3;
    to.in_color_space = JCS_RGB;
    jpeg_set_defaults(&to);
    jpeg_set_quality(&to, 90, TRUE);
    to.comp_info[0].h_samp_factor = to.comp_info[0].v_samp_factor = factor;
    jpeg_start_compress(&to, TRUE);
    uint8_t *row = malloc((size_t)to.image_width * 3);
    srand(1);
    while (to.next_scanline < to.image_height) {
        double y = (double)to.next_scanline * h / to.image_height;
        for (unsigned at = 0; at < to.image_width; at++) {
            double x = (double)at * w / to.image_width;
            double noise = width ? (rand() % 9 + rand() % 9 + rand() % 9) / 1.5 - 8 : 0;
            for (unsigned channel = 0; channel < 3; channel++) {
                double value = between(&p, x, y, channel) + noise;
                row[at * 3 + channel] = value < 0 ? 0 : value > 255 ? 255 : (uint8_t)lround(value);
            }
        }
        jpeg_write_scanlines(&to, &row, 1);
    }
    jpeg_finish_compress(&to);
    write_file(out, result, count);
}

int main(int count, char **words) {
    if (count != 4) fail("usage: jpeg-pictures KIND FILE OUT");
    const char *kind = words[1], *file = words[2], *out = words[3];
    unsigned number = 0;
    if (sscanf(kind, "rows:%u", &number) == 1) {
        recode(file, out, number, 0, false);
    } else if (sscanf(kind, "mcus:%u", &number) == 1) {
        recode(file, out, 0, number, false);
    } else if (!strcmp(kind, "progressive")) {
        recode(file, out, 0, 0, true);
    } else if (!strcmp(kind, "444")) {
        redraw(file, out, 0, false, 1);
    } else if (!strcmp(kind, "tall")) {
        redraw(file, out, 0, true, 2);
    } else if (sscanf(kind, "wide:%u", &number) == 1) {
        redraw(file, out, number, false, 2);
    } else {
        fail("KIND is rows:N, mcus:N, progressive, 444, tall or wide:N");
    }
    return 0;
}
