/* Writes of a tablet server's log that are under way at once end in the order
 * in which they began, whatever becomes of each. */
#include <stdlib.h>
#include <string.h>

#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/log/shared_log.h"
#include "gfs-lite/fs_ops.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

enum {
    FILES_MAX = 16,
    SLOW_US = 200000,
    WRITES = 3,
};

/* How appends to a file end: after how long, and with which code. */
struct fate {
    uint64_t us;
    int code;
};

/* A file system that keeps nothing, but does as it is told. */
struct fake_fs {
    struct fs base;
    struct fate fates[FILES_MAX]; /* Of the files, in their order. */
    unsigned created;
    unsigned appended[FILES_MAX];
};

struct fake_writer {
    struct fs_writer base;
    unsigned number;
};

struct trial {
    struct fake_fs fs;
    struct world *world;
    struct write_log *log;
    struct err err;
    unsigned fenced;
    /* Of the writes, by number: */
    struct fiber *fibers[WRITES];
    int codes[WRITES];
    uint64_t ends_us[WRITES];
    unsigned ended;
    unsigned order[WRITES];
    uint64_t synced[WRITES]; /* When each had ended. */
};

static struct trial *trial;

static int fake_create(struct fs *fs,
                       const char *path,
                       const struct fs_write_options *opts,
                       struct fs_writer **out,
                       struct err *err)
{
    struct fake_fs *f = (struct fake_fs *)fs;
    struct fake_writer *w = calloc(1, sizeof(*w));
    (void)path;
    (void)opts;
    (void)err;
    ck_assert_uint_lt(f->created, FILES_MAX);
    w->base.fs = fs;
    w->number = f->created++;
    *out = &w->base;
    return 0;
}

static int
fake_append(struct fs_writer *w, const void *data, size_t len, struct err *err)
{
    struct fake_fs *f = (struct fake_fs *)w->fs;
    unsigned n = ((struct fake_writer *)w)->number;
    (void)data;
    (void)len;
    f->appended[n]++;
    world_sleep_us(f->base.world, f->fates[n].us);
    return f->fates[n].code ? err_set(err, f->fates[n].code, "as told") : 0;
}

static int fake_sync(struct fs_writer *w, struct err *err)
{
    return fake_append(w, NULL, 0, err);
}

static void fake_close(struct fs_writer *w)
{
    free(w);
}

static const struct fs_ops fake_ops = {.create = fake_create,
                                       .append = fake_append,
                                       .flush = fake_sync,
                                       .sync = fake_sync,
                                       .append_sync = fake_append,
                                       .writer_close = fake_close};

static void note_fenced(void *ctx, const struct err *why)
{
    struct trial *t = ctx;
    (void)why;
    t->fenced++;
}

static void open_log(void)
{
    const struct shared_log_options o = {.world = trial->world,
                                         .fs = &trial->fs.base,
                                         .dir = "log/1",
                                         .slow_us = SLOW_US,
                                         .fenced = note_fenced,
                                         .ctx = trial};
    ck_assert_int_eq(shared_log_open(&o, &trial->log, &trial->err), 0);
    ck_assert_uint_eq(trial->fs.created, 2);
}

/* --- Helpers ------------------------------------------------------------- */

/* Write number @arg: one record, synced. */
static void run_write(void *arg)
{
    unsigned i = (unsigned)(uintptr_t)arg;
    struct slice part = SLICE_LIT("payload");
    const struct log_record record = {i + 1, i + 1, 1, &part, 1};
    struct write_ticket t = {.records = &record, .count = 1, .sync = true};
    struct err err = ERR_INIT;
    int rc = write_log_begin(trial->log, &t, &err);
    if (rc == 0)
        rc = write_log_end(trial->log, &t, &err);
    trial->codes[i] = rc;
    trial->ends_us[i] = world_mono_ns(trial->world) / 1000;
    trial->synced[i] = write_log_synced_sequence(trial->log);
    trial->order[trial->ended++] = i;
}

/* As many as there are lanes, then one behind them. */
static void write_all(unsigned count)
{
    trial->ended = 0;
    for (unsigned i = 0; i < count; i++) {
        trial->fibers[i] =
            fiber_start(loop_self(), "write", run_write, (void *)(uintptr_t)i);
        world_sleep_us(trial->world, 10);
    }
    for (unsigned i = 0; i < count; i++)
        fiber_join(trial->fibers[i]);
    for (unsigned i = 0; i < count; i++)
        ck_assert_uint_eq(trial->order[i], i);
}

static void run(task_fn fn)
{
    struct trial t;
    memset(&t, 0, sizeof(t));
    trial = &t;
    t.world = sim_world_new(&(struct sim_options){.seed = 1});
    t.fs.base = (struct fs){.ops = &fake_ops, .world = t.world};
    sim_run(t.world, fn, NULL);
    world_free(t.world);
}

/* --- Tests --------------------------------------------------------------- */

static void overlap(void *arg)
{
    uint64_t began_us;
    (void)arg;
    open_log();
    trial->fs.fates[0].us = 50000;
    trial->fs.fates[1].us = 40000;
    began_us = world_mono_ns(trial->world) / 1000;
    write_all(2);
    ck_assert_int_eq(trial->codes[0], 0);
    ck_assert_int_eq(trial->codes[1], 0);
    ck_assert_uint_lt(trial->ends_us[1] - began_us, 60000);
    ck_assert_uint_ge(trial->ends_us[1] - began_us, 50000);
    ck_assert_uint_eq(trial->synced[1], 2);
    write_log_close(trial->log);
}

/* Two writes take the time of one; the second, which is done first, has not
 * ended before the first: what is synced has no hole. */
START_TEST(test_two_at_once)
{
    run(overlap);
}

END_TEST

static void fail_first(void *arg)
{
    (void)arg;
    open_log();
    trial->fs.fates[0] = (struct fate){10000, ERR_IO};
    trial->fs.fates[1].us = 20000;
    /* The other lane, when it is free, begins no new file: it fails there. */
    write_all(1);
    ck_assert_int_eq(trial->codes[0], 0);
    ck_assert_uint_eq(trial->fs.appended[1], 3);
    trial->fs.fates[1] = (struct fate){30000, ERR_IO};
    for (unsigned i = 2; i < FILES_MAX; i++)
        trial->fs.fates[i] = (struct fate){5000, ERR_FULL};
    write_all(2);
    ck_assert_int_ne(trial->codes[0], 0);
    ck_assert_int_ne(trial->codes[1], 0);
    ck_assert_uint_le(trial->synced[1], 1);
    /* The disk is well again, and so is the log. */
    memset(trial->fs.fates, 0, sizeof(trial->fs.fates));
    write_all(2);
    ck_assert_int_eq(trial->codes[0], 0);
    ck_assert_int_eq(trial->codes[1], 0);
    ck_assert_uint_eq(trial->fenced, 0);
    write_log_close(trial->log);
}

/* A lane that fails is no failure of the write: the other one gets it. When
 * both fail all that was under way does, and what comes later does not. */
START_TEST(test_failed_syncs)
{
    run(fail_first);
}

END_TEST

static void doom(void *arg)
{
    (void)arg;
    open_log();
    /* The first write is refused at once, and again by the other lane when that
     * has done the second, which is on the disks. */
    trial->fs.fates[0] = (struct fate){1000, ERR_FULL};
    trial->fs.fates[1].us = 30000;
    for (unsigned i = 2; i < FILES_MAX; i++)
        trial->fs.fates[i] = (struct fate){1000, ERR_FULL};
    trial->fibers[0] = fiber_start(loop_self(), "write", run_write, (void *)0);
    world_sleep_us(trial->world, 10);
    trial->fibers[1] =
        fiber_start(loop_self(), "write", run_write, (void *)(uintptr_t)1);
    world_sleep_us(trial->world, 20000);
    ck_assert_uint_eq(trial->ended, 0);
    world_sleep_us(trial->world, 5000);
    trial->fs.fates[1].code = 0;
    world_sleep_us(trial->world, 6000);
    trial->fs.fates[1].code = ERR_FULL;
    fiber_join(trial->fibers[0]);
    fiber_join(trial->fibers[1]);
    ck_assert_int_eq(trial->codes[0], ERR_UNKNOWN_OUTCOME);
    ck_assert_int_eq(trial->codes[1], ERR_UNKNOWN_OUTCOME);
    ck_assert_uint_eq(trial->order[0], 0);
    ck_assert_uint_eq(trial->synced[1], 0);
    write_log_close(trial->log);
}

/* A write that is on the disks is not acknowledged when the one before it,
 * under way at the same time, failed. */
START_TEST(test_none_behind_a_failure)
{
    run(doom);
}

END_TEST

static void fail_both(void *arg)
{
    (void)arg;
    open_log();
    trial->fs.fates[0] = (struct fate){10000, ERR_FULL};
    trial->fs.fates[1] = (struct fate){20000, ERR_FULL};
    write_all(2);
    ck_assert_int_eq(trial->codes[0], ERR_UNKNOWN_OUTCOME);
    ck_assert_int_eq(trial->codes[1], ERR_UNKNOWN_OUTCOME);
    write_log_close(trial->log);
}

/* Both lanes fail, each with a write of its own: neither waits for the other's.
 */
START_TEST(test_both_fail)
{
    run(fail_both);
}

END_TEST

static void switch_lanes(void *arg)
{
    struct shared_log_stats stats;
    (void)arg;
    open_log();
    trial->fs.fates[0].us = 50 * SLOW_US;
    trial->fs.fates[1].us = 10000;
    write_all(3);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(trial->codes[i], 0);
    ck_assert_uint_lt(trial->ends_us[2] - trial->ends_us[0], 2 * SLOW_US);
    shared_log_get_stats(trial->log, &stats);
    ck_assert_uint_eq(stats.switches, 1);
    ck_assert_uint_eq(trial->synced[2], 3);
    write_log_close(trial->log);
}

/* A lane gets stuck while both are at work: the other one takes over once it
 * has done its own, and continues alone. */
START_TEST(test_switch_in_the_middle)
{
    run(switch_lanes);
}

END_TEST

static void fence(void *arg)
{
    (void)arg;
    open_log();
    trial->fs.fates[0] = (struct fate){20000, ERR_ABORTED};
    trial->fs.fates[1].us = 10000;
    write_all(2);
    ck_assert_int_eq(trial->codes[0], ERR_ABORTED);
    ck_assert_int_eq(trial->codes[1], ERR_ABORTED);
    ck_assert_uint_eq(trial->fenced, 1);
    ck_assert_uint_eq(trial->synced[1], 0);
    memset(trial->fs.fates, 0, sizeof(trial->fs.fates));
    write_all(1);
    ck_assert_int_eq(trial->codes[0], ERR_ABORTED);
    ck_assert_uint_eq(trial->fenced, 1);
    write_log_close(trial->log);
}

/* The log is taken away while two writes are under way: neither is
 * acknowledged, and none ever again. */
START_TEST(test_fenced_under_way)
{
    run(fence);
}

END_TEST

TEST_MAIN("log overlap",
          test_two_at_once,
          test_failed_syncs,
          test_none_behind_a_failure,
          test_both_fail,
          test_switch_in_the_middle,
          test_fenced_under_way)
