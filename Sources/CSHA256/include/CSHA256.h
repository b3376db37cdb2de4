#ifndef CSHA256_H
#define CSHA256_H

#include <stddef.h>
#include <stdint.h>

/// A digest in progress: a value that may be copied. Its words are libcrypto's.
struct csha256 {
    uint32_t words[28];
};

/// Begins a digest.
struct csha256 csha256_begin(void);

/// Adds bytes; `bytes` may be NULL if `count` is 0.
void csha256_update(struct csha256 *state, const void *bytes, size_t count);

/// Writes the 32 bytes of the digest.
void csha256_finish(struct csha256 *state, uint8_t *digest);

/// A digest by SHA-1 in progress, for the names that git gives to files: a value that may be copied.
struct csha1 {
    uint32_t words[24];
};

/// Begins a digest.
struct csha1 csha1_begin(void);

/// Adds bytes; `bytes` may be NULL if `count` is 0.
void csha1_update(struct csha1 *state, const void *bytes, size_t count);

/// Writes the 20 bytes of the digest.
void csha1_finish(struct csha1 *state, uint8_t *digest);

#endif
