/// Counts the interference of threads, in a build with OCELLI_COUNT (see Package.swift).
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum shared_writes_kind {
    /// Atomic operations that write; compare-exchanges count, whether they fail or not.
    SHARED_WRITES_ATOMIC,
    /// Compare-exchanges that found another value.
    SHARED_WRITES_FAILED,
    /// Writes, atomic or not, to a line of 64 bytes that another thread wrote last.
    SHARED_WRITES_MOVED,
    /// The writes among them that change a reference count.
    SHARED_WRITES_MOVED_COUNTS,
    /// Frees of memory allocated by another thread, which take the lock of its allocator.
    SHARED_WRITES_FOREIGN_FREES,
    /// Locks that were taken when a thread asked for them.
    SHARED_WRITES_TAKEN,
    /// futex calls by Swift's mutexes and tasks; those of pthread's mutexes are inside the C library.
    SHARED_WRITES_FUTEX,
    SHARED_WRITES_KINDS
};

/// Starts or stops counting the calling thread.
void shared_writes_count_here(bool counts);
/// Excludes the calling thread from counting all threads.
void shared_writes_leave_out(void);
/// Starts or stops counting all threads except excluded ones.
void shared_writes_count_everywhere(bool counts);
/// From now on, or no more, counted threads give way before one in eight of their atomic operations, as if each were
/// interrupted there: so that they meet, however few processors there are.
void shared_writes_give_way(bool gives);
/// The count of one kind since the last reset.
uint64_t shared_writes_total(enum shared_writes_kind kind);
/// Resets the counts, but keeps the last writer of each line.
void shared_writes_reset_counts(void);
/// Resets counts and last writers; no thread may be counted meanwhile.
void shared_writes_reset(void);
