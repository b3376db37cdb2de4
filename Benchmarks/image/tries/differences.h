// Differences of pixels, and of the tensors made from them: for jpeg-tries.
#pragma once

#include <string.h>

#include "plan.h"

// The triangle filter of Pillow's `resize`, both ways at once.
static void weights_of(double start, double length, unsigned first, unsigned end, unsigned output, double *weights) {
    double step = length / side, support = step > 1 ? step : 1, center = start + (output + 0.5) * step, sum = 0;
    for (unsigned at = first; at < end; at++) {
        double far = fabs((at + 0.5 - center) / support);
        weights[at - first] = far < 1 ? 1 - far : 0;
        sum += weights[at - first];
    }
    for (unsigned at = first; at < end; at++) weights[at - first] /= sum;
}

static void scale_down(const uint8_t *pixels, const plan *p, double *tensor) {
    unsigned width = p->x1 - p->x0, height = p->y1 - p->y0;
    double *weights = malloc((width + height) * sizeof *weights), *lines = malloc((size_t)height * side * 3 * sizeof *lines);
    for (unsigned output = 0; output < side; output++) {
        weights_of(p->x, p->length, p->x0, p->x1, output, weights);
        for (unsigned y = 0; y < height; y++) {
            double sum[3] = {0};
            for (unsigned x = 0; x < width; x++) {
                if (weights[x] == 0) continue;
                for (unsigned c = 0; c < 3; c++) sum[c] += weights[x] * pixels[((size_t)y * width + x) * 4 + c];
            }
            for (unsigned c = 0; c < 3; c++) lines[((size_t)y * side + output) * 3 + c] = round(sum[c]);
        }
    }
    for (unsigned output = 0; output < side; output++) {
        weights_of(p->y, p->length, p->y0, p->y1, output, weights);
        double *row = tensor + (size_t)output * side * 3;
        memset(row, 0, side * 3 * sizeof *row);
        for (unsigned y = 0; y < height; y++) {
            if (weights[y] == 0) continue;
            for (unsigned x = 0; x < side * 3; x++) row[x] += weights[y] * lines[(size_t)y * side * 3 + x];
        }
        for (unsigned x = 0; x < side * 3; x++) row[x] = round(row[x]);
    }
    free(weights);
    free(lines);
}

typedef struct {
    double most, mean;
} difference;

static difference between(const double *first, const double *second, size_t count) {
    difference d = {0, 0};
    for (size_t index = 0; index < count; index++) {
        double by = fabs(first[index] - second[index]);
        if (by > d.most) d.most = by;
        d.mean += by / (double)count;
    }
    return d;
}

static difference pixels_between(const uint8_t *first, const uint8_t *second, size_t count) {
    difference d = {0, 0};
    for (size_t index = 0; index < count; index++) {
        if (index % 4 == 3) continue;
        double by = abs(first[index] - second[index]);
        if (by > d.most) d.most = by;
        d.mean += by / (double)(count / 4 * 3);
    }
    return d;
}
