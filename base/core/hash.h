/* Non-cryptographic hashing: XXH3 through libxxhash, inlined.
 *
 * hash64() is stable: its values are stored in Bloom filters and fingerprints.
 */
#ifndef BASE_CORE_HASH_H
#define BASE_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

/* XXH3's 64-bit hash of @len bytes. An attacker who knows @seed can make
 * collisions. */
uint64_t hash64(const void *data, size_t len, uint64_t seed);

static inline uint64_t hash64_slice(struct slice s)
{
    return hash64(s.data, s.len, 0);
}

/* Spread the bits of an integer (SplitMix64's finaliser). */
static inline uint64_t hash_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#endif /* BASE_CORE_HASH_H */
