/* Seeded pseudo-random numbers (xoshiro256**): the same seed gives the same
 * sequence on every machine. Not for secrets. One thread per generator. */
#ifndef BASE_CORE_RAND_H
#define BASE_CORE_RAND_H

#include <stdbool.h>
#include <stdint.h>

struct rand_gen {
    uint64_t s[4];
};

/* Start the sequence of @seed. Any seed is good, 0 included. */
void rand_init(struct rand_gen *r, uint64_t seed);
/* The next 64 bits of the sequence. */
uint64_t rand_u64(struct rand_gen *r);
/* Uniform in [0, bound); PRE: bound > 0. Lemire's method, without bias. */
uint64_t rand_below(struct rand_gen *r, uint64_t bound);
/* Uniform in [0, 1). */
double rand_double(struct rand_gen *r);
/* True once in @n calls on average. PRE: n > 0. */
bool rand_one_in(struct rand_gen *r, uint64_t n);

#endif /* BASE_CORE_RAND_H */
