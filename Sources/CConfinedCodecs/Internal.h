#pragma once
#include "include/CConfinedCodecs.h"

/// Writes a reason, truncated if it is too long. Returns false.
bool ccodec_refuse(struct ccodec_statement *statement, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// A sum of bytes: `of_pixel` for each pixel of the stated size, and `others`. Pixel counts above 2^32 count as 2^32.
uint64_t ccodec_memory(const struct ccodec_statement *statement, uint64_t of_pixel, uint64_t others);
/// Opens the first of these libraries that exists.
void *ccodec_library(const char *const names[]);
/// Looks up functions by name. The arguments are pairs of a name and the address of a pointer, ended by NULL. Returns
/// false if one is missing.
bool ccodec_functions(void *library, ...);

/// Runs the child; never returns. `data` is the only descriptor that stays open.
_Noreturn void ccodec_child(const struct ccodec *codec, const struct ccodec_job *job, int picture, int data);
