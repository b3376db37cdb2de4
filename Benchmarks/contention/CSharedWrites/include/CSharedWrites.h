/// Counts what threads do to each other, in a build with OCELLI_COUNT (see Package.swift).
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
    /// Those of them that change a reference count.
    SHARED_WRITES_MOVED_COUNTS,
    /// Memory that another thread than the one that frees it had allocated: its allocator's lock is asked for.
    SHARED_WRITES_FOREIGN_FREES,
    /// Locks that were taken when a thread asked for them.
    SHARED_WRITES_TAKEN,
    /// futex calls by Swift's mutexes and tasks; those of pthread's mutexes are inside the C library.
    SHARED_WRITES_FUTEX,
    SHARED_WRITES_KINDS
};

/// Counts the calling thread from now on, or no more.
void shared_writes_count_here(bool counts);
/// Never counts the calling thread with all.
void shared_writes_leave_out(void);
/// Counts all threads but those left out from now on, or no more.
void shared_writes_count_everywhere(bool counts);
/// From now on, or no more, counted threads give way before one in eight of their atomic operations, as if each were
/// interrupted there: so that they meet, however few processors there are.
void shared_writes_give_way(bool gives);
/// What was counted of one kind since the last reset.
uint64_t shared_writes_total(enum shared_writes_kind kind);
/// Forgets what was counted, and not who wrote which line last.
void shared_writes_reset_counts(void);
/// Forgets both; no thread may be counted meanwhile.
void shared_writes_reset(void);
