#define _GNU_SOURCE 1
#include "CSystem.h"

#include <malloc.h>
#include <sys/random.h>

void csys_release_free_memory(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

uint64_t csys_random(void) {
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) == sizeof value) return value;
    return csys_monotonic() ^ ((uint64_t)getpid() << 32);  // early boot only; nothing here is a secret
}

int csys_has_vnni(void) {
#if defined(__x86_64__)
    return (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni")) || __builtin_cpu_supports("avxvnni");
#else
    return 0;
#endif
}
