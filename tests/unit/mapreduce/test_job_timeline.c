/* The timeline of a job: every attempt is there with its end, within bounds,
 * and says which attempts were slow and which partitions are large. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/job_calls.h"
#include "mapreduce/master/job_timeline.h"
#include "mapreduce/records/files.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

#define SECOND UINT64_C(1000000)

static struct world *world;
static struct job_files files;
static const char *dir;

static void setup(void)
{
    dir = test_tmpdir();
    world = world_real_new();
    files = (struct job_files){.world = world};
}

/* --- Helpers ------------------------------------------------------------- */

static size_t begin(struct job_timeline *t, enum task_kind kind, uint32_t task)
{
    const struct attempt_record a = {
        .part = 1, .kind = kind, .task = task, .attempt = 1};
    return job_timeline_begin(t, &a, task % 2 ? "n1" : "n2");
}

static void end(struct job_timeline *t, size_t index, enum attempt_end state)
{
    const struct attempt_ending e = {.state = state,
                                     .records = 7,
                                     .bytes = 700,
                                     .error = slice_str("it failed"),
                                     .log = slice_str("what it said\n")};
    job_timeline_end(t, index, &e);
}

static void
look(struct job_timeline *t, struct buf *bytes, struct attempt_list *l)
{
    buf_clear(bytes);
    job_timeline_encode(t, bytes);
    ck_assert_int_eq(attempt_list_get(buf_slice(bytes), l, NULL), 0);
}

static void read_back(struct buf *bytes, struct attempt_list *l)
{
    buf_clear(bytes);
    ck_assert_int_eq(job_timeline_read(&files, dir, bytes, NULL), 0);
    ck_assert_int_eq(attempt_list_get(buf_slice(bytes), l, NULL), 0);
}

/* A phase of @count attempts that took @us each. */
static void
fill(struct attempt_record *at, size_t count, enum task_kind kind, uint64_t us)
{
    for (size_t i = 0; i < count; i++)
        at[i] = (struct attempt_record){.part = 1,
                                        .kind = kind,
                                        .task = (uint32_t)i,
                                        .attempt = 1,
                                        .worker = ATTEMPT_WORKER_NONE,
                                        .state = ATTEMPT_END_SUCCEEDED,
                                        .begun_at_us = 100 * SECOND,
                                        .took_us = us,
                                        .records = 10,
                                        .bytes = 100};
}

/* --- Tests --------------------------------------------------------------- */

/* Everything that was entered is read from the file. */
START_TEST(test_attempts_are_read_back)
{
    struct job_timeline *t;
    struct attempt_list l;
    struct buf bytes = BUF_INIT;
    size_t first;
    setup();
    t = job_timeline_new(&files, dir);
    ck_assert_uint_eq(job_timeline_begin_part(t, false), 1);
    first = begin(t, TASK_MAP, 0);
    end(t, begin(t, TASK_MAP, 1), ATTEMPT_END_FAILED);
    (void)begin(t, TASK_REDUCE, 2);
    end(t, first, ATTEMPT_END_SUCCEEDED);
    job_timeline_save(t, true);
    job_timeline_free(t);
    read_back(&bytes, &l);
    ck_assert_uint_eq(l.count, 3);
    ck_assert_uint_eq(l.parts, 1);
    ck_assert_uint_eq(l.dropped, 0);
    ck_assert_int_eq(l.at[0].state, ATTEMPT_END_SUCCEEDED);
    ck_assert_uint_ge(l.at[0].took_us, 1);
    ck_assert_uint_eq(l.at[0].records, 7);
    ck_assert(slice_eq_str(attempt_list_worker(&l, &l.at[0]), "n2"));
    ck_assert_int_eq(l.at[1].state, ATTEMPT_END_FAILED);
    ck_assert(slice_eq_str(l.at[1].error, "it failed"));
    ck_assert(slice_eq_str(attempt_list_worker(&l, &l.at[1]), "n1"));
    ck_assert(l.at[1].has_log);
    ck_assert(!l.at[0].has_log);
    ck_assert_int_eq(l.at[2].state, ATTEMPT_END_RUNNING);
    ck_assert_int_eq(l.at[2].kind, TASK_REDUCE);
    attempt_list_close(&l);
    buf_close(&bytes);
    world_free(world);
}

END_TEST

/* A process that resumes the job continues the timeline: what ran is lost. */
START_TEST(test_another_process_continues)
{
    struct job_timeline *t;
    struct attempt_list l;
    struct buf bytes = BUF_INIT;
    setup();
    t = job_timeline_new(&files, dir);
    (void)job_timeline_begin_part(t, false);
    (void)begin(t, TASK_MAP, 0);
    end(t, begin(t, TASK_MAP, 1), ATTEMPT_END_SUCCEEDED);
    job_timeline_save(t, true);
    job_timeline_free(t);
    t = job_timeline_new(&files, dir);
    ck_assert_int_eq(job_timeline_load(t, NULL), 0);
    ck_assert_uint_eq(job_timeline_begin_part(t, true), 1);
    end(t, begin(t, TASK_MAP, 0), ATTEMPT_END_SUCCEEDED);
    ck_assert_uint_eq(job_timeline_begin_part(t, false), 2);
    look(t, &bytes, &l);
    ck_assert_uint_eq(l.count, 3);
    ck_assert_int_eq(l.at[0].state, ATTEMPT_END_LOST);
    ck_assert_int_eq(l.at[1].state, ATTEMPT_END_SUCCEEDED);
    ck_assert_int_eq(l.at[2].state, ATTEMPT_END_SUCCEEDED);
    ck_assert(slice_eq_str(attempt_list_worker(&l, &l.at[2]), "n2"));
    ck_assert_uint_eq(l.worker_count, 2);
    attempt_list_close(&l);
    buf_close(&bytes);
    job_timeline_free(t);
    world_free(world);
}

END_TEST

/* A damaged file is refused, a missing one is an empty timeline. */
START_TEST(test_a_damaged_file_is_refused)
{
    struct job_timeline *t;
    struct err err = ERR_INIT;
    char path[300];
    FILE *f;
    setup();
    t = job_timeline_new(&files, dir);
    ck_assert_int_eq(job_timeline_load(t, &err), 0);
    (void)job_timeline_begin_part(t, false);
    end(t, begin(t, TASK_MAP, 1), ATTEMPT_END_SUCCEEDED);
    job_timeline_save(t, true);
    job_timeline_free(t);
    snprintf(path, sizeof(path), "%s/timeline", dir);
    f = fopen(path, "r+b");
    ck_assert_int_eq(fseek(f, 9, SEEK_SET), 0);
    ck_assert_int_eq(fputc(0x55, f), 0x55);
    fclose(f);
    t = job_timeline_new(&files, dir);
    ck_assert_int_eq(job_timeline_load(t, &err), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.text, "bad CRC"));
    job_timeline_free(t);
    world_free(world);
}

END_TEST

/* Ten thousand tasks take at most 64 bytes each in the history. Beyond the
 * bound attempts are counted, and reduces still have room. */
START_TEST(test_the_size_is_bounded)
{
    struct job_timeline *t;
    struct attempt_list l;
    struct buf bytes = BUF_INIT;
    size_t index;
    setup();
    t = job_timeline_new(&files, dir);
    (void)job_timeline_begin_part(t, false);
    for (uint32_t i = 0; i < 10000; i++)
        end(t, begin(t, TASK_MAP, i), ATTEMPT_END_SUCCEEDED);
    job_timeline_save(t, true);
    read_back(&bytes, &l);
    ck_assert_uint_eq(l.count, 10000);
    ck_assert_uint_le(bytes.len, 10000 * 64);
    attempt_list_close(&l);
    for (uint32_t i = 10000; i < 2 * ATTEMPT_RECORDS_MAX; i++) {
        index = begin(t, TASK_MAP, i);
        ck_assert(index != TIMELINE_NONE || i >= ATTEMPT_MAPS_MAX);
        end(t, index, ATTEMPT_END_SUCCEEDED);
    }
    for (uint32_t i = 0; i < 4096; i++)
        ck_assert_uint_ne(begin(t, TASK_REDUCE, i), TIMELINE_NONE);
    look(t, &bytes, &l);
    ck_assert_uint_eq(l.count, ATTEMPT_MAPS_MAX + 4096);
    ck_assert_uint_eq(l.dropped, 2 * ATTEMPT_RECORDS_MAX - ATTEMPT_MAPS_MAX);
    attempt_list_close(&l);
    buf_close(&bytes);
    job_timeline_free(t);
    world_free(world);
}

END_TEST

/* The outputs of the first and of the last attempts that failed are kept, the
 * end of each, and no more of them. */
START_TEST(test_logs_are_bounded)
{
    struct job_timeline *t;
    struct attempt_ending e = {.state = ATTEMPT_END_FAILED};
    struct attempt_list l;
    struct buf log = BUF_INIT;
    struct buf bytes = BUF_INIT;
    size_t kept = 0;
    setup();
    t = job_timeline_new(&files, dir);
    (void)job_timeline_begin_part(t, false);
    for (uint32_t i = 0; i < 3 * TIMELINE_LOGS_MAX; i++) {
        buf_clear(&log);
        while (log.len < TIMELINE_LOG_BYTES_MAX + 100)
            buf_printf(&log, "attempt %u\n", i);
        e.log = buf_slice(&log);
        job_timeline_end(t, begin(t, TASK_MAP, i), &e);
    }
    look(t, &bytes, &l);
    for (uint32_t i = 0; i < l.count; i++) {
        bool first = i < TIMELINE_LOGS_MAX / 2;
        bool last = i >= l.count - TIMELINE_LOGS_MAX / 2;
        int rc;
        buf_clear(&log);
        rc = job_timeline_read_log(&files, dir, &l.at[i], &log, NULL);
        ck_assert_int_eq(rc, first || last ? 0 : ERR_NOTFOUND);
        ck_assert_int_eq(l.at[i].has_log, first || last);
        kept += rc == 0;
        if (rc == 0) {
            char line[32];
            int n = snprintf(line, sizeof(line), "attempt %u\n", i);
            ck_assert_uint_eq(log.len, TIMELINE_LOG_BYTES_MAX);
            ck_assert_mem_eq(log.data + log.len - (size_t)n, line, (size_t)n);
        }
    }
    ck_assert_uint_eq(kept, TIMELINE_LOGS_MAX);
    attempt_list_close(&l);
    buf_close(&bytes);
    buf_close(&log);
    job_timeline_free(t);
    world_free(world);
}

END_TEST

/* An attempt far beyond the median of its phase is a straggler, also while it
 * runs; one that is slow by less than a second is not, and other phases do not
 * count. */
START_TEST(test_stragglers)
{
    struct attempt_record at[30];
    struct attempt_list l = {.at = at, .count = 12};
    struct straggler slow[STRAGGLERS_MAX];
    setup();
    fill(at, 10, TASK_MAP, 2 * SECOND);
    fill(at + 10, 2, TASK_REDUCE, 60 * SECOND);
    ck_assert_uint_eq(attempt_stragglers(&l, 200 * SECOND, slow), 0);
    at[3].took_us = 9 * SECOND;
    at[5].state = ATTEMPT_END_RUNNING;
    at[5].took_us = 0;
    ck_assert_uint_eq(attempt_stragglers(&l, 104 * SECOND, slow), 1);
    ck_assert_uint_eq(attempt_stragglers(&l, 200 * SECOND, slow), 2);
    ck_assert_uint_eq(slow[0].index, 5);
    ck_assert_uint_eq(slow[0].took_us, 100 * SECOND);
    ck_assert_uint_eq(slow[0].median_us, 2 * SECOND);
    ck_assert_uint_eq(slow[1].index, 3);
    /* Short ones: five times the median, and 0.4 s. */
    fill(at, 10, TASK_MAP, SECOND / 10);
    at[3].took_us = SECOND / 2;
    ck_assert_uint_eq(attempt_stragglers(&l, 200 * SECOND, slow), 0);
    /* More than there is room for: the slowest. */
    fill(at, 30, TASK_MAP, SECOND);
    for (size_t i = 0; i < 25; i++) {
        at[i].state = ATTEMPT_END_FAILED;
        at[i].took_us = (10 + i) * SECOND;
    }
    l.count = 30;
    ck_assert_uint_eq(attempt_stragglers(&l, 200 * SECOND, slow),
                      STRAGGLERS_MAX);
    ck_assert_uint_eq(slow[0].index, 24);
    ck_assert_uint_eq(slow[STRAGGLERS_MAX - 1].index, 5);
    world_free(world);
}

END_TEST

/* Partitions have the figures of the attempt that succeeded; the largest are
 * kept where there are too many. */
START_TEST(test_partitions)
{
    struct attempt_record at[20];
    struct attempt_list l = {.at = at, .count = 20};
    struct partition_digest d;
    setup();
    fill(at, 20, TASK_REDUCE, SECOND);
    at[4].records = 5000;
    at[4].bytes = 50000;
    at[19].task = 7; /* A second attempt, which runs. */
    at[19].state = ATTEMPT_END_RUNNING;
    at[19].records = 3;
    at[19].total = 10;
    attempt_partitions(&l, PARTITIONS_MAX, &d);
    ck_assert_uint_eq(d.total, 19);
    ck_assert_uint_eq(d.count, 19);
    ck_assert_uint_eq(d.median_records, 10);
    ck_assert_uint_eq(d.max_records, 5000);
    ck_assert_uint_eq(d.at[4].index, 4);
    ck_assert_uint_eq(d.at[4].bytes, 50000);
    ck_assert_uint_eq(d.at[7].records, 10);
    ck_assert_uint_eq(d.at[7].bytes, 100);
    mem_free(d.at);
    at[2].records = 100;
    attempt_partitions(&l, 2, &d);
    ck_assert_uint_eq(d.total, 19);
    ck_assert_uint_eq(d.count, 2);
    ck_assert_uint_eq(d.at[0].index, 2);
    ck_assert_uint_eq(d.at[1].index, 4);
    mem_free(d.at);
    world_free(world);
}

END_TEST

/* An answer of the job master has a page of attempts, and stragglers and
 * partitions of all of them; it survives the wire. */
START_TEST(test_answer)
{
    struct slice names[2] = {slice_str("n1"), slice_str("n2")};
    struct attempt_record at[12];
    const struct attempt_list l = {.parts = 1,
                                   .dropped = 5,
                                   .workers = names,
                                   .worker_count = 2,
                                   .at = at,
                                   .count = 12};
    struct job_attempts a = {.id = slice_str("20260101-000000-aaaa"),
                             .now_us = 200 * SECOND};
    struct job_attempts b;
    struct buf bytes = BUF_INIT;
    struct buf wire = BUF_INIT;
    setup();
    fill(at, 10, TASK_MAP, SECOND);
    fill(at + 10, 2, TASK_REDUCE, SECOND);
    at[0].took_us = 30 * SECOND;
    at[0].worker = 1;
    attempt_list_put(&l, &bytes);
    ck_assert_int_eq(job_attempts_digest(buf_slice(&bytes), 9, 2, &a, NULL), 0);
    job_attempts_put(&a, &wire);
    ck_assert_int_eq(job_attempts_get(buf_slice(&wire), &b, NULL), 0);
    ck_assert(slice_eq_str(b.id, "20260101-000000-aaaa"));
    ck_assert_uint_eq(b.total, 12);
    ck_assert_uint_eq(b.list.dropped, 5);
    ck_assert_uint_eq(b.list.count, 2);
    ck_assert_uint_eq(b.list.at[0].task, 9);
    ck_assert_int_eq(b.list.at[1].kind, TASK_REDUCE);
    ck_assert_uint_eq(b.straggler_count, 1);
    ck_assert_uint_eq(b.stragglers[0].took_us, 30 * SECOND);
    ck_assert(slice_eq_str(
        attempt_list_worker(&b.list, &b.stragglers[0].attempt), "n2"));
    ck_assert_uint_eq(b.partitions.count, 2);
    ck_assert_uint_eq(b.partitions.at[1].records, 10);
    for (size_t cut = 0; cut < wire.len; cut++) {
        struct job_attempts c;
        ck_assert_int_eq(job_attempts_get(slice_make(wire.data, cut), &c, NULL),
                         ERR_CORRUPT);
        job_attempts_close(&c);
    }
    job_attempts_close(&a);
    job_attempts_close(&b);
    buf_close(&bytes);
    buf_close(&wire);
    world_free(world);
}

END_TEST

/* A record that names a worker beyond the list is refused. */
START_TEST(test_a_worker_that_is_not_listed)
{
    struct attempt_record at[1];
    const struct attempt_list l = {.at = at, .count = 1};
    struct attempt_list back;
    struct buf bytes = BUF_INIT;
    setup();
    fill(at, 1, TASK_MAP, SECOND);
    at[0].worker = 0;
    attempt_list_put(&l, &bytes);
    ck_assert_int_eq(attempt_list_get(buf_slice(&bytes), &back, NULL),
                     ERR_CORRUPT);
    attempt_list_close(&back);
    buf_close(&bytes);
    world_free(world);
}

END_TEST

/* The name of an attempt is read as it is written; anything else is none. */
START_TEST(test_names)
{
    static const char *const bad[] = {
        "",    "m",     "m3",    "m3.",   "x3.1",  "m3.1 ",
        "3.1", "2m3.1", "2-3.1", "m-3.1", "-m3.1", "m99999999999.1"};
    static const struct attempt_record good[] = {
        {.part = 1, .kind = TASK_MAP, .task = 3, .attempt = 1},
        {.part = 2, .kind = TASK_REDUCE, .task = 0, .attempt = 1001},
        {.part = 12, .kind = TASK_WHOLE, .task = 4294967295, .attempt = 2}};
    struct attempt_record a;
    setup();
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct buf name = BUF_INIT;
        attempt_name_put(&good[i], &name);
        ck_assert(attempt_name_get(buf_slice(&name), &a));
        ck_assert_uint_eq(a.part, good[i].part);
        ck_assert_int_eq(a.kind, good[i].kind);
        ck_assert_uint_eq(a.task, good[i].task);
        ck_assert_uint_eq(a.attempt, good[i].attempt);
        buf_close(&name);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(!attempt_name_get(slice_str(bad[i]), &a), "%s", bad[i]);
    world_free(world);
}

END_TEST

TEST_MAIN("job_timeline",
          test_attempts_are_read_back,
          test_another_process_continues,
          test_a_damaged_file_is_refused,
          test_the_size_is_bounded,
          test_logs_are_bounded,
          test_stragglers,
          test_partitions,
          test_answer,
          test_a_worker_that_is_not_listed,
          test_names)
