/* Rights and quotas are read as they were written; refusals by rate say when
 * to try again, and others are not taken for one; roles are known by name. */
#include <string.h>

#include "base/core/rand.h"
#include "base/rpc/roles.h"
#include "base/rpc/security.h"
#include "bigtable/wire/policy.h"
#include "tests/lib/check_main.h"

static struct quarry_quota drawn_quota(struct rand_gen *r)
{
    struct quarry_quota q = {.stored_bytes = 0};
    for (size_t i = 0; i < QUOTA_COUNT; i++)
        *quota_field(&q, i) = rand_u64(r) >> rand_below(r, 64);
    return q;
}

static bool is_same(struct quarry_quota *a, struct quarry_quota *b)
{
    for (size_t i = 0; i < QUOTA_COUNT; i++)
        if (*quota_field(a, i) != *quota_field(b, i))
            return false;
    return true;
}

/* A policy, with its list or without, and nothing at all for an open table. */
START_TEST(test_policy_round_trip)
{
    struct rand_gen r;
    struct table_policy p, q;
    struct buf b = BUF_INIT;
    struct buf shares = BUF_INIT;
    uint32_t part;
    rand_init(&r, test_seed());
    ck_assert_int_eq(table_policy_get(SLICE_EMPTY, &q, NULL), 0);
    ck_assert(!q.has_access && quota_is_none(&q.quota));
    for (int i = 0; i < 1000; i++) {
        p = (struct table_policy){
            .has_access = rand_one_in(&r, 2),
            .quota = drawn_quota(&r),
            .use = {rand_below(&r, 10), rand_u64(&r), rand_u64(&r)},
            .stored_is_over = rand_one_in(&r, 2),
            .memory_is_over = rand_one_in(&r, 2)};
        if (p.has_access && rand_one_in(&r, 2))
            p.access = SLICE_LIT("* own ann\n");
        buf_clear(&shares);
        for (uint64_t n = 1, count = rand_below(&r, 3); n <= count; n++)
            table_share_put(n, (uint32_t)n * 1000, &shares);
        p.shares = buf_slice(&shares);
        buf_clear(&b);
        table_policy_put(&p, &b);
        ck_assert_int_eq(table_policy_get(buf_slice(&b), &q, NULL), 0);
        ck_assert(p.has_access == q.has_access &&
                  slice_eq(p.access, q.access) && is_same(&p.quota, &q.quota) &&
                  p.use.tablets == q.use.tablets &&
                  p.use.stored_bytes == q.use.stored_bytes &&
                  p.use.memory_bytes == q.use.memory_bytes &&
                  p.stored_is_over == q.stored_is_over &&
                  p.memory_is_over == q.memory_is_over &&
                  slice_eq(p.shares, q.shares));
        for (uint64_t n = 1; n < 4; n++)
            ck_assert(table_policy_share(&q, n, &part) ==
                          (n * 16 <= shares.len) &&
                      (n * 16 > shares.len || part == n * 1000));
        ck_assert_int_eq(
            table_policy_get(slice_sub(buf_slice(&b), 0, b.len - 1), &q, NULL),
            ERR_CORRUPT);
    }
    buf_close(&b);
    buf_close(&shares);
}

END_TEST

/* The calls; a kind of change that there is not is refused. */
START_TEST(test_calls_round_trip)
{
    struct rand_gen r;
    struct buf b = BUF_INIT;
    struct policy_order o = {SLICE_LIT("web")}, o2;
    rand_init(&r, test_seed());
    policy_order_put(&o, &b);
    ck_assert_int_eq(policy_order_get(buf_slice(&b), &o2, NULL), 0);
    ck_assert(slice_eq(o.table, o2.table));
    for (unsigned kind = 0; kind < 8; kind++) {
        struct policy_change d, c = {.table = SLICE_LIT("web"),
                                     .kind = (enum policy_change_kind)kind,
                                     .family = SLICE_LIT("f"),
                                     .right = SLICE_LIT("read"),
                                     .principals = SLICE_LIT("ann,bob"),
                                     .access = SLICE_LIT("* own x"),
                                     .quota = drawn_quota(&r)};
        int rc;
        buf_clear(&b);
        policy_change_put(&c, &b);
        rc = policy_change_get(buf_slice(&b), &d, NULL);
        ck_assert_int_eq(
            rc, kind >= POLICY_GRANT && kind <= POLICY_ROLE ? 0 : ERR_CORRUPT);
        if (rc)
            continue;
        ck_assert(slice_eq(c.table, d.table) && c.kind == d.kind &&
                  slice_eq(c.family, d.family) && slice_eq(c.right, d.right) &&
                  slice_eq(c.principals, d.principals) &&
                  slice_eq(c.access, d.access) && is_same(&c.quota, &d.quota));
    }
    buf_close(&b);
}

END_TEST

/* A refusal by rate carries its time, at least one millisecond and at most a
 * minute; no other refusal does. */
START_TEST(test_refusals)
{
    struct err err = ERR_INIT;
    ck_assert_int_eq(rate_refuse(SLICE_LIT("web"), 2, 500, 119500, &err),
                     ERR_EXHAUSTED);
    ck_assert_str_eq(err.text, "table \"web\" is over its quota of reads, "
                               "500/s; again in 120 ms");
    ck_assert_int_eq(err.detail, ERR_DETAIL_RATE);
    ck_assert_uint_eq(err.retry_us, 120000);
    rate_refuse(SLICE_LIT("web"), 2, 500, UINT64_MAX / 2, &err);
    ck_assert_uint_eq(err.retry_us, 60000000);
    rate_refuse(SLICE_LIT("web"), 2, 500, 0, &err);
    ck_assert_uint_eq(err.retry_us, 1000);
    size_refuse(SLICE_LIT("web"), 0, 1 << 20, 3 << 20, SLICE_LIT("page"), &err);
    ck_assert_str_eq(err.text,
                     "table \"web\" is over its quota of stored, 1 MiB: it has "
                     "3 MiB, most in family \"page\"");
    ck_assert_int_eq(err.detail, ERR_DETAIL_NONE);
    ck_assert_uint_eq(err.retry_us, 0);
}

END_TEST

/* The cluster is who has this process's name, or one that was told; where names
 * are not proved, its own name is anybody's, and all may give orders. */
START_TEST(test_roles)
{
    struct rpc_security *s = rpc_security_none("blue", "n1");
    struct cluster_roles *r = cluster_roles_new(s, " n2, n3,,n1");
    struct buf b = BUF_INIT;
    ck_assert(!cluster_roles_has(r, SLICE_LIT("blue")));
    ck_assert(cluster_roles_has(r, SLICE_LIT("n1")));
    ck_assert(cluster_roles_has(r, SLICE_LIT("n3")));
    ck_assert(cluster_roles_has(r, SLICE_EMPTY));
    ck_assert(!cluster_roles_has(r, SLICE_LIT("ann")));
    ck_assert(!cluster_roles_are_proved(r));
    ck_assert(cluster_roles_may_order(r, SLICE_LIT("ann")));
    ck_assert(cluster_roles_has(NULL, SLICE_LIT("ann")));
    cluster_roles_put(r, &b);
    ck_assert_str_eq(buf_cstr(&b), "n1\nn2\nn3\n");
    buf_close(&b);
    cluster_roles_free(r);
    rpc_security_free(s);
}

END_TEST

TEST_MAIN("policy",
          test_policy_round_trip,
          test_calls_round_trip,
          test_refusals,
          test_roles)
