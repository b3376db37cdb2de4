// The functions of one algorithm are deprecated in favour of EVP, which fetches providers, reads a configuration file and brings
// most of the library into the program.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "CSHA256.h"

#include <openssl/sha.h>

_Static_assert(sizeof(SHA256_CTX) == sizeof(struct csha256), "libcrypto's state has another size");
_Static_assert(sizeof(SHA_CTX) == sizeof(struct csha1), "libcrypto's state has another size");

struct csha256 csha256_begin(void) {
    struct csha256 state;
    SHA256_Init((SHA256_CTX *)&state);
    return state;
}

void csha256_update(struct csha256 *state, const void *bytes, size_t count) {
    if (count > 0) SHA256_Update((SHA256_CTX *)state, bytes, count);
}

void csha256_finish(struct csha256 *state, uint8_t *digest) { SHA256_Final(digest, (SHA256_CTX *)state); }

struct csha1 csha1_begin(void) {
    struct csha1 state;
    SHA1_Init((SHA_CTX *)&state);
    return state;
}

void csha1_update(struct csha1 *state, const void *bytes, size_t count) {
    if (count > 0) SHA1_Update((SHA_CTX *)state, bytes, count);
}

void csha1_finish(struct csha1 *state, uint8_t *digest) { SHA1_Final(digest, (SHA_CTX *)state); }
