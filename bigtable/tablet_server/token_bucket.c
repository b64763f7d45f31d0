/* A bucket of tokens, filled when it is used: by the time since it was filled
 * last. Doubles, because rates below one token per call must add up. */
#include "bigtable/tablet_server/token_bucket.h"

#include "base/core/macros.h"
#include "base/core/panic.h"

#define SECOND_NS 1e9
/* Its capacity, in seconds of its rate. */
#define FULL_SECONDS 1.0
/* The smallest capacity: a rate below one a second still grants a call at a
 * time. */
#define FULL_MIN 1.0
/* Longer waits are not reported. */
#define AGAIN_US_MAX 3.6e9

static double token_bucket_full(const struct token_bucket *b)
{
    return MAX_OF(b->rate * FULL_SECONDS, FULL_MIN);
}

static void token_bucket_check(const struct token_bucket *b)
{
    INVARIANT(b->rate >= 0);                                      /* INV-1 */
    INVARIANT(b->rate <= 0 || b->tokens <= token_bucket_full(b)); /* INV-2 */
}

static void token_bucket_fill(struct token_bucket *b, uint64_t now_ns)
{
    if (now_ns <= b->then_ns)
        return;
    b->tokens += b->rate * ((double)(now_ns - b->then_ns) / SECOND_NS);
    b->tokens = MIN_OF(b->tokens, token_bucket_full(b));
    b->then_ns = now_ns;
    token_bucket_check(b);
}

void token_bucket_init(struct token_bucket *b, double rate, uint64_t now_ns)
{
    PRE(rate >= 0); /* INV-1 */
    *b = (struct token_bucket){.rate = rate, .then_ns = now_ns};
    b->tokens = token_bucket_full(b);
    token_bucket_check(b);
}

void token_bucket_set_rate(struct token_bucket *b, double rate, uint64_t now_ns)
{
    PRE(rate >= 0); /* INV-1 */
    if (b->rate <= 0) {
        token_bucket_init(b, rate, now_ns);
        return;
    }
    token_bucket_fill(b, now_ns);
    INVARIANT(b->then_ns >= now_ns);
    b->rate = rate;
    b->tokens = MIN_OF(b->tokens, token_bucket_full(b));
    token_bucket_check(b);
}

bool token_bucket_may(struct token_bucket *b,
                      uint64_t now_ns,
                      uint64_t *again_us)
{
    double wait;
    *again_us = 0;
    if (b->rate <= 0)
        return true;
    token_bucket_fill(b, now_ns);
    if (b->tokens >= 1)
        return true;
    wait = (1 - b->tokens) / b->rate * 1e6;
    *again_us = (uint64_t)MIN_OF(wait, AGAIN_US_MAX) + 1;
    POST(*again_us > 0);
    return false;
}

void token_bucket_pay(struct token_bucket *b, uint64_t cost, uint64_t now_ns)
{
    if (b->rate <= 0)
        return;
    token_bucket_fill(b, now_ns);
    INVARIANT(b->then_ns >= now_ns);
    b->tokens -= (double)cost;
    token_bucket_check(b);
}
