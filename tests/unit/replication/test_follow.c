/* A stream that reads, sends and keeps its place at the same time is one that
 * does so in turns: commits of a row arrive in their order even where the other
 * end keeps no changes and takes the last for the newest, and a run that is
 * stopped anywhere and begins again at the place that it told last misses
 * nothing. The place is never ahead of any sender. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry_replication.h"
#include "bigtable/replication/replication_queue.h"
#include "tests/lib/check_main.h"

enum {
    ROWS = 40,
    RUNS = 25,
    WRITES = 60
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct pair {
    struct world *world;
    struct rand_gen rand;
    struct quarry *here;
    struct quarry_table *table;
    struct buf token;
    unsigned value;
    quarry_flag stop;
    size_t stopped; /* Runs that were, before their end. */
};

static struct quarry *open_store(struct pair *p, const char *target)
{
    const struct quarry_options o = {
        .world = p->world, .background_tasks = 1, .memtable_bytes = 1 << 20};
    struct quarry *q;
    OK(quarry_open(target, &o, &q, &err));
    return q;
}

/* --- a stream ------------------------------------------------------------ */

/* All set the same cell of a row, or delete it: the last one counts. */
static void write_some(struct pair *p)
{
    for (size_t i = 0; i < WRITES; i++) {
        struct quarry_mutation *m;
        char text[16];
        snprintf(text, sizeof(text), "r%02u",
                 (unsigned)rand_below(&p->rand, ROWS));
        m = quarry_mutation_new(slice_str(text));
        snprintf(text, sizeof(text), "%u", p->value++);
        if (rand_one_in(&p->rand, 5))
            quarry_mutation_delete_row(m);
        else
            quarry_mutation_set(m, "f", SLICE_LIT("q"), 1000, slice_str(text));
        OK(quarry_apply(p->table, m, NULL, &err));
        quarry_mutation_free(m);
    }
    if (rand_one_in(&p->rand, 4))
        OK(quarry_flush(p->here, &err));
}

static void stop_soon(void *arg)
{
    struct pair *p = arg;
    world_sleep_us(p->world, rand_below(&p->rand, 4000));
    atomic_store(&p->stop, true);
}

static int
keep_token(void *arg, const struct quarry_replication_place *at, struct err *e)
{
    struct pair *p = arg;
    buf_clear(&p->token);
    buf_append_slice(&p->token, at->token);
    if (!at->last && rand_one_in(&p->rand, 8))
        return err_set(e, ERR_IO, "the place was not kept");
    return 0;
}

static void follow(struct pair *p, bool to_the_end)
{
    const struct quarry_replication_spec spec = {.table = "t",
                                                 .target = "file:/there"};
    const struct quarry_changes_options o = {.token = buf_slice(&p->token),
                                             .since_us = QUARRY_CHANGES_OLDEST,
                                             .batch_bytes =
                                                 1 + rand_below(&p->rand, 400)};
    struct quarry_replication *stream;
    struct quarry_changes *c;
    struct task *task = NULL;
    int rc;
    OK(quarry_replication_open(p->here, &spec, &stream, &err));
    OK(quarry_changes_open(p->table, &o, &c, &err));
    atomic_store(&p->stop, false);
    quarry_replication_cancel(stream, &p->stop);
    if (!to_the_end)
        task = task_start(p->world, "stopper", stop_soon, p);
    rc = quarry_replication_follow(stream, c, !to_the_end, keep_token, p, &err);
    ck_assert_msg(rc == (to_the_end ? 0 : ERR_CANCELLED) || rc == ERR_IO, "%s",
                  err.text);
    p->stopped += rc != 0;
    if (task)
        task_join(task);
    quarry_changes_close(c);
    quarry_replication_close(stream);
}

static void put_rows(struct quarry_table *t, struct buf *out)
{
    const struct quarry_row *row;
    struct quarry_scanner *scan;
    OK(quarry_scan(t, NULL, &scan, &err));
    for (;;) {
        OK(quarry_scanner_next(scan, &row, &err));
        if (!row)
            break;
        for (size_t i = 0; i < row->cell_count; i++)
            buf_printf(out, "%.*s=%.*s\n", SLICE_ARG(row->key),
                       SLICE_ARG(row->cells[i].value));
    }
    quarry_scanner_close(scan);
}

static void expect_equal(struct pair *p)
{
    struct buf here = BUF_INIT;
    struct buf there = BUF_INIT;
    struct quarry_table *t;
    struct quarry *q = open_store(p, "file:/there");
    OK(quarry_table_open(q, "t", &t, &err));
    put_rows(p->table, &here);
    put_rows(t, &there);
    ck_assert_str_eq(buf_cstr(&here), buf_cstr(&there));
    quarry_table_close(t);
    quarry_close(q);
    buf_close(&here);
    buf_close(&there);
}

static void run_pair(void *arg)
{
    struct pair *p = arg;
    const struct quarry_family_spec f = {"f", ""};
    struct quarry *there = open_store(p, "file:/there");
    OK(quarry_table_create(there, "t", &f, 1, NULL, 0, &err));
    quarry_close(there);
    p->here = open_store(p, "file:/here");
    OK(quarry_table_create_with_changes(p->here, "t", &f, 1, NULL, 0, "7d",
                                        &err));
    OK(quarry_table_open(p->here, "t", &p->table, &err));
    for (size_t i = 0; i < RUNS; i++) {
        write_some(p);
        follow(p, rand_one_in(&p->rand, 5));
    }
    follow(p, true);
    expect_equal(p);
    ck_assert_uint_gt(p->stopped, 5); /* Runs do end in their middle. */
    quarry_table_close(p->table);
    quarry_close(p->here);
    buf_close(&p->token);
}

START_TEST(test_order_and_place)
{
    for (uint64_t i = 0; i < 3; i++) {
        struct pair *p = mem_zalloc(1, sizeof(*p));
        printf("seed %llu\n", test_seed() + i);
        fflush(stdout);
        p->world =
            sim_world_new(&(struct sim_options){.seed = test_seed() + i});
        rand_init(&p->rand, test_seed() + i);
        sim_run(p->world, run_pair, p);
        world_free(p->world);
        mem_free(p);
    }
}

END_TEST

/* --- the queue ----------------------------------------------------------- */

/* The place of batch i is the text of i; each has a commit for each sender that
 * @senders has a bit for. */
static void
push_batch(struct replication_queue *q, unsigned i, unsigned senders)
{
    const struct quarry_replication r = {.to_site = 1};
    const struct quarry_origin origin = {.site = 2, .us = 1, .sequence = 1};
    struct replication_slot *slot = replication_queue_reserve(q);
    ck_assert_ptr_nonnull(slot);
    for (unsigned k = 0; k < REPLICATION_SENDERS; k++)
        if (senders >> k & 1) {
            (void)replication_batch_next(&slot->parts[k], &r, SLICE_LIT("r"),
                                         &origin);
            replication_batch_keep(&slot->parts[k]);
        }
    slot->changes = 1;
    buf_printf(&slot->token, "%u", i);
    replication_queue_push(q);
}

/* Random batches, random progress of the senders: what was reached is the last
 * batch that all have passed. */
START_TEST(test_place_is_behind_all)
{
    struct replication_queue *q = mem_zalloc(1, sizeof(*q));
    uint64_t passed[REPLICATION_SENDERS] = {0};
    struct quarry_mutation **list = NULL;
    struct buf token = BUF_INIT;
    struct rand_gen rand;
    uint64_t pushed = 0;
    uint64_t told = 0;
    size_t room = 0;
    rand_init(&rand, test_seed());
    replication_queue_init(q);
    for (size_t step = 0; step < 20000; step++) {
        struct quarry_replication_place at;
        unsigned i = (unsigned)rand_below(&rand, REPLICATION_SENDERS);
        uint64_t lowest;
        uint64_t to;
        size_t count;
        if (rand_one_in(&rand, 3) && q->head < q->tail + REPLICATION_SLOTS) {
            push_batch(q, (unsigned)pushed++, (unsigned)rand_below(&rand, 16));
        } else if (q->next[i] < q->head) {
            ck_assert(replication_queue_take(q, i, &list, &room, &count, &to));
            replication_queue_pass(q, i, to);
        }
        lowest = pushed;
        for (unsigned k = 0; k < REPLICATION_SENDERS; k++) {
            ck_assert_uint_ge(q->next[k], passed[k]);
            passed[k] = q->next[k];
            lowest = MIN_OF(lowest, q->next[k]);
        }
        replication_queue_reached(q, &token, &at);
        told += at.changes;
        ck_assert_uint_eq(told, lowest);
        if (lowest)
            ck_assert_uint_eq(strtoul(buf_cstr(&token), NULL, 10), lowest - 1);
    }
    ck_assert_uint_gt(told, 1000);
    replication_queue_close(q);
    buf_close(&token);
    mem_free(list);
    mem_free(q);
}

END_TEST

TEST_MAIN("follow", test_order_and_place, test_place_is_behind_all)
