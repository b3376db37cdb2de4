// Between the files of this target.
#pragma once
#include "CSharedWrites.h"
#include <stdatomic.h>

/// True if the calling thread is counted.
bool shared_writes_counts(void);
/// To be called before each atomic operation that writes: counts it, and may give way to other threads.
void shared_writes_before_atomic(void);
/// Counts one of a kind.
void shared_writes_add(enum shared_writes_kind kind);
/// The calling thread writes there. True if another thread wrote that line last.
bool shared_writes_wrote(const void *address);
