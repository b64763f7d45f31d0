/* Histories of transactions of many threads on one directory are snapshot
 * isolated, and serialisable where all transactions are; clients that die at
 * any step included. The checker finds the bugs that are made on purpose. */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/fault.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_txn.h"
#include "tests/clients/txns.h"
#include "tests/lib/append_history.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

enum {
    THREADS = 4,
    ROUNDS = 120
};

static struct err err;
static bool crashes; /* Clients leave transactions as they are. */

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct shared {
    struct world *world;
    struct quarry *quarry;
    struct append_history *history;
    struct mutex lock;
    int64_t now;
    uint64_t appends;
    bool serializable;
    uint64_t lists;
    uint64_t seed;
    uint64_t commits;
    uint64_t conflicts;
    uint64_t others; /* Other errors. */
};

static void lock_history(void *ctx)
{
    mutex_lock(&((struct shared *)ctx)->lock);
}

static void unlock_history(void *ctx)
{
    mutex_unlock(&((struct shared *)ctx)->lock);
}

static int64_t tick(void *ctx)
{
    return ++((struct shared *)ctx)->now;
}

static void run_client(void *arg)
{
    struct shared *s = arg;
    struct rand_gen rand;
    struct err e = ERR_INIT;
    uint64_t others = 0;
    struct txn_client c = {.quarry = s->quarry,
                           .history = s->history,
                           .rand = &rand,
                           .lists = s->lists,
                           .appends = &s->appends,
                           .serializable = s->serializable,
                           .lease_us = 1000,
                           .dies = crashes,
                           .lock = lock_history,
                           .unlock = unlock_history,
                           .clock = tick,
                           .ctx = s};
    mutex_lock(&s->lock);
    rand_init(&rand, s->seed++);
    mutex_unlock(&s->lock);
    if (txn_client_open(&c, &e))
        others++;
    for (int i = 0; i < ROUNDS && c.tables[1]; i++) {
        int rc;
        if (crashes && rand_one_in(&rand, 5))
            fault_arm("txn.crash", 1 + rand_below(&rand, 8), 1);
        rc = txn_client_step(&c, &e);
        others += rc && rc != ERR_CONFLICT;
    }
    txn_client_close(&c);
    mutex_lock(&s->lock);
    s->commits += c.commits;
    s->conflicts += c.conflicts;
    s->others += others;
    mutex_unlock(&s->lock);
}

/* Run all threads, and check. Returns whether the history is good. */
static bool run(bool serializable,
                enum append_level level,
                uint64_t seed,
                struct shared *s,
                struct buf *why)
{
    struct task *tasks[THREADS];
    char target[300];
    bool good;
    *s =
        (struct shared){.serializable = serializable, .lists = 6, .seed = seed};
    err_init(&err);
    mutex_init(&s->lock);
    s->world = world_real_new();
    s->history = append_history_new();
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &s->quarry, &err));
    OK(txn_tables_create(s->quarry, &err));
    for (int i = 0; i < THREADS; i++)
        tasks[i] = task_start(s->world, "client", run_client, s);
    for (int i = 0; i < THREADS; i++)
        task_join(tasks[i]);
    good = append_check(s->history, level, why);
    append_history_free(s->history);
    for (int i = 0; i < 2; i++)
        OK(quarry_table_drop(s->quarry, i ? "b" : "a", &err));
    quarry_close(s->quarry);
    world_free(s->world);
    mutex_close(&s->lock);
    return good;
}

static void expect_good(bool serializable, enum append_level level)
{
    struct buf why = BUF_INIT;
    struct shared s;
    bool good = run(serializable, level, 1, &s, &why);
    ck_assert_msg(good, "%s", buf_cstr(&why));
    ck_assert_uint_eq(s.others, 0);
    ck_assert_uint_gt(s.commits, ROUNDS);
    buf_close(&why);
}

START_TEST(test_snapshots)
{
    expect_good(false, APPEND_SNAPSHOT);
}

END_TEST

START_TEST(test_serializable)
{
    expect_good(true, APPEND_SERIALIZABLE);
}

END_TEST

/* Now and then a client leaves its transaction as it is; the rest resolve it,
 * and its outcome is unknown to the history. */
START_TEST(test_clients_that_die)
{
    struct buf why = BUF_INIT;
    struct shared s;
    bool good;
    crashes = true;
    good = run(false, APPEND_SNAPSHOT, 7, &s, &why);
    crashes = false;
    fault_disarm_all();
    ck_assert_msg(good, "%s", buf_cstr(&why));
    ck_assert_uint_gt(s.commits, ROUNDS / 2);
    buf_close(&why);
}

END_TEST

/* A bug that is made on purpose is found with one of some seeds. */
static void expect_found(const char *bug, bool serializable)
{
    enum append_level level =
        serializable ? APPEND_SERIALIZABLE : APPEND_SNAPSHOT;
    bool found = false;
    for (uint64_t seed = 1; seed <= 10 && !found; seed++) {
        struct buf why = BUF_INIT;
        struct shared s;
        fault_arm(bug, 1, UINT64_MAX);
        found = !run(serializable, level, seed, &s, &why);
        fault_disarm_all();
        buf_close(&why);
    }
    ck_assert_msg(found, "%s was not found", bug);
}

/* Commits that came since the start are not looked for. */
START_TEST(test_bug_newer_commits)
{
    expect_found("txn.skip_newer_commits", false);
}

END_TEST

/* Reads are not looked at again. */
START_TEST(test_bug_no_second_look)
{
    expect_found("txn.skip_second_look", true);
}

END_TEST

TEST_MAIN("txn_histories",
          test_snapshots,
          test_serializable,
          test_clients_that_die,
          test_bug_newer_commits,
          test_bug_no_second_look)
