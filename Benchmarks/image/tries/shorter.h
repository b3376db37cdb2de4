// Copies of a JPEG without the parts that are not needed: for jpeg-tries.
#pragma once

#include <stdbool.h>
#include <string.h>

#include "plan.h"

typedef struct {
    size_t frame, scan, pixels;   // offsets: behind the length of SOF, of the first SOS marker, of its first byte
    unsigned width, height, components, across, down, interval;
    uint8_t factors[4];
    bool progressive;
} outline;

static unsigned big16(const uint8_t *at) { return (unsigned)at[0] << 8 | at[1]; }

static outline outline_of(bytes file) {
    outline o = {.across = 1, .down = 1};
    for (size_t at = 2; at + 4 <= file.count;) {
        unsigned marker = file.data[at + 1], length = big16(file.data + at + 2);
        if (file.data[at] != 0xFF) fail("not a plain JPEG");
        const uint8_t *body = file.data + at + 4;
        if (marker >= 0xC0 && marker <= 0xC2) {
            o.progressive = marker == 0xC2;
            o.frame = at + 4;
            o.height = big16(body + 1);
            o.width = big16(body + 3);
            o.components = body[5];
            for (unsigned index = 0; index < o.components && index < 4; index++) {
                o.factors[index] = body[7 + 3 * index];
                if (o.factors[index] >> 4 > (int)o.across) o.across = o.factors[index] >> 4;
                if ((o.factors[index] & 15) > (int)o.down) o.down = o.factors[index] & 15;
            }
        } else if (marker == 0xDD) {
            o.interval = big16(body);
        } else if (marker == 0xDA) {
            o.scan = at;
            o.pixels = at + 2 + length;
            return o;
        }
        at += 2 + length;
    }
    fail("no scan");
    return o;
}

static const uint8_t *next_marker(const uint8_t *from, const uint8_t *end) {
    while ((from = memchr(from, 0xFF, (size_t)(end - from))) && from + 1 < end && (from[1] == 0 || from[1] == 0xFF)) {
        from += from[1] ? 1 : 2;
    }
    if (!from || from + 1 >= end) fail("no marker");
    return from;
}

static bool can_cut(const outline *o) {
    unsigned row = (o->width + o->across * 8 - 1) / (o->across * 8);
    return !o->progressive && o->interval && (row % o->interval == 0 || o->interval % row == 0);
}

// The restart intervals that the plan needs, as a picture of its own; the plan is moved accordingly.
static bytes cut_file(bytes file, plan *p) {
    outline o = outline_of(file);
    unsigned unit_x = o.across * 8, unit_y = o.down * 8;
    unsigned row = (o.width + unit_x - 1) / unit_x, rows = (o.height + unit_y - 1) / unit_y;
    unsigned step = o.interval < row ? o.interval : row;          // columns of an interval
    unsigned deep = o.interval < row ? 1 : o.interval / row;      // rows of it
    unsigned beside = columns_beside * 8 / p->scale;
    unsigned left = p->x0 * 8 / p->scale, right = (p->x1 * 8 + p->scale - 1) / p->scale + beside;
    unsigned top = p->y0 * 8 / p->scale, bottom = (p->y1 * 8 + p->scale - 1) / p->scale + 2;
    left = left > beside ? left - beside : 0;
    top = top > 2 ? top - 2 : 0;
    unsigned c0 = left / unit_x / step * step, c1 = ((right + unit_x - 1) / unit_x + step - 1) / step * step;
    unsigned r0 = top / unit_y / deep * deep, r1 = ((bottom + unit_y - 1) / unit_y + deep - 1) / deep * deep;
    if (c1 > row) c1 = row;
    if (r1 > rows) r1 = rows;
    bytes out = {.data = malloc(file.count + 2)};
    memcpy(out.data, file.data, o.pixels);
    out.count = o.pixels;
    unsigned width = (c1 * unit_x < o.width ? c1 * unit_x : o.width) - c0 * unit_x;
    unsigned height = (r1 * unit_y < o.height ? r1 * unit_y : o.height) - r0 * unit_y;
    uint8_t *frame = out.data + o.frame;
    frame[1] = height >> 8, frame[2] = height & 255, frame[3] = width >> 8, frame[4] = width & 255;
    const uint8_t *at = file.data + o.pixels, *end = file.data + file.count;
    unsigned number = 0;
    for (unsigned y = 0; y < r1; y += deep) {
        for (unsigned x = 0; x < row; x += step) {
            const uint8_t *marker = next_marker(at, end);
            if (y >= r0 && x >= c0 && x < c1) {
                if (number) {
                    out.data[out.count++] = 0xFF;
                    out.data[out.count++] = (uint8_t)(0xD0 + ((number - 1) & 7));
                }
                number++;
                memcpy(out.data + out.count, at, (size_t)(marker - at));
                out.count += (size_t)(marker - at);
            }
            at = marker + 2;
        }
    }
    out.data[out.count++] = 0xFF;
    out.data[out.count++] = 0xD9;
    unsigned dx = c0 * unit_x * p->scale / 8, dy = r0 * unit_y * p->scale / 8;
    p->x0 -= dx, p->x1 -= dx, p->y0 -= dy, p->y1 -= dy;
    p->x -= dx, p->y -= dy;
    p->width = (width * p->scale + 7) / 8;
    p->height = (height * p->scale + 7) / 8;
    return out;
}

// Without the scans of coefficients that 1/8 does not look at: all but the first of each block, where a component has as
// many samples as there are of any.
static bytes drop_scans(bytes file) {
    outline o = outline_of(file);
    bytes out = {.data = malloc(file.count)};
    size_t kept = 0, at = o.scan;
    while (at + 4 <= file.count && file.data[at + 1] != 0xD9) {
        size_t next = at + 2 + big16(file.data + at + 2);
        bool skip = false;
        if (file.data[at + 1] == 0xDA) {
            const uint8_t *body = file.data + at + 4;
            for (unsigned index = 0; index < o.components; index++) {
                bool full = o.factors[index] == (o.across << 4 | o.down);
                skip = skip || (full && body[0] == 1 && body[1] == file.data[o.frame + 6 + 3 * index] && body[3] > 0);
            }
            next = (size_t)(next_marker(file.data + next, file.data + file.count) - file.data);
        }
        if (skip) {
            memcpy(out.data + out.count, file.data + kept, at - kept);
            out.count += at - kept;
            kept = next;
        }
        at = next;
    }
    memcpy(out.data + out.count, file.data + kept, file.count - kept);
    out.count += file.count - kept;
    return out;
}
