// Ways to decode a JPEG, each measured against the way that Ocelli decodes now (Sources/CJPEG): processor time, page faults,
// instructions (below callgrind), and the difference of the pixels. Benchmarks/image/README.md says how to run it.
//
//   jpeg-tries list                             the tries and what they are
//   jpeg-tries time FILE ROUNDS MARGIN PLACE [NAME]...
//                                               a line for each try, or each that is named: its name, microseconds, page
//                                               faults, the difference of the pixels and that of the tensors (max, mean)
//   jpeg-tries count FILE MARGIN PLACE [NAME]... below valgrind --tool=callgrind: a dump for each try
//
// MARGIN is the bundle's decode margin (3 by default), PLACE where the square is: 0 left or above, 0.5 in the middle, 1.
// It uses libjpeg's inner structures (jpegint.h), which the product does not. Files are trusted: no hostile pictures here.
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <jpeglib.h>

#include <jerror.h>
#include <jpegint.h>
#include <valgrind/callgrind.h>
#include <x86intrin.h>

#include "CJPEG.h"
#include "tries/differences.h"
#include "tries/plan.h"
#include "tries/shorter.h"

enum { batch = 8 };

// --- the tries -------------------------------------------------------------------------------------------------------

typedef enum { ENTROPY_AS_IS, ENTROPY_NULL, ENTROPY_FAST, ENTROPY_JUMP, ENTROPY_ONLY } entropy_way;

typedef struct {
    const char *name, *what;
    bool product;          // through Sources/CJPEG
    unsigned scale;        // 0: the plan's
    J_DCT_METHOD dct;
    bool merged, rough, whole, all_columns, all_rows, skip_64, aligned, no_monitor, keep, raw, ycc, rgb, cut, drop, to_the_ends;
    bool huge_input, huge_coefficients, flush, prefetch;
    unsigned batch;        // 0: 8
    entropy_way entropy;
} try;

static const try tries[] = {
    {"now", "as Ocelli decodes: Sources/CJPEG", .product = true},
    {"same", "the same calls of libjpeg, made by this program", .product = false},
    {"before", "as until 2026-11-28: skip-64 and to-the-ends together", .skip_64 = true, .to_the_ends = true},
    {"whole", "all rows and all columns", .whole = true},
    {"all-columns", "without jpeg_crop_scanline", .all_columns = true},
    {"all-rows", "without jpeg_skip_scanlines: rows above are read, those below are not", .all_rows = true},
    {"skip-64", "rows above are skipped 64 at a time, not in one call", .skip_64 = true},
    {"entropy-only", "entropy decoding alone, of all but the last rows of MCUs", .entropy = ENTROPY_ONLY},
    {"null-outside", "columns outside: entropy decoding without storing (decode_mcu(NULL))", .entropy = ENTROPY_NULL},
    {"to-the-ends", "rows of MCUs that end with restart markers are decoded to their ends", .to_the_ends = true},
    {"restart-fast", "with restart markers too, the fast Huffman decoder", .entropy = ENTROPY_FAST},
    {"restart-jump", "the same, and intervals outside are jumped over", .entropy = ENTROPY_JUMP},
    {"restart-cut", "intervals outside are left out of a copy of the file; public functions only", .cut = true},
    {"merged", "upsampling and colours in one (do_fancy_upsampling = FALSE)", .merged = true},
    {"scale-3", "3/8", .scale = 3},
    {"scale-4", "4/8", .scale = 4},
    {"scale-5", "5/8", .scale = 5},
    {"scale-6", "6/8", .scale = 6},
    {"scale-7", "7/8", .scale = 7},
    {"ifast", "JDCT_IFAST", .dct = JDCT_IFAST},
    {"float", "JDCT_FLOAT", .dct = JDCT_FLOAT},
    {"no-smoothing", "do_block_smoothing = FALSE", .rough = true},
    {"raw-whole", "planes: no upsampling, no colours, all rows and columns (beside whole)", .raw = true},
    {"ycc", "upsampled, but no colours (JCS_YCbCr)", .ycc = true},
    {"rgb", "three bytes for a pixel (JCS_RGB)", .rgb = true},
    {"aligned", "rows at multiples of 64 bytes: libjpeg writes past the caches", .aligned = true},
    {"batch-2", "2 rows for each call", .batch = 2},
    {"batch-16", "16 rows for each call", .batch = 16},
    {"no-monitor", "without a progress monitor", .no_monitor = true},
    {"keep", "one decoder for all pictures (jpeg_abort keeps its tables and its first pool)", .keep = true},
    {"huge-input", "the file in large pages (MADV_HUGEPAGE)", .huge_input = true},
    {"huge-coefficients", "the coefficients in large pages", .huge_coefficients = true},
    {"cold", "the file flushed from the caches first (not counted)", .flush = true},
    {"cold-prefetch", "the same, and every line prefetched before decoding", .flush = true, .prefetch = true},
    {"drop-scans", "scans without effect at 1/8 are left out of a copy of the file", .drop = true},
};

enum { try_count = sizeof tries / sizeof *tries };

// --- wrapped functions of libjpeg ------------------------------------------------------------------------------------

typedef struct {
    entropy_way way;
    boolean (*decode)(j_decompress_ptr, JBLOCKROW *);
    unsigned column, interval, left, number;
    bool passing;
    // The virtual arrays that were requested.
    jvirt_barray_ptr arrays[4];
    size_t sizes[4];
    int array_count;
    jvirt_barray_ptr (*request)(j_common_ptr, int, boolean, JDIMENSION, JDIMENSION, JDIMENSION);
    void (*realize)(j_common_ptr);
} hooks;

// Leaves the source behind the next marker, which is in unread_marker: as libjpeg's own functions do.
static void find_marker(j_decompress_ptr info) {
    if (info->unread_marker) return;
    const JOCTET *from = info->src->next_input_byte, *end = from + info->src->bytes_in_buffer;
    while ((from = memchr(from, 0xFF, (size_t)(end - from))) && from + 1 < end && (from[1] == 0 || from[1] == 0xFF)) {
        from += from[1] ? 1 : 2;
    }
    if (!from || from + 1 >= end) fail("no marker");
    info->unread_marker = from[1];
    info->src->next_input_byte = from + 2;
    info->src->bytes_in_buffer = (size_t)(end - from - 2);
}

static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW *blocks) {
    hooks *h = info->client_data;
    unsigned column = h->column, first = info->master->first_iMCU_col, last = info->master->last_iMCU_col;
    if (++h->column == info->MCUs_per_row) h->column = 0;
    JBLOCKROW *wanted = column >= first && column <= last ? blocks : NULL;
    if (!h->interval || h->way == ENTROPY_NULL) return h->decode(info, wanted);
    // libjpeg takes the slow way while restart_interval is set, and counts down to a restart only then. So it is set to 1
    // for the first MCU after a marker, and to 0 for the others.
    info->restart_interval = 0;
    if (h->left == 0) {
        h->left = h->interval;
        unsigned number = h->number++;
        h->passing = h->way == ENTROPY_JUMP && h->interval <= info->MCUs_per_row &&
                     (!blocks || column > last || column + h->interval <= first);
        if (number) {
            find_marker(info);
            if (info->unread_marker != JPEG_RST0 + (int)((number - 1) & 7)) fail("a marker is missing");
            if (h->passing) {
                info->unread_marker = 0;
            } else {
                info->marker->next_restart_num = (number - 1) & 7;
                info->restart_interval = 1;
            }
        }
    }
    h->left--;
    if (h->way == ENTROPY_JUMP && column > last) h->passing = h->passing || h->interval <= info->MCUs_per_row;
    if (h->passing) return TRUE;
    return h->decode(info, wanted);
}

static jvirt_barray_ptr request_array(
    j_common_ptr info, int pool, boolean zeroed, JDIMENSION width, JDIMENSION height, JDIMENSION most) {
    hooks *h = info->client_data;
    jvirt_barray_ptr array = h->request(info, pool, zeroed, width, height, most);
    if (h->array_count < 4) {
        h->sizes[h->array_count] = (size_t)width * height * sizeof(JBLOCK);
        h->arrays[h->array_count++] = array;
    }
    return array;
}

static void realize_arrays(j_common_ptr info) {
    hooks *h = info->client_data;
    h->realize(info);
    for (int index = 0; index < h->array_count; index++) {
        JBLOCKARRAY rows = info->mem->access_virt_barray(info, h->arrays[index], 0, 1, FALSE);
        uintptr_t start = ((uintptr_t)rows[0] + 4095) & ~(uintptr_t)4095;
        uintptr_t end = ((uintptr_t)rows[0] + h->sizes[index]) & ~(uintptr_t)4095;
        if (end > start) madvise((void *)start, end - start, MADV_HUGEPAGE);
    }
}

static void monitor(j_common_ptr info) { (void)info; }

// Some tries rely on bytes that are skipped before a marker.
static void message(j_common_ptr info, int level) {
    if (level < 0 && info->err->msg_code != JWRN_EXTRANEOUS_DATA) fail("the picture is damaged");
}

// --- decoding --------------------------------------------------------------------------------------------------------

// Where rows go: all of the region (`pixels`, four bytes each), or always to the same buffer, as in Ocelli.
typedef struct {
    uint8_t *rows, *pixels;
    size_t stride, pixel;   // bytes from row to row, and of a pixel
} target;

static uint8_t *row_memory(bool aligned) {
    static uint8_t *memory;
    if (!memory) memory = allocate((size_t)65536 * 4 * 17);
    return memory + (aligned ? 0 : 4);
}

static void keep_rows(const target *to, const plan *p, unsigned x, unsigned y, unsigned count) {
    if (!to->pixels) return;
    for (unsigned row = 0; row < count; row++) {
        const uint8_t *from = to->rows + row * to->stride + (p->x0 - x) * to->pixel;
        uint8_t *pixel = to->pixels + (size_t)(y + row - p->y0) * (p->x1 - p->x0) * 4;
        for (unsigned column = p->x0; column < p->x1; column++, from += to->pixel, pixel += 4) memcpy(pixel, from, 3);
    }
}

static void decode_in_product(bytes file, const plan *p, uint8_t *pixels) {
    static cjpeg_decoder *decoder;
    if (!decoder) decoder = cjpeg_create();
    cjpeg_header header;
    uint32_t width, height, x = p->x0 > columns_beside ? p->x0 - columns_beside : 0;
    cjpeg_status status = cjpeg_open(decoder, file.data, file.count, 0, &header);
    if (!status) status = cjpeg_start(decoder, p->scale, CJPEG_RGBX, p->x1 + columns_beside, 100, NULL, NULL, &width, &height);
    if (!status) {
        uint32_t columns = (p->x1 + columns_beside < width ? p->x1 + columns_beside : width) - x;
        if (columns < width) status = cjpeg_crop(decoder, &x, &columns);
        target to = {row_memory(false), pixels, (columns * 4 + 63) & ~63u, 4};
        // In one call, as most pictures have it (JPEGRows.swift).
        if (!status && p->y0) status = cjpeg_skip(decoder, p->y0);
        for (uint32_t y = p->y0; !status && y < p->y1; y += batch) {
            uint32_t count = p->y1 - y < batch ? p->y1 - y : batch;
            status = cjpeg_read(decoder, to.rows, to.stride, count);
            if (!status) keep_rows(&to, p, x, y, count);
        }
    }
    if (status) fail(cjpeg_message(decoder));
    cjpeg_close(decoder);
}

// At most 16 rows.
static void read_rows(j_decompress_ptr info, const target *to, unsigned count) {
    JSAMPROW rows[16];
    for (unsigned done = 0; done < count;) {
        unsigned wanted = count - done;
        for (unsigned row = 0; row < wanted; row++) rows[row] = to->rows + (done + row) * to->stride;
        done += jpeg_read_scanlines(info, rows, wanted);
    }
}

static void read_planes(j_decompress_ptr info) {
    unsigned lines = (unsigned)info->max_v_samp_factor * (unsigned)info->min_DCT_scaled_size;
    JSAMPROW rows[3][64];
    JSAMPARRAY planes[3] = {rows[0], rows[1], rows[2]};
    for (unsigned plane = 0; plane < 3; plane++) {
        for (unsigned row = 0; row < 64; row++) {
            rows[plane][row] = row_memory(false) + ((size_t)plane * 64 + row) * (info->output_width + 128);
        }
    }
    while (info->output_scanline < info->output_height) jpeg_read_raw_data(info, planes, lines);
}

static void read_region(const try *t, j_decompress_ptr info, const plan *p, uint8_t *pixels) {
    unsigned width = info->output_width, x = 0, y = 0;
    if (!t->whole && !t->all_columns) {
        unsigned columns = (p->x1 + columns_beside < width ? p->x1 + columns_beside : width);
        x = p->x0 > columns_beside ? p->x0 - columns_beside : 0;
        columns -= x;
        if (columns < width) jpeg_crop_scanline(info, &x, &columns);
        width = columns;
    }
    size_t pixel = t->rgb || t->ycc ? 3 : 4;
    target to = {row_memory(t->aligned), pixels, (width * pixel + 63) & ~(size_t)63, pixel};
    unsigned most = t->batch ? t->batch : batch;
    while (y < p->y0) {
        unsigned count = p->y0 - y;
        if (t->whole || t->all_rows) {
            if (count > most) count = most;
            read_rows(info, &to, count);
        } else {
            if (t->skip_64 && count > 64) count = 64;
            jpeg_skip_scanlines(info, count);
        }
        y += count;
    }
    unsigned end = t->whole ? info->output_height : p->y1;
    while (y < end) {
        unsigned limit = y < p->y1 ? p->y1 : end, count = limit - y < most ? limit - y : most;
        read_rows(info, &to, count);
        if (y < p->y1) keep_rows(&to, p, x, y, count);
        y += count;
    }
}

static void prefetch(bytes file) {
    for (size_t at = 0; at < file.count; at += 64) __builtin_prefetch(file.data + at);
}

static void set_up(const try *t, j_decompress_ptr info, hooks *h, const plan *p) {
    info->scale_num = p->scale;
    info->scale_denom = 8;
    info->dct_method = t->dct;
    info->do_fancy_upsampling = !t->merged;
    info->do_block_smoothing = !t->rough && !t->drop;
    info->raw_data_out = t->raw;
    info->out_color_space = t->rgb ? JCS_RGB : t->ycc ? JCS_YCbCr : JCS_EXT_RGBX;
    if (t->huge_coefficients) {
        h->request = info->mem->request_virt_barray;
        h->realize = info->mem->realize_virt_arrays;
        info->mem->request_virt_barray = request_array;
        info->mem->realize_virt_arrays = realize_arrays;
    }
    h->way = t->entropy;
    h->interval = info->restart_interval;
    if (t->entropy == ENTROPY_FAST || t->entropy == ENTROPY_JUMP) info->restart_interval = 0;
}

// The MCUs of a row up to the last that is needed, and one more: libjpeg may leave blocks of the last one out.
static unsigned narrowed(j_decompress_ptr info, const plan *p) {
    unsigned unit = (unsigned)info->max_h_samp_factor * 8, end = (p->x1 + columns_beside) * 8 / p->scale;
    unsigned columns = (end - 1) / unit + 2, all = (info->image_width + unit - 1) / unit;
    bool multiple = jpeg_has_multiple_scans(info);
    return !multiple && columns < all && info->restart_interval == all ? columns : 0;
}

static void decode(const try *t, bytes file, plan p, uint8_t *pixels) {
    static struct jpeg_decompress_struct kept;
    static bool is_kept;
    struct jpeg_decompress_struct own, *info = t->keep ? &kept : &own;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress = {.progress_monitor = monitor};
    hooks h = {0};
    bytes copy = {0};
    if (t->product) {
        decode_in_product(file, &p, pixels);
        return;
    }
    if (t->cut) file = copy = cut_file(file, &p);
    if (t->drop) file = copy = drop_scans(file);
    if (t->prefetch) prefetch(file);
    if (!t->keep || !is_kept) {
        info->err = jpeg_std_error(&errors);
        jpeg_create_decompress(info);
        is_kept = is_kept || t->keep;
    }
    info->err = jpeg_std_error(&errors);
    errors.emit_message = message;
    info->client_data = &h;
    if (!t->no_monitor) info->progress = &progress;
    jpeg_mem_src(info, file.data, file.count);
    jpeg_read_header(info, TRUE);
    set_up(t, info, &h, &p);
    unsigned columns = t->to_the_ends || t->whole || t->all_columns || t->raw || t->entropy || t->cut ? 0 : narrowed(info, &p);
    if (columns) info->restart_interval = columns;
    jpeg_start_decompress(info);
    if (columns) info->MCUs_per_row = columns;
    if (t->entropy && t->entropy != ENTROPY_ONLY) {
        h.decode = info->entropy->decode_mcu;
        info->entropy->decode_mcu = decode_mcu;
    }
    if (t->raw) {
        read_planes(info);
    } else if (t->entropy == ENTROPY_ONLY) {
        jpeg_skip_scanlines(info, info->output_height - 2 * (unsigned)(info->max_v_samp_factor * info->min_DCT_scaled_size) - 1);
    } else {
        read_region(t, info, &p, pixels);
    }
    if (t->keep) {
        jpeg_abort_decompress(info);
    } else {
        jpeg_destroy_decompress(info);
    }
    free(copy.data);
}

// The properties of a picture that a try needs.
static bool applies(const try *t, const outline *o, const plan *p) {
    if (t->entropy && o->progressive) return false;
    if ((t->entropy == ENTROPY_FAST || t->entropy == ENTROPY_JUMP) && !o->interval) return false;
    if (t->entropy == ENTROPY_JUMP && !can_cut(o)) return false;
    if (t->cut && !can_cut(o)) return false;
    bool in_rows = !o->progressive && o->interval == (o->width + o->across * 8 - 1) / (o->across * 8);
    if (t->skip_64 || t->to_the_ends) return (t->skip_64 && p->y0 > 64) || (t->to_the_ends && in_rows && p->x1 < p->width);
    if ((t->huge_coefficients || t->rough) && !o->progressive) return false;
    if (t->drop && !(o->progressive && p->scale == 1)) return false;
    if (t->all_rows && p->y0 == 0) return false;
    if ((t->all_columns || t->entropy == ENTROPY_NULL) && p->x0 == 0 && p->x1 == p->width) return false;
    if (t->scale && (t->scale == p->scale || t->scale * p->length / p->scale < side)) return false;
    return true;
}

static plan plan_of(const try *t, const outline *o, double margin, double place) {
    return make_plan(o->width, o->height, margin, place, t->scale);
}

static uint8_t *decoded(const try *t, bytes file, plan p) {
    uint8_t *pixels = calloc((size_t)(p.x1 - p.x0) * (p.y1 - p.y0), 4);
    decode(t, file, p, pixels);
    return pixels;
}

// --- measuring -------------------------------------------------------------------------------------------------------

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

static int by_size(const void *first, const void *second) {
    double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

// The names of the requested tries; empty for all.
static char **names;
static int name_count;

static bool is_wanted(const try *t) {
    for (int index = 0; index < name_count; index++) {
        if (!strcmp(names[index], t->name)) return true;
    }
    return !name_count;
}

static void time_all(bytes file, int rounds, double margin, double place) {
    outline o = outline_of(file);
    plan standard = plan_of(&tries[0], &o, margin, place);
    bytes huge = {.data = allocate(file.count), .count = file.count};
    madvise(huge.data, (file.count + (2 << 20) - 1) & ~((size_t)(2 << 20) - 1), MADV_HUGEPAGE);
    memcpy(huge.data, file.data, file.count);
    double *times = malloc(sizeof(double) * try_count * (size_t)rounds), *missing = malloc(sizeof(double) * try_count * (size_t)rounds);
    for (int round = -1; round < rounds; round++) {
        for (int index = 0; index < try_count; index++) {
            const try *t = &tries[index];
            if (!applies(t, &o, &standard) || !is_wanted(t)) continue;
            bytes input = t->huge_input ? huge : file;
            for (size_t at = 0; t->flush && at < input.count; at += 64) _mm_clflush(input.data + at);
            plan p = plan_of(t, &o, margin, place);
            long before = faults();
            double start = now_us();
            decode(t, input, p, NULL);
            double taken = now_us() - start;
            if (round < 0) continue;
            times[index * rounds + round] = taken;
            missing[index * rounds + round] = (double)(faults() - before);
        }
    }
    static double tensor[side * side * 3], full[side * side * 3];
    const try reference = {.whole = true, .scale = 8};
    plan p = plan_of(&reference, &o, margin, place);
    uint8_t *pixels = decoded(&reference, file, p), *mine = decoded(&tries[0], file, standard);
    scale_down(pixels, &p, full);
    free(pixels);
    printf("picture %u %u %u %u %u %u %u\n", o.width, o.height, standard.scale, standard.x0, standard.x1, standard.y0, standard.y1);
    for (int index = 0; index < try_count; index++) {
        const try *t = &tries[index];
        if (!applies(t, &o, &standard) || !is_wanted(t)) continue;
        printf("%s %.1f %.0f", t->name, median(times + index * rounds, rounds), median(missing + index * rounds, rounds));
        if (t->entropy == ENTROPY_ONLY || t->raw || t->ycc) {
            printf(" - - - -\n");
            continue;
        }
        p = plan_of(t, &o, margin, place);
        pixels = decoded(t, file, p);
        scale_down(pixels, &p, tensor);
        difference d = {-1, -1}, e = between(tensor, full, side * side * 3);
        if (p.scale == standard.scale) d = pixels_between(pixels, mine, (size_t)(p.x1 - p.x0) * (p.y1 - p.y0) * 4);
        printf(d.most < 0 ? " - -" : " %.0f %.3f", d.most, d.mean);
        printf(" %.0f %.3f\n", e.most, e.mean);
        free(pixels);
    }
}

static void count_all(bytes file, double margin, double place) {
    outline o = outline_of(file);
    plan standard = plan_of(&tries[0], &o, margin, place);
    for (int index = 0; index < try_count; index++) {
        const try *t = &tries[index];
        if (!applies(t, &o, &standard) || !is_wanted(t) || t->flush) continue;
        plan p = plan_of(t, &o, margin, place);
        decode(t, file, p, NULL);
        CALLGRIND_ZERO_STATS;
        decode(t, file, p, NULL);
        CALLGRIND_DUMP_STATS_AT(t->name);
    }
}

int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "list")) {
        for (int index = 0; index < try_count; index++) printf("%s\t%s\n", tries[index].name, tries[index].what);
    } else if (count >= 6 && !strcmp(words[1], "time")) {
        names = words + 6;
        name_count = count - 6;
        time_all(read_file(words[2]), atoi(words[3]), atof(words[4]), atof(words[5]));
    } else if (count >= 5 && !strcmp(words[1], "count")) {
        names = words + 5;
        name_count = count - 5;
        count_all(read_file(words[2]), atof(words[3]), atof(words[4]));
    } else {
        fail("usage: jpeg-tries list | time FILE ROUNDS MARGIN PLACE [NAME]... | count FILE MARGIN PLACE [NAME]...");
    }
    return 0;
}
