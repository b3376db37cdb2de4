// A stand-in for onnxruntime-gpu on machines without a graphics processor: ONNX Runtime's own library with other
// functions for CUDA, at the boundary of its API. Requests to CUDA are written to STANDIN_LOG; everything runs on the
// CPU.
//
// STANDIN_LIBRARY: the real library. STANDIN_MODE: "works" (with the devices 0 and 1); "no-driver" (CUDA cannot be
// loaded, as without NVIDIA's driver); "falls-back" (nodes would run on the processor, which the library refuses where
// that is switched off); "old" (a library of an older version than Ocelli needs).
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { entries = 260 };

typedef struct {
    const void **(*get_api)(uint32_t version);
    const char *(*get_version)(void);
} api_base;

// The device of the session options that this thread is creating.
static _Thread_local int device;
static const api_base *real_base;
static const void **real;
static const void *table[entries];

static int mode(const char *name) {
    const char *value = getenv("STANDIN_MODE");
    return value && strcmp(value, name) == 0;
}

static void note(const char *what, const char *value) {
    const char *path = getenv("STANDIN_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s %s\n", what, value);
    fclose(file);
}

static void *failure(const char *message) {
    return ((void *(*)(int, const char *))(uintptr_t)real[0])(1, message);
}

static char *providers[] = {"CUDAExecutionProvider", "CPUExecutionProvider"};

static void *get_available_providers(char ***names, int *count) {
    *names = providers;
    *count = 2;
    return NULL;
}

static void *release_available_providers(char **names, int count) { return (void)names, (void)count, NULL; }

static void *create_cuda_options(void **options) { return *options = providers, NULL; }

static void *update_cuda_options(void *options, const char *const *keys, const char *const *values, size_t count) {
    (void)options;
    for (size_t i = 0; i < count; i++) {
        note(keys[i], values[i]);
        if (strcmp(keys[i], "device_id") == 0) device = atoi(values[i]);
    }
    return NULL;
}

static void release_cuda_options(void *options) { (void)options; }

static void *append_cuda(void *session, const void *options) {
    (void)session, (void)options;
    if (mode("no-driver")) return failure("Failed to load shared library");
    if (device > 1) return failure("CUDA failure 101: invalid device ordinal");
    note("append", "CUDA");
    return NULL;
}

static void *add_session_config(void *options, const char *key, const char *value) {
    if (strcmp(key, "session.disable_cpu_ep_fallback") == 0) {
        note(key, value);
        // The CPU stands in for the graphics processor.
        if (mode("works")) return NULL;
    }
    return ((void *(*)(void *, const char *, const char *))(uintptr_t)real[130])(options, key, value);
}

static const void **get_api(uint32_t version) {
    real = real_base->get_api(version);
    if (!real) return NULL;
    memcpy(table, real, sizeof table);
    table[125] = (const void *)(uintptr_t)get_available_providers;
    table[126] = (const void *)(uintptr_t)release_available_providers;
    table[130] = (const void *)(uintptr_t)add_session_config;
    table[204] = (const void *)(uintptr_t)append_cuda;
    table[205] = (const void *)(uintptr_t)create_cuda_options;
    table[206] = (const void *)(uintptr_t)update_cuda_options;
    table[208] = (const void *)(uintptr_t)release_cuda_options;
    return table;
}

static const char *get_version(void) { return mode("old") ? "1.17.3" : real_base->get_version(); }

static api_base base = {get_api, get_version};

const api_base *OrtGetApiBase(void) {
    const char *path = getenv("STANDIN_LIBRARY");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const api_base *(*get_base)(void) = library ? (const api_base *(*)(void))(uintptr_t)dlsym(library, "OrtGetApiBase") : NULL;
    const char *telemetry = getenv("ORT_DISABLE_TELEMETRY");
    note("ORT_DISABLE_TELEMETRY", telemetry ? telemetry : "is not set");
    real_base = get_base ? get_base() : NULL;
    return real_base ? &base : NULL;
}
