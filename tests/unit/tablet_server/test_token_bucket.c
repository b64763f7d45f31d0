/* A bucket never gives more than its rate, a second's worth beforehand, and one
 * request that costs more than was there; and it gives that much. */
#include "base/core/rand.h"
#include "bigtable/tablet_server/token_bucket.h"
#include "tests/lib/check_main.h"

#define SECOND UINT64_C(1000000000)

/* Drawn requests at drawn times, with costs up to @most: over the whole time
 * the bound holds, and a caller that waits as long as it is told is let in. */
static void draw(struct rand_gen *r, double rate, uint64_t most)
{
    uint64_t now = rand_u64(r) >> 20;
    uint64_t start = now;
    double paid = 0, last = 0;
    struct token_bucket b;
    token_bucket_init(&b, rate, now);
    for (int i = 0; i < 300; i++) {
        uint64_t again = 0;
        uint64_t cost = rand_below(r, most + 1);
        now += rand_below(r, (uint64_t)(2e9 / rate) + 1);
        if (!token_bucket_may(&b, now, &again)) {
            ck_assert_uint_gt(again, 0);
            if (rand_one_in(r, 2))
                continue;
            now += again * 1000;
            ck_assert(token_bucket_may(&b, now, &again));
        }
        token_bucket_pay(&b, cost, now);
        paid += (double)cost;
        last = (double)cost;
        ck_assert_msg(paid <= rate * ((double)(now - start) / 1e9) +
                                  (rate > 1 ? rate : 1) + last + 1e-3,
                      "paid %f at rate %f after %f s", paid, rate,
                      (double)(now - start) / 1e9);
    }
}

START_TEST(test_never_more)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 200; i++)
        draw(&r, (double)(1 + rand_below(&r, 100000)) / 10,
             1 + rand_below(&r, 1000));
}

END_TEST

/* A caller that asks all the time gets the whole rate. */
START_TEST(test_no_less)
{
    struct token_bucket b;
    uint64_t now = 5, again, got = 0;
    token_bucket_init(&b, 1000, now);
    for (uint64_t end = now + 10 * SECOND; now < end; now += 100000)
        if (token_bucket_may(&b, now, &again)) {
            token_bucket_pay(&b, 1, now);
            got++;
        }
    ck_assert_uint_ge(got, 10990);
    ck_assert_uint_le(got, 11001);
}

END_TEST

/* A debt is waited for, and stays at another rate; no rate is no
 * bound. */
START_TEST(test_debt)
{
    struct token_bucket b;
    uint64_t again;
    token_bucket_init(&b, 100, 0);
    token_bucket_pay(&b, 300, 0);
    ck_assert(!token_bucket_may(&b, 0, &again));
    ck_assert_uint_ge(again, 2000000);
    ck_assert_uint_le(again, 2020000);
    ck_assert(!token_bucket_may(&b, 2 * SECOND, &again));
    ck_assert(token_bucket_may(&b, 2 * SECOND + SECOND / 50, &again));
    token_bucket_pay(&b, 1001, 2 * SECOND + SECOND / 50);
    token_bucket_set_rate(&b, 1000, 2 * SECOND + SECOND / 50);
    ck_assert(!token_bucket_may(&b, 3 * SECOND, &again));
    ck_assert(token_bucket_may(&b, 3 * SECOND + SECOND / 10, &again));
    token_bucket_set_rate(&b, 0, 4 * SECOND);
    token_bucket_pay(&b, 1000000, 4 * SECOND);
    ck_assert(token_bucket_may(&b, 4 * SECOND, &again));
}

END_TEST

TEST_MAIN("token_bucket", test_never_more, test_no_less, test_debt)
