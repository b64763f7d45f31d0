/* A rate that must not be exceeded: a bucket of tokens that fills with time,
 * from which work takes as many as it cost.
 *
 * A caller asks whether there is a token left before it works, and pays when
 * the cost is known: so a bucket may owe tokens, and grants nothing until the
 * debt is paid. Over any time the bucket grants at most the rate, one second's
 * worth in advance, and the cost of the last call.
 *
 * Pure: the caller gives the time. Threads: one at a time.
 *
 * Invariants, kept by token_bucket.c
 *     INV-1. The rate is not negative.
 *     INV-2. A bucket with a rate holds at most one second of it, and at most
 *            one token if that is less. */
#ifndef BIGTABLE_TABLET_SERVER_TOKEN_BUCKET_H
#define BIGTABLE_TABLET_SERVER_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct token_bucket {
    double rate; /* Tokens a second; 0: no bound. */
    double tokens;
    uint64_t then_ns; /* The time at which it held `tokens`. */
};

/* A full bucket. */
void token_bucket_init(struct token_bucket *b, double rate, uint64_t now_ns);
/* Set another rate from now on; debts stay. */
void token_bucket_set_rate(struct token_bucket *b,
                           double rate,
                           uint64_t now_ns);
/* Is there a token? If not, there will be one after *@again_us. */
bool token_bucket_may(struct token_bucket *b,
                      uint64_t now_ns,
                      uint64_t *again_us);
/* Take @cost tokens, which may leave a debt. */
void token_bucket_pay(struct token_bucket *b, uint64_t cost, uint64_t now_ns);

#endif /* BIGTABLE_TABLET_SERVER_TOKEN_BUCKET_H */
