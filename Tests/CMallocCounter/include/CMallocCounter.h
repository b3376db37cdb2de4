#pragma once
#include <stdint.h>

/// Allocations (malloc, calloc, realloc, aligned) of the whole process so far; 0 if they are not counted (under a
/// sanitizer, which brings its own malloc).
uint64_t malloc_counter_allocations(void);
