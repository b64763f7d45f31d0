/* A principal is given no more than its rate of rows and of bytes, others are
 * not slowed by it, and what it owes it owes under a new rate, too. */
#include <string.h>

#include "base/core/buf.h"
#include "base/metrics/metrics.h"
#include "bigtable/tablet_server/principal_buckets.h"
#include "bigtable/wire/principal_rates.h"
#include "tests/lib/check_main.h"

#define SECOND UINT64_C(1000000000)
#define ANN    SLICE_LIT("ann")
#define BOB    SLICE_LIT("bob")

static void set(struct principal_buckets *b,
                struct slice name,
                uint64_t ops,
                uint64_t bytes,
                double share,
                uint64_t now)
{
    const struct principal_rate r = {name, ops, bytes};
    struct buf rates = BUF_INIT;
    ck_assert_int_eq(principal_rates_change(SLICE_EMPTY, &r, &rates, NULL), 0);
    principal_buckets_set(b, buf_slice(&rates), share, now);
    buf_close(&rates);
}

/* How many calls of a row of @bytes each @who makes from @*now for a time,
 * asking a thousand times a second. */
static unsigned calls(struct principal_buckets *b,
                      struct slice who,
                      uint64_t bytes,
                      uint64_t seconds,
                      uint64_t *now)
{
    uint64_t end = *now + seconds * SECOND;
    unsigned made = 0;
    for (; *now < end; *now += SECOND / 1000)
        if (principal_buckets_may(b, who, *now, NULL) == 0) {
            principal_buckets_pay(b, who, 1, bytes, *now);
            made++;
        }
    return made;
}

/* The last one may be due a moment later. */
static void expect_about(unsigned got, unsigned want)
{
    ck_assert_uint_ge(got, want - 1);
    ck_assert_uint_le(got, want + 1);
}

/* A second's worth at once, then the rate; of a server with a part, the part.
 */
START_TEST(test_ops)
{
    struct principal_buckets *b = principal_buckets_new();
    uint64_t now = 7;
    ck_assert(!principal_buckets_any(b));
    set(b, ANN, 100, 0, 1, now);
    ck_assert(principal_buckets_any(b));
    expect_about(calls(b, ANN, 1 << 20, 10, &now), 1100);
    set(b, ANN, 100, 0, 0.25, now);
    expect_about(calls(b, ANN, 0, 10, &now), 250);
    /* Where it was not seen yet it is served, if slowly. */
    set(b, ANN, 100, 0, 0, now);
    expect_about(calls(b, ANN, 0, 10, &now), 10);
    principal_buckets_free(b);
}

END_TEST

/* Bytes count when they are known: what was too much is waited for. */
START_TEST(test_bytes)
{
    struct principal_buckets *b = principal_buckets_new();
    struct err err = ERR_INIT;
    uint64_t now = 7, us = 0;
    set(b, ANN, 0, 1000, 1, now);
    expect_about(calls(b, ANN, 100, 10, &now), 110);
    principal_buckets_pay(b, ANN, 1, 5000, now);
    ck_assert_int_eq(principal_buckets_may(b, ANN, now, &err), ERR_EXHAUSTED);
    ck_assert_ptr_nonnull(
        strstr(err.text, "\"ann\" is over its rate of 1000 bytes a second"));
    ck_assert_int_eq(err.detail, ERR_DETAIL_RATE);
    us = err.retry_us;
    ck_assert_uint_ge(us, 4900000);
    ck_assert_uint_le(us, 5200000);
    now += us * 1000;
    ck_assert_int_eq(principal_buckets_may(b, ANN, now, NULL), 0);
    principal_buckets_free(b);
}

END_TEST

/* Nobody else is bound, whatever one owes; and who is not bound any more is let
 * in at once. */
START_TEST(test_others)
{
    struct principal_buckets *b = principal_buckets_new();
    uint64_t now = 7;
    set(b, ANN, 10, 10, 1, now);
    principal_buckets_pay(b, ANN, 1000, 100000, now);
    ck_assert_uint_eq(calls(b, ANN, 0, 1, &now), 0);
    ck_assert_uint_eq(calls(b, BOB, 1 << 20, 1, &now), 1000);
    set(b, BOB, 5, 0, 1, now);
    ck_assert_uint_eq(calls(b, ANN, 0, 1, &now), 1000);
    principal_buckets_set(b, SLICE_EMPTY, 1, now);
    ck_assert(!principal_buckets_any(b));
    principal_buckets_free(b);
}

END_TEST

/* To set the same rate again forgives nothing. */
START_TEST(test_debt)
{
    struct principal_buckets *b = principal_buckets_new();
    uint64_t now = 7;
    set(b, ANN, 10, 0, 1, now);
    principal_buckets_pay(b, ANN, 110, 0, now);
    set(b, ANN, 10, 0, 1, now);
    ck_assert_uint_eq(calls(b, ANN, 0, 10, &now), 0);
    ck_assert_uint_gt(calls(b, ANN, 0, 2, &now), 0);
    principal_buckets_free(b);
}

END_TEST

/* Each refusal is told, by principal; a change of rates forgets none. */
START_TEST(test_refusals)
{
    struct principal_buckets *b = principal_buckets_new();
    struct metrics *m = metrics_new();
    struct metric_set *out = metric_set_new(m);
    struct buf text = BUF_INIT;
    uint64_t now = 7;
    set(b, ANN, 10, 0, 1, now);
    principal_buckets_pay(b, ANN, 1000, 0, now);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(principal_buckets_may(b, ANN, now, NULL),
                         ERR_EXHAUSTED);
    set(b, ANN, 11, 5, 1, now);
    ck_assert_int_eq(principal_buckets_may(b, ANN, now, NULL), ERR_EXHAUSTED);
    ck_assert_int_eq(principal_buckets_may(b, BOB, now, NULL), 0);
    principal_buckets_gather(b, out);
    metric_set_print(out, METRIC_TEXT_PROMETHEUS, &text);
    ck_assert_ptr_nonnull(strstr(
        buf_cstr(&text),
        "quarry_tablet_principal_refusals_total{principal=\"ann\"} 4\n"));
    ck_assert_ptr_null(strstr(buf_cstr(&text), "bob"));
    buf_close(&text);
    metric_set_free(out);
    metrics_free(m);
    principal_buckets_free(b);
}

END_TEST

TEST_MAIN("principal buckets",
          test_ops,
          test_bytes,
          test_others,
          test_debt,
          test_refusals)
