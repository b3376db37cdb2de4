// Tells Thread Sanitizer about Synchronization.Mutex. Empty in every other build.
//
// On Linux, locking a mutex that is free is inlined into the caller, so that the sanitizer sees the atomic operation.
// Locking one that is taken is a call into libswiftSynchronization, which is not instrumented: the sanitizer does not
// see that the one thread's unlock comes before the other's lock, and reports what the mutex guards as a race.
//
// The three functions of that library are defined here under the same names. A program's own definitions come before a
// library's, so these are called; each calls the library's, and adds what happened in the sanitizer's terms. Nothing
// else is hidden from it: an access outside the lock is still reported.

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OCELLI_THREAD_SANITIZER 1
#endif
#endif

#if OCELLI_THREAD_SANITIZER

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// _MutexHandle._lockSlow(UInt32), ._tryLockSlow() -> Bool and ._unlockSlow(); the handle's address is `self`.
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *handle

static void *library(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        // This toolchain has another mutex: the annotations must be revised.
        fprintf(stderr, "MutexAnnotations.c: libswiftSynchronization has no %s\n", name);
        abort();
    }
    return function;
}

SWIFT void ocelli_lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT bool ocelli_try_lock_slow(SELF) __asm__(TRY_LOCK_SLOW);
SWIFT void ocelli_unlock_slow(SELF) __asm__(UNLOCK_SLOW);

SWIFT void ocelli_lock_slow(uint32_t thread, SELF) {
    SWIFT void (*real)(uint32_t, SELF) = (SWIFT void (*)(uint32_t, SELF))library(LOCK_SLOW);
    real(thread, handle);
    __tsan_acquire(handle);
}

SWIFT bool ocelli_try_lock_slow(SELF) {
    SWIFT bool (*real)(SELF) = (SWIFT bool (*)(SELF))library(TRY_LOCK_SLOW);
    bool locked = real(handle);
    if (locked) {
        __tsan_acquire(handle);
    }
    return locked;
}

SWIFT void ocelli_unlock_slow(SELF) {
    SWIFT void (*real)(SELF) = (SWIFT void (*)(SELF))library(UNLOCK_SLOW);
    __tsan_release(handle);
    real(handle);
}

#else

// A translation unit must declare something.
typedef int ocelli_no_thread_sanitizer;

#endif
