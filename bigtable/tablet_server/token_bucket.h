/* A rate that must not be exceeded: a bucket of tokens that fills with time,
 * from which what is done takes as many as it cost.
 *
 * Who wants to do something asks whether there is a token left, and pays
 * afterwards, when the cost is known: a bucket may so owe tokens, and nobody
 * gets one until they are paid back. Over any time the bucket so gives at most
 * the rate, a second's worth beforehand, and the last one's cost.
 *
 * Pure: the time is the caller's. Threads: one at a time.
 */
#ifndef BIGTABLE_TABLET_SERVER_TOKEN_BUCKET_H
#define BIGTABLE_TABLET_SERVER_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct token_bucket {
    double rate; /* Tokens a second; 0: no bound. */
    double tokens;
    uint64_t then_ns; /* When there were so many. */
};

/* A full one. */
void token_bucket_init(struct token_bucket *b, double rate, uint64_t now_ns);
/* Another rate from now on: what is owed stays owed. */
void token_bucket_set_rate(struct token_bucket *b,
                           double rate,
                           uint64_t now_ns);
/* Is there a token? If not, *@again_us is after what time there will be. */
bool token_bucket_may(struct token_bucket *b,
                      uint64_t now_ns,
                      uint64_t *again_us);
void token_bucket_pay(struct token_bucket *b, uint64_t cost, uint64_t now_ns);

#endif /* BIGTABLE_TABLET_SERVER_TOKEN_BUCKET_H */
