// The calls that a compiler for Thread Sanitizer makes (llvm/lib/Transforms/Instrumentation/ThreadSanitizer.cpp). Plain
// reads do nothing here; atomic operations are done here, for the call takes their place.
#include "SharedWrites.h"

#include <stddef.h>
#include <string.h>

static void wrote(const void *address) {
    if (shared_writes_counts()) {
        (void)shared_writes_wrote(address);
    }
}

static void wrote_atomically(const volatile void *address) {
    if (shared_writes_counts()) {
        shared_writes_before_atomic();
        (void)shared_writes_wrote((const void *)address);
    }
}

static void wrote_range(const void *address, size_t size) {
    if (size == 0 || !shared_writes_counts()) {
        return;
    }
    // The line of the last byte, too, for any alignment of the first.
    for (size_t offset = 0; offset < size; offset += 64) {
        (void)shared_writes_wrote((const char *)address + offset);
    }
    (void)shared_writes_wrote((const char *)address + size - 1);
}

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void) {}
void __tsan_acquire(void *address) { (void)address; }
void __tsan_release(void *address) { (void)address; }
void __tsan_external_write(void *address, void *caller, void *tag) {
    (void)caller, (void)tag;
    wrote(address);
}
void __tsan_external_read(void *address, void *caller, void *tag) { (void)address, (void)caller, (void)tag; }
void *__tsan_external_register_tag(const char *name) { return (void *)name; }
void __tsan_vptr_read(void **address) { (void)address; }
void __tsan_vptr_update(void **address, void *value) {
    (void)value;
    wrote(address);
}
void __tsan_read_range(void *address, size_t size) { (void)address, (void)size; }
void __tsan_write_range(void *address, size_t size) { wrote_range(address, size); }

void *__tsan_memset(void *to, int value, size_t size) {
    wrote_range(to, size);
    return memset(to, value, size);
}
void *__tsan_memcpy(void *to, const void *from, size_t size) {
    wrote_range(to, size);
    return memcpy(to, from, size);
}
void *__tsan_memmove(void *to, const void *from, size_t size) {
    wrote_range(to, size);
    return memmove(to, from, size);
}

#define PLAIN(size) \
    void __tsan_read##size(void *address) { (void)address; } \
    void __tsan_unaligned_read##size(void *address) { (void)address; } \
    void __tsan_volatile_read##size(void *address) { (void)address; } \
    void __tsan_unaligned_volatile_read##size(void *address) { (void)address; } \
    void __tsan_write##size(void *address) { wrote(address); } \
    void __tsan_unaligned_write##size(void *address) { wrote(address); } \
    void __tsan_volatile_write##size(void *address) { wrote(address); } \
    void __tsan_unaligned_volatile_write##size(void *address) { wrote(address); } \
    void __tsan_read_write##size(void *address) { wrote(address); } \
    void __tsan_unaligned_read_write##size(void *address) { wrote(address); }
PLAIN(1) PLAIN(2) PLAIN(4) PLAIN(8) PLAIN(16)

// The order asked for may be weaker than this; on x86-64 the instruction is the same.
#define UPDATE(bits, type, name, operation) \
    type __tsan_atomic##bits##_##name(volatile type *address, type value, int order) { \
        (void)order; \
        wrote_atomically(address); \
        return operation(address, value, __ATOMIC_SEQ_CST); \
    }
#define ATOMIC(bits, type) \
    type __tsan_atomic##bits##_load(const volatile type *address, int order) { \
        (void)order; \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST); \
    } \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order) { \
        (void)order; \
        wrote_atomically(address); \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST); \
    } \
    type __tsan_atomic##bits##_compare_exchange_val( \
        volatile type *address, type expected, type wanted, int order, int failure) { \
        (void)order, (void)failure; \
        wrote_atomically(address); \
        if (!__atomic_compare_exchange_n(address, &expected, wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) \
            && shared_writes_counts()) { \
            shared_writes_add(SHARED_WRITES_FAILED); \
        } \
        return expected; \
    } \
    UPDATE(bits, type, exchange, __atomic_exchange_n) \
    UPDATE(bits, type, fetch_add, __atomic_fetch_add) \
    UPDATE(bits, type, fetch_sub, __atomic_fetch_sub) \
    UPDATE(bits, type, fetch_and, __atomic_fetch_and) \
    UPDATE(bits, type, fetch_or, __atomic_fetch_or) \
    UPDATE(bits, type, fetch_xor, __atomic_fetch_xor) \
    UPDATE(bits, type, fetch_nand, __atomic_fetch_nand)
ATOMIC(8, uint8_t) ATOMIC(16, uint16_t) ATOMIC(32, uint32_t) ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order) {
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order) { (void)order; }
