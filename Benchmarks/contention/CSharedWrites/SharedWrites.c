// Counts the interference of threads: writes to cache lines that another thread wrote last, failed compare-exchanges,
// futex calls.
//
// Package.swift compiles the Swift targets for Thread Sanitizer, which turns each access to memory into a call. Its
// library is not linked: the calls come here (SanitizerCalls.c), and find the last writer of the line. Reference counts
// are changed inside the Swift runtime, which is not compiled that way; the linker hands those calls to the __wrap_
// functions below. So the counts follow from the code alone: not from the number of processors, nor from the time.
#define _GNU_SOURCE
#include "SharedWrites.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

// Each thread counts on lines of its own, so that threads do not contend for the counters.
static struct slot {
    _Alignas(64) _Atomic uint64_t counts[SHARED_WRITES_KINDS];
} slots[1024];

// The line and its last writer. Two lines in one entry overwrite each other: then a write is missed, but none is invented.
static _Atomic uint64_t lines[1 << 20];

// The address of a piece of memory and the thread that allocated it, as above.
static _Atomic uint64_t owners[1 << 20];

static _Atomic uint64_t threads;
static _Atomic bool everywhere, gives_way;
static _Thread_local uint64_t thread, chance;
static _Thread_local bool here, left_out;

static uint64_t me(void) {
    if (thread == 0) {
        thread = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    }
    return thread & 0xffff;
}

bool shared_writes_counts(void) {
    return here || (!left_out && atomic_load_explicit(&everywhere, memory_order_relaxed));
}

void shared_writes_add(enum shared_writes_kind kind) {
    atomic_fetch_add_explicit(&slots[me() % 1024].counts[kind], 1, memory_order_relaxed);
}

void shared_writes_before_atomic(void) {
    shared_writes_add(SHARED_WRITES_ATOMIC);
    if (!atomic_load_explicit(&gives_way, memory_order_relaxed)) {
        return;
    }
    // Each thread has its own sequence.
    chance = (chance + me()) * 0x9e3779b97f4a7c15u + 1;
    if (chance >> 61 == 0) {
        sched_yield();
    }
}

bool shared_writes_wrote(const void *address) {
    uint64_t line = (uint64_t)(uintptr_t)address >> 6;
    _Atomic uint64_t *place = &lines[(line * 0x9e3779b97f4a7c15u) >> 44];
    uint64_t last = atomic_load_explicit(place, memory_order_relaxed), now = line << 16 | me();
    if (last == now) {
        return false;
    }
    atomic_store_explicit(place, now, memory_order_relaxed);
    if (last >> 16 != line) {
        return false;
    }
    shared_writes_add(SHARED_WRITES_MOVED);
    return true;
}

void shared_writes_count_here(bool counts) { here = counts; }

void shared_writes_leave_out(void) { left_out = true; }

void shared_writes_count_everywhere(bool counts) { atomic_store(&everywhere, counts); }

void shared_writes_give_way(bool gives) { atomic_store(&gives_way, gives); }

uint64_t shared_writes_total(enum shared_writes_kind kind) {
    uint64_t sum = 0;
    for (int index = 0; index < 1024; index++) {
        sum += atomic_load_explicit(&slots[index].counts[kind], memory_order_relaxed);
    }
    return sum;
}

void shared_writes_reset_counts(void) {
    for (int index = 0; index < 1024; index++) {
        for (int kind = 0; kind < SHARED_WRITES_KINDS; kind++) {
            atomic_store_explicit(&slots[index].counts[kind], 0, memory_order_relaxed);
        }
    }
}

void shared_writes_reset(void) {
    shared_writes_reset_counts();
    for (int index = 0; index < 1 << 20; index++) {
        atomic_store_explicit(&lines[index], 0, memory_order_relaxed);
    }
}

// The Swift runtime. The callers expect that almost all registers are kept (preserve_most), as the runtime's own
// functions do; those are called as ordinary ones, which only saves more than is needed.

static uint64_t references(const void *object) {
    return __atomic_load_n((const uint64_t *)object + 1, __ATOMIC_RELAXED);
}

// An immortal object's count is not written: it is the same afterwards. Bridged objects have marks in their top bits.
static bool is_object(const void *object) { return (intptr_t)object > 4096 && (uintptr_t)object >> 48 == 0; }

// An object that weak references point to, or did, has its count in memory of its own, where bits 62 and 63 are set:
// its address is in the other bits, and the count 16 bytes after that (RefCount.h of the Swift runtime).
static const void *count_of(const void *object) {
    uint64_t bits = references(object);
    return bits >> 62 == 3 ? (const char *)((bits & ~(3ull << 62)) << 3) + 16 : (const char *)object + 8;
}

// An immortal object has only bit 63 of the two.
static bool is_counted(const void *object) { return references(object) >> 62 != 2; }

static void changed(const void *count) {
    shared_writes_before_atomic();
    if (shared_writes_wrote(count)) {
        shared_writes_add(SHARED_WRITES_MOVED_COUNTS);
    }
}

#define RETAIN(name, parameters, ...) \
    extern void *__real_##name parameters; \
    __attribute__((preserve_most)) void *__wrap_##name parameters { \
        if (shared_writes_counts() && is_object(object) && is_counted(object)) { \
            changed(count_of(object)); \
        } \
        return __real_##name(__VA_ARGS__); \
    }

// Read before: a release may be the last one.
#define RELEASE(name, parameters, ...) \
    extern void __real_##name parameters; \
    __attribute__((preserve_most)) void __wrap_##name parameters { \
        if (shared_writes_counts() && is_object(object) && is_counted(object)) { \
            changed(count_of(object)); \
        } \
        __real_##name(__VA_ARGS__); \
    }

RETAIN(swift_retain, (void *object), object)
RETAIN(swift_retain_n, (void *object, uint32_t count), object, count)
RELEASE(swift_release, (void *object), object)
RELEASE(swift_release_n, (void *object, uint32_t count), object, count)

// Locks and the kernel.

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *handle
#define REAL_LOCK_SLOW "__real_$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define WRAP_LOCK_SLOW "__wrap_$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
extern SWIFT void real_lock_slow(uint32_t thread, SELF) __asm__(REAL_LOCK_SLOW);
SWIFT void wrap_lock_slow(uint32_t thread, SELF) __asm__(WRAP_LOCK_SLOW);

SWIFT void wrap_lock_slow(uint32_t thread, SELF) {
    if (shared_writes_counts()) {
        shared_writes_add(SHARED_WRITES_TAKEN);
    }
    real_lock_slow(thread, handle);
}

extern int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (!shared_writes_counts()) {
        return __real_pthread_mutex_lock(mutex);
    }
    shared_writes_before_atomic();
    (void)shared_writes_wrote(mutex);
    if (pthread_mutex_trylock(mutex) == 0) {
        return 0;
    }
    shared_writes_add(SHARED_WRITES_TAKEN);
    return __real_pthread_mutex_lock(mutex);
}

extern int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    if (shared_writes_counts()) {
        shared_writes_before_atomic();
        (void)shared_writes_wrote(mutex);
    }
    return __real_pthread_mutex_unlock(mutex);
}

extern long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
    long argument[6];
    va_list list;
    va_start(list, number);
    for (int index = 0; index < 6; index++) {
        argument[index] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_futex && shared_writes_counts()) {
        shared_writes_add(SHARED_WRITES_FUTEX);
    }
    return __real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

// Memory. Allocations inside dynamically linked C libraries are not seen.

static _Atomic uint64_t *owner(const void *memory) {
    return &owners[((uint64_t)(uintptr_t)memory >> 4) * 0x9e3779b97f4a7c15u >> 44];
}

static void *allocated(void *memory) {
    if (memory != NULL) {
        atomic_store_explicit(owner(memory), (uint64_t)(uintptr_t)memory << 16 | me(), memory_order_relaxed);
    }
    return memory;
}

static void freed(const void *memory) {
    if (memory == NULL || !shared_writes_counts()) {
        return;
    }
    uint64_t last = atomic_load_explicit(owner(memory), memory_order_relaxed);
    if (last >> 16 == ((uint64_t)(uintptr_t)memory & 0xffffffffffff) && (last & 0xffff) != me()) {
        shared_writes_add(SHARED_WRITES_FOREIGN_FREES);
    }
}

extern void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size) { return allocated(__real_malloc(size)); }

extern void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) { return allocated(__real_calloc(count, size)); }

extern void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size) {
    freed(memory);
    return allocated(__real_realloc(memory, size));
}

extern int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
    int result = __real_posix_memalign(memory, alignment, size);
    if (result == 0) {
        (void)allocated(*memory);
    }
    return result;
}

extern void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return allocated(__real_aligned_alloc(alignment, size)); }

extern void __real_free(void *memory);
void __wrap_free(void *memory) {
    freed(memory);
    __real_free(memory);
}
