/* A limit on wrong tokens, by address: a few at once, then one every
 * ATTEMPT_EVERY_S.
 *
 * Threads: one. Time is given by the caller.
 *
 * Invariants
 *     INV-1. At most ATTEMPT_ADDRESSES_MAX addresses are remembered; the one
 *            whose last failure is the oldest makes room.
 */
#ifndef CLI_CONSOLE_ATTEMPT_LIMIT_H
#define CLI_CONSOLE_ATTEMPT_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"

#define ATTEMPT_ADDRESSES_MAX 1024
#define ATTEMPTS_MAX          8
#define ATTEMPT_EVERY_S       UINT64_C(10)

struct attempt_address {
    uint64_t hash;    /* Of the address; of IPv6, its network of 64 bits. */
    uint64_t clear_s; /* All failures are forgotten then; 0: free. */
};

/* Zeroed: no failures. */
struct attempt_limit {
    struct attempt_address at[ATTEMPT_ADDRESSES_MAX];
};

/* Seconds until @peer ("10.0.0.7:4711", "[::1]:80") may try again; 0: now. */
uint64_t attempt_limit_wait_s(const struct attempt_limit *l,
                              struct slice peer,
                              uint64_t now_s);
/* @peer came with a wrong token. */
void attempt_limit_fail(struct attempt_limit *l,
                        struct slice peer,
                        uint64_t now_s);

#endif /* CLI_CONSOLE_ATTEMPT_LIMIT_H */
