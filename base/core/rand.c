/* xoshiro256** by Blackman and Vigna, seeded through SplitMix64, so that
 * similar seeds give unrelated sequences. Own code, because the sequence of
 * a seed must never change: the simulator's failures are reported by seed. */
#include "base/core/rand.h"

#include "base/core/hash.h"
#include "base/core/panic.h"

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void rand_init(struct rand_gen *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        r->s[i] = hash_mix(seed);
    }
}

uint64_t rand_u64(struct rand_gen *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rand_below(struct rand_gen *r, uint64_t bound)
{
    __extension__ typedef unsigned __int128 u128;
    uint64_t x = rand_u64(r);
    u128 m;
    PRE(bound > 0);
    m = (u128)x * bound;
    if ((uint64_t)m < bound) {
        uint64_t floor = (0 - bound) % bound;
        while ((uint64_t)m < floor) {
            x = rand_u64(r);
            m = (u128)x * bound;
        }
    }
    return (uint64_t)(m >> 64);
}

double rand_double(struct rand_gen *r)
{
    return (double)(rand_u64(r) >> 11) * 0x1.0p-53;
}

bool rand_one_in(struct rand_gen *r, uint64_t n)
{
    PRE(n > 0);
    return rand_below(r, n) == 0;
}
