/* Tablet servers let principals do what the lists of rights say, as they are
 * now, and tables be asked for no more than their quotas. */
#include "base/rpc/roles.h"
#include "bigtable/wire/policy.h"
#include "bigtable/wire/principal_rates.h"
#include "tests/unit/tablet_server/look_ups.h"

static struct rpc_security *bob_security;
static struct cluster_roles *roles;

/* ann, who orders and writes, is the cluster itself; bob is anybody. */
static void run(task_fn scenario)
{
    start_cluster(1);
    server_options.rows = fake_metadata();
    roles = cluster_roles_new(security, NULL);
    bob_security = rpc_security_none("test", "bob");
    server_options.roles = roles;
    sim_cluster_run(cluster, scenario, NULL);
    forget_rows();
    cluster_roles_free(roles);
    rpc_security_free(bob_security);
    free_cluster();
}

/* The server @n as bob calls it. */
static struct node as_bob(const struct node *n)
{
    struct rpc_channel_options o = {.security = bob_security};
    struct node bob = *n;
    bob.channel = rpc_channel_new(n->address, &o);
    return bob;
}

static void put_policy(const char *list, const struct table_policy *p)
{
    struct table_policy whole =
        p ? *p : (struct table_policy){.use = {0, 0, 0}};
    struct buf b = BUF_INIT;
    char path[POLICY_PATH_BYTES];
    whole.has_access = list != NULL;
    whole.access = slice_str(list ? list : "");
    table_policy_put(&whole, &b);
    policy_path(USER_TABLE, path);
    put_file(path, buf_slice(&b));
    buf_close(&b);
}

/* Until the server has heard of it. */
static void settle(void)
{
    world_sleep_us(director, 100000);
}

static int read_one(struct node *n,
                    const char *const *families,
                    size_t count,
                    struct err *err)
{
    const struct quarry_read_options o = {.families = families,
                                          .family_count = count};
    struct read_request r = {.tablet = 5};
    struct buf options = BUF_INIT, body = BUF_INIT, reply = BUF_INIT,
               rows = BUF_INIT;
    int rc;
    read_options_put(&o, &options);
    r.options = buf_slice(&options);
    read_request_put(&r, &body);
    rc = call(n, TABLET_READ, &body, SLICE_EMPTY, &reply, &rows, err);
    buf_close(&options);
    buf_close(&body);
    buf_close(&reply);
    buf_close(&rows);
    return rc;
}

static int get_one(struct node *n, const char *family, struct err *err)
{
    const struct row_lookup l = {.tablet = 5,
                                 .row = SLICE_LIT("b"),
                                 .is_cell = true,
                                 .family = slice_str(family),
                                 .qualifier = SLICE_LIT("v")};
    struct buf value = BUF_INIT;
    int rc = look_up(n, &l, &value, err);
    buf_close(&value);
    return rc;
}

/* Add one to a cell of family t. */
static int increment(struct node *n, struct err *err)
{
    const struct quarry_rmw_rule rule = {.kind = QUARRY_RMW_INCREMENT,
                                         .family = "t",
                                         .qualifier = SLICE_LIT("n"),
                                         .increment = 1};
    struct modify_request r = {
        .tablet = 5, .row = SLICE_LIT("b"), .rule_count = 1, .rules = &rule};
    struct buf body = BUF_INIT, rows = BUF_INIT;
    int rc;
    modify_request_put(&r, &body);
    rc = call(n, TABLET_MODIFY, &body, SLICE_EMPTY, NULL, &rows, err);
    buf_close(&body);
    buf_close(&rows);
    return rc;
}

static int look(struct node *n, uint32_t method, struct err *err)
{
    struct cuts_request r = {.tablet = 5, .parts = 2};
    struct buf body = BUF_INIT, reply = BUF_INIT, keys = BUF_INIT;
    int rc;
    cuts_request_put(&r, &body);
    rc = call(n, method, &body, SLICE_EMPTY, &reply, &keys, err);
    buf_close(&body);
    buf_close(&reply);
    buf_close(&keys);
    return rc;
}

static void load_table(struct node *n)
{
    begin();
    boot(n);
    make_table();
    make_tablet(5, "", "", n, 1);
    OK(order_of(n, TABLET_LOAD, "", err));
    OK(put(n, 5, "b", "1", err));
}

#define DENIED(call, words)                                                    \
    do {                                                                       \
        struct err *err = fresh_err();                                         \
        ck_assert_int_eq((call), ERR_DENIED);                                  \
        ck_assert_msg(strstr(err->text, words) != NULL, "%s", err->text);      \
    } while (0)

/* --- Tests --------------------------------------------------------------- */

/* Without a list all is open; with one everybody has what it gives and nothing
 * else, in each method, and what it says next holds as soon as it is heard of.
 */
static void lists(void *arg)
{
    static const char *const t[] = {"t"};
    struct node *a = &nodes[0];
    struct node bob;
    (void)arg;
    load_table(a);
    bob = as_bob(a);
    OK(put(&bob, 5, "c", "1", err));
    OK(read_one(&bob, NULL, 0, err));
    put_policy("t read bob", NULL);
    settle();
    OK(get_one(&bob, "t", err));
    OK(read_one(&bob, t, 1, err));
    OK(look(&bob, TABLET_DESCRIBE, err));
    OK(look(&bob, TABLET_CUTS, err));
    DENIED(get_one(&bob, "u", err),
           "\"bob\" may not read family \"u\" of table "
           "\"users\": not a reader");
    DENIED(read_one(&bob, NULL, 0, err), "family \"u\"");
    DENIED(put(&bob, 5, "d", "1", err), "may not write family \"t\"");
    DENIED(increment(&bob, err), "may not write family \"t\"");
    OK(increment(a, err));
    OK(read_one(a, NULL, 0, err));

    put_policy("* write bob", NULL);
    settle();
    OK(put(&bob, 5, "d", "1", err));
    DENIED(read_one(&bob, t, 1, err), "may not read family \"t\"");
    DENIED(increment(&bob, err), "may not read family \"t\"");
    put_policy("", NULL);
    settle();
    DENIED(put(&bob, 5, "e", "1", err), "not a writer");
    DENIED(look(&bob, TABLET_DESCRIBE, err), "may not read table \"users\"");
    DENIED(look(&bob, TABLET_CUTS, err), "may not read table \"users\"");
    put_policy(NULL, NULL);
    settle();
    OK(put(&bob, 5, "e", "1", err));
    rpc_channel_free(bob.channel);
    end();
}

START_TEST(test_lists)
{
    run(lists);
}

END_TEST

/* A table over its quota of size takes nothing in, and says which family has
 * most; what takes away is let through. */
static void sizes(void *arg)
{
    struct table_policy p = {.quota = {.stored_bytes = 10},
                             .use = {1, 30, 0},
                             .stored_is_over = true};
    struct change_list l = {BUF_INIT, 0};
    struct quarry_mutation m;
    struct row_change c = {.tablet = 5, .row = SLICE_LIT("b")};
    struct node *a = &nodes[0];
    (void)arg;
    load_table(a);
    OK(order(a, TABLET_FLUSH, 5, 1, SLICE_EMPTY, SLICE_EMPTY, err));
    put_policy(NULL, &p);
    settle();
    ck_assert_int_eq(put(a, 5, "c", "1", fresh_err()), ERR_EXHAUSTED);
    ck_assert_str_eq(
        test_err.text,
        "table \"users\" is over its quota of stored, 10 B: it has "
        "30 B, most in family \"t\"");
    ck_assert_int_eq(increment(a, NULL), ERR_EXHAUSTED);
    mutation_init(&m, c.row);
    mutation_delete_row(&m);
    c.ops = buf_slice(&m.ops);
    c.count = 1;
    row_change_put(&c, &l.bytes);
    l.count = 1;
    OK(apply(a, &l, err));
    mutation_close(&m);
    p.stored_is_over = false;
    put_policy(NULL, &p);
    settle();
    OK(put(a, 5, "c", "1", err));
    end();
}

START_TEST(test_sizes)
{
    run(sizes);
}

END_TEST

/* A table with rates gives as many rows a second as they say, and tells others
 * when to come again; a tablet of two gives half, or the share that its server
 * was given. */
static void rates(void *arg)
{
    struct table_policy p = {.quota = {.reads_per_s = 10}, .use = {1, 0, 0}};
    struct node *a = &nodes[0];
    struct buf shares = BUF_INIT;
    static const unsigned given[] = {100, 50, 80};
    (void)arg;
    load_table(a);
    for (unsigned i = 0; i < ARRAY_LEN(given); i++) {
        uint64_t end_ns;
        unsigned served = 0;
        p.use.tablets = i + 1;
        if (i == 2) {
            table_share_put(a->number + 1, SHARE_WHOLE / 5, &shares);
            table_share_put(a->number, SHARE_WHOLE / 5 * 4, &shares);
            p.shares = buf_slice(&shares);
        }
        put_policy(NULL, &p);
        settle();
        end_ns = world_mono_ns(director) + UINT64_C(10) * 1000000000;
        while (world_mono_ns(director) < end_ns) {
            int rc = get_one(a, "t", fresh_err());
            if (rc == 0)
                served++;
            else
                ck_assert_int_eq(test_err.detail, ERR_DETAIL_RATE);
            world_sleep_us(director, 20000);
        }
        ck_assert_uint_ge(served, given[i] * 95 / 100);
        ck_assert_uint_le(served, given[i] * 112 / 100);
        ck_assert_uint_gt(test_err.retry_us, 0);
    }
    /* Writes have no rate. */
    for (int i = 0; i < 100; i++)
        OK(put(a, 5, "b", "1", err));
    buf_close(&shares);
    end();
}

START_TEST(test_rates)
{
    run(rates);
}

END_TEST

static void put_rate(const char *name, uint64_t ops)
{
    const struct principal_rate r = {slice_str(name), ops, 0};
    struct table_policy p = {.has_access = false};
    struct buf rates = BUF_INIT, b = BUF_INIT;
    char path[POLICY_PATH_BYTES];
    if (principal_rates_change(SLICE_EMPTY, &r, &rates, NULL))
        ck_abort();
    p.rates = buf_slice(&rates);
    table_policy_put(&p, &b);
    policy_path(0, path);
    put_file(path, buf_slice(&b));
    buf_close(&rates);
    buf_close(&b);
}

/* Calls of @n in ten seconds that are answered; all others are told when to
 * come again. */
static unsigned answered(struct node *n)
{
    uint64_t end_ns = world_mono_ns(director) + UINT64_C(10) * 1000000000;
    unsigned count = 0;
    while (world_mono_ns(director) < end_ns) {
        int rc = get_one(n, "t", fresh_err());
        if (rc == 0)
            count++;
        else
            ck_assert_int_eq(test_err.detail, ERR_DETAIL_RATE);
        world_sleep_us(director, 20000);
    }
    return count;
}

/* A principal with a rate gets its rows a second, of any table; nobody
 * else is slowed, and a moment after it is taken away nobody is. */
static void principals(void *arg)
{
    struct node *a = &nodes[0];
    struct node bob;
    unsigned n;
    (void)arg;
    load_table(a);
    bob = as_bob(a);
    OK(get_one(&bob, "t", err));
    put_rate("bob", 10);
    settle();
    n = answered(&bob);
    ck_assert_uint_ge(n, 95);
    ck_assert_uint_le(n, 112);
    for (int i = 0; i < 200; i++)
        OK(get_one(a, "t", err));
    for (int i = 0; i < 100 && get_one(&bob, "t", fresh_err()) == 0; i++)
        continue;
    ck_assert_ptr_nonnull(strstr(test_err.text, "\"bob\" is over its rate"));
    ck_assert_int_eq(increment(&bob, fresh_err()), ERR_EXHAUSTED);
    put_rate("bob", 0);
    settle();
    for (int i = 0; i < 200; i++)
        OK(get_one(&bob, "t", err));
    rpc_channel_free(bob.channel);
    end();
}

START_TEST(test_principals)
{
    run(principals);
}

END_TEST

TEST_MAIN("tablet_server access",
          test_lists,
          test_sizes,
          test_rates,
          test_principals)
