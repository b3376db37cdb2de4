#include "Internal.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

extern const struct ccodec ccodec_heic, ccodec_avif, ccodec_tiff, ccodec_gif, ccodec_bmp, ccodec_jxl;
static struct ccodec codecs[CCODEC_FORMATS];

__attribute__((constructor)) static void list_codecs(void) {
    const struct ccodec *const all[] = {&ccodec_heic, &ccodec_avif, &ccodec_tiff, &ccodec_gif, &ccodec_bmp, &ccodec_jxl};
    for (size_t index = 0; index < CCODEC_FORMATS; index++) codecs[index] = *all[index];
}

const struct ccodec *const ccodec_all = codecs;
const size_t ccodec_count = CCODEC_FORMATS;

bool ccodec_refuse(struct ccodec_statement *statement, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(statement->reason, sizeof statement->reason, format, values);
    va_end(values);
    return false;
}

uint64_t ccodec_memory(const struct ccodec_statement *statement, uint64_t of_pixel, uint64_t others) {
    uint64_t pixels = (uint64_t)statement->width * statement->height, most = (uint64_t)1 << 32;
    return (pixels < most ? pixels : most) * of_pixel + others;
}

void *ccodec_library(const char *const names[]) {
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
    }
    return NULL;
}

bool ccodec_functions(void *library, ...) {
    va_list pairs;
    va_start(pairs, library);
    bool found = true;
    const char *name;
    while (found && (name = va_arg(pairs, const char *))) {
        void **place = va_arg(pairs, void **);
        *place = dlsym(library, name);
        found = *place != NULL;
    }
    va_end(pairs);
    return found;
}
