/* The language's fingerprints: 64-bit hashes that are the same on every machine
 * and in every version, so they may be stored.
 *
 * fingerprintof(number) mixes its 64 bits; of text, XXH3 of its bytes; of an
 * array or tuple, the fingerprints of its parts put together in order,
 * beginning with fingerprintof(0); of a map, that of its entries regardless of
 * order; of a function, one of its place in the program and of the frame it
 * belongs to, which holds within the program only. The `+` of fingerprints is
 * saw_fingerprint_cat(), so that fingerprintof(a) == fingerprintof(0) +
 * fingerprintof(a[0]) + …
 */
#ifndef SAWZALL_LITE_BUILTINS_FINGERPRINT_H
#define SAWZALL_LITE_BUILTINS_FINGERPRINT_H

#include <stdint.h>

#include "base/core/hash.h"

/* Not commutative: order matters. */
static inline uint64_t saw_fingerprint_cat(uint64_t a, uint64_t b)
{
    return hash_mix(a * UINT64_C(0x9e3779b97f4a7c15) +
                    (b ^ UINT64_C(0xe87b36be6e2e58dc)));
}

/* Of the 64 bits of a number. */
static inline uint64_t saw_fingerprint_word(uint64_t v)
{
    return hash_mix(v + UINT64_C(0x9e3779b97f4a7c15));
}

#endif /* SAWZALL_LITE_BUILTINS_FINGERPRINT_H */
