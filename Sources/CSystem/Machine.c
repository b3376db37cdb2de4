#define _GNU_SOURCE 1
#include "CSystem.h"

#include <malloc.h>
#include <sys/auxv.h>
#include <sys/random.h>

void csys_release_free_memory(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

void csys_bound_free_memory(size_t mapped, size_t kept) {
#if defined(__GLIBC__)
    // Either call also ends the adaptation of both sizes, which grow to 32 and 64 MiB.
    mallopt(M_MMAP_THRESHOLD, (int)mapped);
    mallopt(M_TRIM_THRESHOLD, (int)kept);
#else
    (void)mapped, (void)kept;
#endif
}

uint64_t csys_random(void) {
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) == sizeof value) return value;
    return csys_monotonic() ^ ((uint64_t)getpid() << 32);  // only in early boot; the result is not used for secrets
}

int csys_has_vnni(void) {
#if defined(__x86_64__)
    return (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni")) || __builtin_cpu_supports("avxvnni");
#else
    return 0;
#endif
}

#if defined(__x86_64__)
#define HAS(name, bit) ((uint64_t)(__builtin_cpu_supports(name) != 0) << (bit))
#endif

uint64_t csys_instructions(void) {
#if defined(__x86_64__)
    return HAS("sse4.2", 0) | HAS("avx", 1) | HAS("avx2", 2) | HAS("fma", 3) | HAS("avx512f", 4) | HAS("avx512bw", 5) |
           HAS("avx512dq", 6) | HAS("avx512vl", 7) | HAS("avx512vnni", 8) | HAS("avx512bf16", 9) | HAS("avx512fp16", 10) |
           HAS("avxvnni", 11) | HAS("avxvnniint8", 12) | HAS("avxneconvert", 13) | HAS("amx-tile", 14) | HAS("amx-int8", 15) |
           HAS("amx-bf16", 16) | HAS("amx-fp16", 17);
#else
    return getauxval(AT_HWCAP) ^ (uint64_t)getauxval(AT_HWCAP2) << 32;
#endif
}
