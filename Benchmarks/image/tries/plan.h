// Files, and the part of a picture that Ocelli decodes: for jpeg-tries.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 224, columns_beside = 4 };

typedef struct {
    uint8_t *data;
    size_t count;
} bytes;

static void fail(const char *message) {
    fprintf(stderr, "jpeg-tries: %s\n", message);
    exit(1);
}

static void *allocate(size_t count) {
    void *memory = NULL;
    if (posix_memalign(&memory, 2 << 20, count + (2 << 20))) fail("no memory");
    return memory;
}

static bytes read_file(const char *name) {
    FILE *file = fopen(name, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail(name);
    bytes result = {.count = (size_t)ftell(file)};
    rewind(file);
    result.data = allocate(result.count);
    if (fread(result.data, 1, result.count, file) != result.count) fail(name);
    fclose(file);
    return result;
}

// The plan that Ocelli makes for a centre crop of 224 x 224 pixels (DecodePlan.swift).
typedef struct {
    unsigned scale;
    unsigned width, height;    // of the decoded picture
    double x, y, length;       // the square that is scaled, in decoded pixels
    unsigned x0, x1, y0, y1;   // the pixels that this needs
} plan;

static void reach(double start, double length, unsigned whole, unsigned *first, unsigned *end) {
    double step = length / side, support = step > 1 ? step : 1;
    double low = floor(start + step / 2 - support + 0.5), high = floor(start + length - step / 2 + support + 0.5);
    *first = low < 0 ? 0 : (unsigned)low;
    *end = high > whole ? whole : (unsigned)high;
}

static plan make_plan(unsigned width, unsigned height, double margin, double place, unsigned scale) {
    plan p = {.scale = scale};
    double length = width < height ? width : height;
    for (unsigned candidate = 1; !p.scale && candidate <= 4; candidate *= 2) {
        if ((double)width * height >= 500000 && length * candidate >= side * 8 * margin) p.scale = candidate;
    }
    if (!p.scale) p.scale = 8;
    double factor = p.scale / 8.0;
    p.width = (width * p.scale + 7) / 8;
    p.height = (height * p.scale + 7) / 8;
    p.x = (width - length) * place * factor;
    p.y = (height - length) * place * factor;
    p.length = length * factor;
    reach(p.x, p.length, p.width, &p.x0, &p.x1);
    reach(p.y, p.length, p.height, &p.y0, &p.y1);
    return p;
}
