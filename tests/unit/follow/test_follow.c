/* Followers: each change is dealt with once, whatever ends a run and when: a
 * crash between the effect and the token, a second host, a host that was paused
 * and comes back; pauses, drops and new settings while one runs. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/fault.h"
#include "base/runtime/world.h"
#include "bigtable/follow/follow.h"
#include "bigtable/follow/follower_run.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

static struct err err;
static struct quarry *q;
static struct quarry_table *table;
static struct quarry_table *copy;
static char target[300];

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)
#define FAILS(call, code)                                                      \
    do {                                                                       \
        int fails_rc = (call);                                                 \
        ck_assert_msg(fails_rc == (code), "%s is %s (%s), not %s", #call,      \
                      err_name(fails_rc), err.text, err_name(code));           \
    } while (0)

/* --- a kind: counts the changes of each row in another table ------------- */

/* How a run of the kind behaves. */
static struct {
    _Atomic(bool) plain;    /* Effect and token apart. */
    _Atomic(bool) die_late; /* Fail behind the effect, before the token. */
    _Atomic(bool) fail;     /* Fail at once. */
    _Atomic(bool) hold;     /* Wait before the commit, */
    atomic_int held;        /* and tell that it does. */
    atomic_int runs;
} way;

static int add_one(struct quarry_txn *txn, struct slice row, struct err *e)
{
    struct buf value = BUF_INIT;
    bool found;
    unsigned n = 0;
    int rc =
        quarry_txn_get(txn, copy, row, "f", SLICE_LIT("n"), &value, &found, e);
    if (rc == 0 && found)
        n = (unsigned)(unsigned char)value.data[0];
    buf_clear(&value);
    buf_append_byte(&value, (char)(n + 1));
    if (rc == 0)
        rc = quarry_txn_put(txn, copy, row, "f", SLICE_LIT("n"),
                            buf_slice(&value), e);
    buf_close(&value);
    return rc;
}

static int count_once(struct follower_run *r,
                      struct quarry_changes *c,
                      const struct quarry_change *list,
                      size_t count,
                      struct err *e)
{
    struct quarry_txn *txn;
    int rc = quarry_txn_begin(follower_quarry(r), NULL, &txn, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_one(txn, list[i].row, e);
    if (rc == 0)
        rc = follower_save_in_txn(r, txn, c, e);
    while (rc == 0 && way.hold) {
        way.held = 1;
        world_sleep_us(quarry_world(q), 1000);
    }
    if (rc == 0)
        rc = quarry_txn_commit(txn, NULL, e);
    quarry_txn_close(txn);
    if (rc == 0 && way.die_late)
        rc = err_set(e, ERR_IO, "died behind the commit");
    return rc;
}

static int run_count(struct follower_run *r, struct err *e)
{
    struct quarry_changes *c = NULL;
    const struct quarry_change *list;
    size_t count;
    int rc;
    way.runs++;
    if (way.fail)
        return err_set(e, ERR_IO, "it fails");
    rc = follower_changes_open(r, table, NULL, &c, e);
    while (rc == 0 && !follower_stopped(r)) {
        rc = follower_next(r, c, &list, &count, e);
        if (rc == 0 && count)
            rc = count_once(r, c, list, count, e);
    }
    quarry_changes_close(c);
    return rc;
}

static const struct follower_kind counting = {.name = "count",
                                              .run = run_count};
static const struct follower_kind *const kinds[] = {&counting};

/* --- fixture ------------------------------------------------------------- */

static void start(void)
{
    static const struct quarry_family_spec families[] = {{"f", "versions=1"}};
    err_init(&err);
    memset(&way, 0, sizeof(way));
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &q, &err));
    OK(quarry_table_create_with_changes(q, "t", families, 1, NULL, 0, "7d",
                                        &err));
    OK(quarry_table_create(q, "copy", families, 1, NULL, 0, &err));
    OK(quarry_table_enable_transactions(q, "copy", &err));
    OK(quarry_table_open(q, "t", &table, &err));
    OK(quarry_table_open(q, "copy", &copy, &err));
}

static void finish(void)
{
    fault_disarm_all();
    quarry_table_close(table);
    quarry_table_close(copy);
    quarry_close(q);
}

static void make_one(void)
{
    const struct follower_record r = {.kind = "count",
                                      .name = "one",
                                      .table = "t",
                                      .settings = SLICE_LIT("{}")};
    OK(follower_create(q, &r, &err));
}

static void write_row(const char *row)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    quarry_mutation_set(m, "f", SLICE_LIT("q"), QUARRY_NOW, SLICE_LIT("v"));
    OK(quarry_apply(table, m, NULL, &err));
    quarry_mutation_free(m);
}

static unsigned counted(const char *row)
{
    struct buf value = BUF_INIT;
    bool found;
    unsigned n = 0;
    OK(quarry_get(copy, slice_str(row), "f", SLICE_LIT("n"), &value, &found,
                  &err));
    if (found)
        n = (unsigned)(unsigned char)value.data[0];
    buf_close(&value);
    return n;
}

static void sleep_ms(unsigned ms)
{
    world_sleep_us(quarry_world(q), ms * UINT64_C(1000));
}

static void wait_counted(const char *row, unsigned want)
{
    for (int i = 0; i < 6000 && counted(row) < want; i++)
        sleep_ms(10);
    ck_assert_uint_eq(counted(row), want);
}

static struct follower_info *look(void)
{
    struct follower_info *info;
    OK(follower_get(q, "count", "one", &info, &err));
    return info;
}

static struct follower_host *host(const char *name)
{
    const struct follower_host_options o = {.name = name};
    struct follower_host *h;
    OK(follower_host_open(q, kinds, 1, &o, &h, &err));
    return h;
}

static void wait_running(struct follower_host *h, size_t want)
{
    for (int i = 0; i < 6000 && follower_host_running(h) != want; i++)
        sleep_ms(10);
    ck_assert_uint_eq(follower_host_running(h), want);
}

/* --- records ------------------------------------------------------------- */

/* A record is there once, is listed, and its table is no user's. */
START_TEST(test_records)
{
    const struct follower_record bad = {.kind = "count",
                                        .name = "No Name",
                                        .table = "t",
                                        .settings = SLICE_EMPTY};
    const struct follower_record again = {
        .kind = "count", .name = "one", .table = "t", .settings = SLICE_EMPTY};
    const struct follower_record other = {.kind = "count",
                                          .name = "two",
                                          .table = "copy",
                                          .settings = SLICE_EMPTY};
    struct follower_info *list;
    char **names;
    size_t n;
    start();
    OK(follower_list(q, NULL, &list, &n, &err));
    ck_assert_uint_eq(n, 0);
    follower_infos_free(list, n);
    FAILS(follower_drop(q, "count", "one", &err), ERR_NOTFOUND);
    make_one();
    FAILS(follower_create(q, &again, &err), ERR_EXISTS);
    FAILS(follower_create(q, &bad, &err), ERR_INVALID);
    FAILS(follower_create(q, &other, &err), ERR_UNSUPPORTED);
    ck_assert(strstr(err.hint, "--changes") != NULL);
    OK(follower_list(q, "count", &list, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(list[0].record.table, "t");
    ck_assert(!list[0].running);
    follower_infos_free(list, n);
    OK(follower_list(q, "coun", &list, &n, &err));
    ck_assert_uint_eq(n, 0);
    follower_infos_free(list, n);
    OK(quarry_table_list(q, &names, &n, &err));
    ck_assert_uint_eq(n, 2);
    quarry_names_free(names, n);
    OK(follower_drop(q, "count", "one", &err));
    FAILS(follower_get(q, "count", "one", &list, &err), ERR_NOTFOUND);
    finish();
}

END_TEST

/* --- running ------------------------------------------------------------- */

/* All that was written between the making and the first run is dealt with. */
START_TEST(test_nothing_is_missed)
{
    struct follower_host *h;
    struct follower_info *info;
    start();
    write_row("before");
    make_one();
    write_row("r");
    h = host("a");
    wait_counted("r", 1);
    write_row("r");
    wait_counted("r", 2);
    ck_assert_uint_eq(counted("before"), 0);
    sleep_ms(1500);
    info = look();
    ck_assert(info->running);
    ck_assert_str_eq(info->runner, "a");
    ck_assert_uint_eq(info->changes, 2);
    ck_assert_uint_lt(info->lag_us, 60000000);
    follower_infos_free(info, 1);
    follower_host_close(h);
    write_row("r");
    h = host("b");
    wait_counted("r", 3);
    follower_host_close(h);
    finish();
}

END_TEST

/* A run that dies behind its commit, again and again, counts each change once,
 * and waits longer each time. */
START_TEST(test_dies_behind_the_effect)
{
    struct follower_host *h;
    struct follower_info *info;
    start();
    make_one();
    way.die_late = true;
    h = host("a");
    write_row("r");
    wait_counted("r", 1);
    write_row("r");
    wait_counted("r", 2);
    way.die_late = false;
    write_row("r");
    wait_counted("r", 3);
    sleep_ms(1200);
    info = look();
    ck_assert_uint_ge(info->failures, 2);
    ck_assert_str_eq(info->error, "died behind the commit");
    ck_assert(info->error_us > 0);
    follower_infos_free(info, 1);
    follower_host_close(h);
    ck_assert_uint_eq(counted("r"), 3);
    finish();
}

END_TEST

/* One that fails at once is tried after 1 s and 2 s, not all the time. */
START_TEST(test_back_off)
{
    struct follower_host *h;
    start();
    make_one();
    way.fail = true;
    h = host("a");
    sleep_ms(3500);
    ck_assert_int_ge(way.runs, 2);
    ck_assert_int_le(way.runs, 4);
    follower_host_close(h);
    finish();
}

END_TEST

/* Two hosts: one runs it, and when that ends in order the other does at once;
 * nothing is counted twice. */
START_TEST(test_two_hosts)
{
    struct follower_host *a;
    struct follower_host *b;
    start();
    make_one();
    a = host("a");
    b = host("b");
    write_row("r");
    wait_counted("r", 1);
    ck_assert_uint_eq(follower_host_running(a) + follower_host_running(b), 1);
    if (follower_host_running(a)) {
        follower_host_close(a);
        a = NULL;
        wait_running(b, 1);
    } else {
        follower_host_close(b);
        b = NULL;
        wait_running(a, 1);
    }
    write_row("r");
    wait_counted("r", 2);
    follower_host_close(a);
    follower_host_close(b);
    ck_assert_uint_eq(counted("r"), 2);
    finish();
}

END_TEST

/* A host that was paused in the middle of a transaction, and comes back when
 * another has taken over, writes nothing. */
START_TEST(test_paused_host_writes_nothing)
{
    struct follower_host *a;
    struct follower_run *mine;
    struct follower_row row;
    struct quarry_table *followers;
    struct quarry_changes *c = NULL;
    const struct quarry_change *list;
    struct quarry_txn *txn;
    struct buf value = BUF_INIT;
    uint64_t epoch;
    size_t n;
    bool found;
    start();
    make_one();
    /* The paused host, by hand: it takes the follower, and sleeps just before
     * a commit. */
    OK(quarry_table_open(q, FOLLOWERS_TABLE, &followers, &err));
    OK(follower_row_read(followers, "count/one", &row, &err));
    OK(follower_take(q, followers, "count/one", row.info.record.epoch, "old",
                     &epoch, &err));
    mine = follower_run_new(q, &counting, &row, epoch);
    mine->table = followers;
    mine->quarry = q;
    write_row("r");
    OK(follower_changes_open(mine, table, NULL, &c, &err));
    for (n = 0; n == 0;)
        OK(follower_next(mine, c, &list, &n, &err));
    OK(quarry_txn_begin(q, NULL, &txn, &err));
    OK(add_one(txn, SLICE_LIT("r"), &err));
    OK(follower_save_in_txn(mine, txn, c, &err));
    /* No heartbeat: another host takes it, and does the work. */
    a = host("new");
    wait_counted("r", 1);
    FAILS(quarry_txn_commit(txn, NULL, &err), ERR_CONFLICT);
    quarry_txn_close(txn);
    FAILS(follower_save(mine, c, &err), ERR_CLOSED);
    FAILS(follower_state_put(mine, "k", SLICE_LIT("v"), &err), ERR_CLOSED);
    follower_run_beat(mine, false);
    ck_assert(mine->lost);
    FAILS(follower_next(mine, c, &list, &n, &err), ERR_CLOSED);
    FAILS(follower_state_get(mine, "k", &value, &found, &err), ERR_CLOSED);
    quarry_changes_close(c);
    follower_run_free(mine);
    buf_close(&value);
    ck_assert_uint_eq(counted("r"), 1);
    follower_host_close(a);
    finish();
}

END_TEST

/* --- changing one that runs ---------------------------------------------- */

START_TEST(test_pause_and_resume)
{
    struct follower_host *h;
    start();
    make_one();
    h = host("a");
    write_row("r");
    wait_counted("r", 1);
    OK(follower_pause(q, "count", "one", true, &err));
    wait_running(h, 0);
    write_row("r");
    sleep_ms(1500);
    ck_assert_uint_eq(counted("r"), 1);
    OK(follower_pause(q, "count", "one", false, &err));
    wait_counted("r", 2);
    OK(follower_update(q, "count", "one", SLICE_LIT("{\"x\": 1}"), &err));
    for (int i = 0; i < 3000 && way.runs < 3; i++)
        sleep_ms(10);
    ck_assert_int_ge(way.runs, 3);
    write_row("r");
    wait_counted("r", 3);
    follower_host_close(h);
    finish();
}

END_TEST

/* A follower that is dropped while it runs, and made again, is another one:
 * what the old run has in its hands is not committed. */
START_TEST(test_drop_while_it_runs)
{
    struct follower_host *h;
    struct follower_info *info;
    start();
    make_one();
    h = host("a");
    way.hold = true;
    write_row("r");
    for (int i = 0; i < 3000 && !way.held; i++)
        sleep_ms(10);
    OK(follower_drop(q, "count", "one", &err));
    make_one();
    way.hold = false;
    wait_running(h, 0);
    sleep_ms(300);
    ck_assert_uint_eq(counted("r"), 0);
    write_row("s");
    wait_counted("s", 1);
    ck_assert_uint_eq(counted("r"), 0);
    info = look();
    ck_assert_str_eq(info->runner, "a");
    follower_infos_free(info, 1);
    follower_host_close(h);
    finish();
}

END_TEST

/* State cells are the follower's, and go with it. */
START_TEST(test_state)
{
    struct quarry_table *followers;
    struct follower_row row;
    struct follower_run *r;
    struct follower_info *info;
    struct buf value = BUF_INIT;
    uint64_t epoch;
    bool found;
    start();
    make_one();
    OK(quarry_table_open(q, FOLLOWERS_TABLE, &followers, &err));
    OK(follower_row_read(followers, "count/one", &row, &err));
    OK(follower_take(q, followers, "count/one", row.info.record.epoch, "x",
                     &epoch, &err));
    r = follower_run_new(q, &counting, &row, epoch);
    r->table = followers;
    OK(follower_state_put(r, "phase", SLICE_LIT("copy"), &err));
    OK(follower_state_get(r, "phase", &value, &found, &err));
    ck_assert(found && slice_eq_str(buf_slice(&value), "copy"));
    info = look();
    ck_assert_uint_eq(info->state_count, 1);
    ck_assert(slice_eq_str(info->states[0].key, "phase"));
    follower_infos_free(info, 1);
    OK(follower_state_put(r, "phase", SLICE_EMPTY, &err));
    OK(follower_state_get(r, "phase", &value, &found, &err));
    ck_assert(!found);
    buf_close(&value);
    follower_run_free(r);
    finish();
}

END_TEST

TEST_MAIN("follow",
          test_records,
          test_nothing_is_missed,
          test_dies_behind_the_effect,
          test_back_off,
          test_two_hosts,
          test_paused_host_writes_nothing,
          test_pause_and_resume,
          test_drop_while_it_runs,
          test_state)
