// Declarations shared by the files of this target.
#pragma once
#include "CSharedWrites.h"
#include <stdatomic.h>

/// True if the calling thread is counted.
bool shared_writes_counts(void);
/// Counts an atomic operation that writes, and may yield to other threads. Call it before the operation.
void shared_writes_before_atomic(void);
/// Counts one event of a kind.
void shared_writes_add(enum shared_writes_kind kind);
/// Records a write of the calling thread. True if another thread wrote that line last.
bool shared_writes_wrote(const void *address);
