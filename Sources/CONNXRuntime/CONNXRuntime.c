#define _GNU_SOURCE
#include "CONNXRuntime.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const ort_api *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
} api_base;

const ort_api *ort_open(const char *path, const char **version, char *reason, size_t size) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *error = dlerror();
        snprintf(reason, size, "%s", error ? error : "it cannot be opened");
        return NULL;
    }
    const api_base *(*get_base)(void) = (const api_base *(*)(void))(uintptr_t)dlsym(library, "OrtGetApiBase");
    const api_base *base = get_base ? get_base() : NULL;
    if (!base) {
        snprintf(reason, size, "it has no OrtGetApiBase: it is not ONNX Runtime");
        return NULL;
    }
    *version = base->get_version();
    // The library prints a line if the requested API version is too new for it, so check its own version first.
    unsigned major = 0, minor = 0;
    if (sscanf(*version, "%u.%u", &major, &minor) != 2 || major != 1 || minor < ort_api_version) {
        snprintf(
            reason, size, "it is version %.40s, and 1.%d or a newer 1.x is needed", *version, (int)ort_api_version);
        return NULL;
    }
    const ort_api *api = base->get_api(ort_api_version);
    if (!api) snprintf(reason, size, "it does not give version %d of its API", (int)ort_api_version);
    return api;
}

bool ort_has_locale(const char *name) {
    locale_t locale = newlocale(LC_ALL_MASK, name, (locale_t)0);
    if (!locale) return false;
    freelocale(locale);
    return true;
}
