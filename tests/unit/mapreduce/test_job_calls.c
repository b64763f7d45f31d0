/* Messages between clients and the job master arrive unchanged, and those that
 * are cut or longer than their bounds are refused. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "mapreduce/cluster/job_calls.h"
#include "mapreduce/job.h"
#include "tests/lib/check_main.h"

static struct buf b;

static struct slice said(void)
{
    return buf_slice(&b);
}

/* Every beginning of a message is refused. */
#define EXPECT_CUT(get, what)                                                  \
    for (size_t n = 0; n < b.len; n++)                                         \
    ck_assert_int_eq(get(slice_make(b.data, n), what, NULL), ERR_CORRUPT)

struct ids {
    struct world *world;
    char *id[300];
};

static void make_ids(void *arg)
{
    struct ids *ids = arg;
    for (int i = 0; i < 300; i++) {
        ids->id[i] = mr_make_id(ids->world);
        world_sleep_us(ids->world, 10000);
    }
}

/* Ids of jobs that begin a hundredth of a second apart sort by time. */
START_TEST(test_ids_sort_by_time)
{
    struct ids ids = {sim_world_new(&(struct sim_options){.seed = 7}), {NULL}};
    sim_run(ids.world, make_ids, &ids);
    for (int i = 0; i < 300; i++) {
        ck_assert_uint_eq(strlen(ids.id[i]), strlen("20260101-000000-0001"));
        if (i > 0)
            ck_assert_str_lt(ids.id[i - 1], ids.id[i]);
    }
    for (int i = 0; i < 300; i++)
        mem_free(ids.id[i]);
    world_free(ids.world);
}

END_TEST

/* A submission, with all it says. */
START_TEST(test_submission)
{
    const struct job_submission in = {SLICE_LIT("20260101-000000-0001"),
                                      SLICE_LIT("options"),
                                      -3,
                                      7,
                                      9,
                                      SLICE_LIT("alice")};
    struct job_submission out;
    buf_clear(&b);
    job_submission_put(&in, &b);
    ck_assert_int_eq(job_submission_get(said(), &out, NULL), 0);
    ck_assert(slice_eq(in.id, out.id) && slice_eq(in.options, out.options));
    ck_assert_int_eq(out.priority, -3);
    ck_assert_uint_eq(out.weight, 7);
    ck_assert_uint_eq(out.slots_max, 9);
    ck_assert(slice_eq(out.principal, in.principal));
    EXPECT_CUT(job_submission_get, &out);
    buf_close(&b);
}

END_TEST

/* Questions about a job, and news of it. */
START_TEST(test_news)
{
    const struct job_watch ask = {SLICE_LIT("last"), 12, 34};
    const struct job_news in = {.version = 5,
                                .ended = true,
                                .summary = SLICE_LIT("{}"),
                                .progress = {.phase = MR_PHASE_REDUCE,
                                             .tasks_total = 1,
                                             .tasks_done = 2,
                                             .tasks_running = 3,
                                             .attempts_failed = 4,
                                             .records_skipped = 5,
                                             .records = 6,
                                             .bytes = 7,
                                             .bytes_total = 8,
                                             .elapsed_us = 9}};
    struct job_watch asked;
    struct job_news out;
    buf_clear(&b);
    job_watch_put(&ask, &b);
    ck_assert_int_eq(job_watch_get(said(), &asked, NULL), 0);
    ck_assert(slice_eq(ask.id, asked.id));
    ck_assert_uint_eq(asked.seen, 12);
    ck_assert_uint_eq(asked.wait_us, 34);
    EXPECT_CUT(job_watch_get, &asked);
    buf_clear(&b);
    job_news_put(&in, &b);
    ck_assert_int_eq(job_news_get(said(), &out, NULL), 0);
    ck_assert_uint_eq(out.version, 5);
    ck_assert(out.ended && slice_eq(out.summary, in.summary));
    ck_assert_int_eq(out.progress.phase, MR_PHASE_REDUCE);
    ck_assert_uint_eq(out.progress.tasks_total, 1);
    ck_assert_uint_eq(out.progress.records, 6);
    ck_assert_uint_eq(out.progress.elapsed_us, 9);
    EXPECT_CUT(job_news_get, &out);
    buf_close(&b);
}

END_TEST

/* Lists of jobs and of workers. */
START_TEST(test_lists)
{
    struct slice texts[] = {SLICE_LIT("one"), SLICE_LIT(""), SLICE_LIT("two")};
    const struct job_texts in = {texts, 3};
    struct job_worker k = {.number = 1,
                           .name = SLICE_LIT("n1"),
                           .slots = 2,
                           .used_bytes = 3,
                           .is_silent = true};
    const struct job_workers workers = {&k, 1};
    struct job_texts out;
    struct job_workers them;
    buf_clear(&b);
    job_texts_put(&in, &b);
    ck_assert_int_eq(job_texts_get(said(), &out, NULL), 0);
    ck_assert_uint_eq(out.count, 3);
    ck_assert(slice_eq_str(out.at[2], "two"));
    mem_free(out.at);
    buf_clear(&b);
    job_workers_put(&workers, &b);
    ck_assert_int_eq(job_workers_get(said(), &them, NULL), 0);
    ck_assert_uint_eq(them.count, 1);
    ck_assert(slice_eq_str(them.at[0].name, "n1") && them.at[0].is_silent);
    ck_assert_uint_eq(them.at[0].used_bytes, 3);
    mem_free(them.at);
    buf_close(&b);
}

END_TEST

TEST_MAIN("job_calls",
          test_ids_sort_by_time,
          test_submission,
          test_news,
          test_lists)
