/* Lists of rates keep their order, refuse what is malformed, and come through a
 * policy; what a policy did not know before is none. */
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "bigtable/wire/policy.h"
#include "bigtable/wire/principal_rates.h"
#include "tests/lib/check_main.h"

static void change(struct buf *rates, const char *name, uint64_t n)
{
    const struct principal_rate r = {slice_str(name), n, 2 * n};
    struct buf out = BUF_INIT;
    ck_assert_int_eq(principal_rates_change(buf_slice(rates), &r, &out, NULL),
                     0);
    ck_assert_int_eq(principal_rates_check(buf_slice(&out), NULL), 0);
    buf_close(rates);
    *rates = out;
}

static bool
find_rate(struct slice rates, const char *name, struct principal_rate *r)
{
    while (principal_rate_get(&rates, r))
        if (slice_eq_str(r->name, name))
            return true;
    return false;
}

/* Drawn changes leave what a map would. */
START_TEST(test_changes)
{
    struct buf rates = BUF_INIT;
    uint64_t want[30] = {0};
    struct principal_rate found;
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        size_t which = rand_below(&r, 30);
        char name[32];
        snprintf(name, sizeof(name), "p%zu", which);
        want[which] = rand_below(&r, 3) * 1000;
        change(&rates, name, want[which]);
        for (size_t k = 0; k < 30; k++) {
            bool is;
            snprintf(name, sizeof(name), "p%zu", k);
            is = find_rate(buf_slice(&rates), name, &found);
            ck_assert(is == (want[k] != 0));
            ck_assert(!is ||
                      (found.ops == want[k] && found.bytes == 2 * want[k]));
        }
    }
    buf_close(&rates);
}

END_TEST

/* A name that is none is refused, and so is one more than there may be. */
START_TEST(test_bounds)
{
    static const char *const names[] = {"", "a b", "a,b", "a\nb", "\x7f"};
    struct buf rates = BUF_INIT, out = BUF_INIT;
    char name[16];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct principal_rate r = {slice_str(names[i]), 1, 1};
        ck_assert_int_eq(principal_rates_change(SLICE_EMPTY, &r, &out, NULL),
                         ERR_INVALID);
    }
    for (int i = 0; i < PRINCIPAL_RATES_MAX; i++) {
        snprintf(name, sizeof(name), "p%05d", i);
        principal_rate_put(&(struct principal_rate){slice_str(name), 1, 1},
                           &rates);
    }
    ck_assert_int_eq(principal_rates_check(buf_slice(&rates), NULL), 0);
    ck_assert_int_eq(
        principal_rates_change(buf_slice(&rates),
                               &(struct principal_rate){SLICE_LIT("q"), 1, 1},
                               &out, NULL),
        ERR_TOOBIG);
    buf_close(&rates);
    buf_close(&out);
}

END_TEST

/* Cut anywhere, out of order, or twice the same: it is no list. */
START_TEST(test_malformed)
{
    struct buf b = BUF_INIT;
    principal_rate_put(&(struct principal_rate){SLICE_LIT("bob"), 500, 1}, &b);
    for (size_t n = 1; n < b.len; n++)
        ck_assert_int_eq(principal_rates_check(slice_make(b.data, n), NULL),
                         ERR_CORRUPT);
    principal_rate_put(&(struct principal_rate){SLICE_LIT("bob"), 500, 1}, &b);
    ck_assert_int_eq(principal_rates_check(buf_slice(&b), NULL), ERR_CORRUPT);
    buf_close(&b);
}

END_TEST

START_TEST(test_policy)
{
    struct buf rates = BUF_INIT, b = BUF_INIT;
    struct table_policy p = {.has_access = false}, q;
    change(&rates, "ann", 7);
    p.rates = buf_slice(&rates);
    table_policy_put(&p, &b);
    ck_assert_int_eq(table_policy_get(buf_slice(&b), &q, NULL), 0);
    ck_assert(slice_eq(p.rates, q.rates));
    buf_close(&rates);
    buf_close(&b);
}

END_TEST

TEST_MAIN("principal rates",
          test_changes,
          test_bounds,
          test_malformed,
          test_policy)
