/* A log that syncs before it acknowledges loses nothing it acknowledged, when
 * the power goes at any sync, write or operation; one that does not is caught.
 *
 * This is the pattern of all crash tests: run a workload on tasks, cut the
 * power at the nth operation for n = 1, 2, …, let it unwind, switch on, and
 * compare what is there with what was acknowledged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"

enum {
    WRITERS = 3,
    RECORDS = 6,
    RECORD_BYTES = 700
};

/* --- Code under test ----------------------------------------------------- */

/* A log of fixed records, each with a checksum; appended under a mutex. */
struct record_log {
    struct world *world;
    struct mutex mutex;
    struct file *file;
    uint64_t end;
    bool broken;      /* After an error nothing more is acknowledged. */
    bool skips_syncs; /* The mistake the sweep must find. */
    bool acked[WRITERS][RECORDS];
};

static int append(struct record_log *l, int writer, int record)
{
    char bytes[RECORD_BYTES] = {0};
    struct slice part = slice_make(bytes, sizeof(bytes));
    int rc = ERR_IO;
    put_le32(bytes + 4, (uint32_t)(writer * RECORDS + record));
    put_le32(bytes, crc32c(bytes + 4, RECORD_BYTES - 4));
    mutex_lock(&l->mutex);
    if (!l->broken) {
        rc = file_write_at(l->file, l->end, &part, 1, NULL);
        if (rc == 0 && !l->skips_syncs)
            rc = file_sync(l->file, NULL);
        l->broken = rc != 0;
        l->end += RECORD_BYTES;
    }
    mutex_unlock(&l->mutex);
    return rc;
}

static int open_log(struct record_log *l)
{
    int rc = file_open(l->world, "log", FILE_READ | FILE_WRITE | FILE_CREATE,
                       &l->file, NULL);
    if (rc == 0)
        rc = world_sync_dir(l->world, "/", NULL);
    return rc;
}

/* --- Workload ------------------------------------------------------------ */

struct writer {
    struct record_log *log;
    int index;
};

static void write_records(void *arg)
{
    struct writer *w = arg;
    for (int i = 0; i < RECORDS; i++)
        if (append(w->log, w->index, i) == 0)
            w->log->acked[w->index][i] = true;
}

static void run_workload(void *arg)
{
    struct record_log *l = arg;
    struct writer writers[WRITERS];
    struct task *tasks[WRITERS];
    if (open_log(l) == 0) {
        for (int i = 0; i < WRITERS; i++) {
            writers[i] = (struct writer){l, i};
            tasks[i] =
                task_start(l->world, "writer", write_records, &writers[i]);
        }
        for (int i = 0; i < WRITERS; i++)
            task_join(tasks[i]);
    }
    file_close(l->file);
    l->file = NULL;
}

/* --- Expectations -------------------------------------------------------- */

/* How many acknowledged records are not to be found. */
static int count_lost(struct record_log *l)
{
    bool there[WRITERS * RECORDS] = {false};
    char bytes[RECORD_BYTES];
    struct file *f;
    size_t got;
    int lost = 0;
    uint64_t at = 0;
    if (file_open(l->world, "log", FILE_READ, &f, NULL) == 0) {
        while (file_read_at(f, at, bytes, sizeof(bytes), &got, NULL) == 0 &&
               got == sizeof(bytes)) {
            uint32_t id = get_le32(bytes + 4);
            if (get_le32(bytes) == crc32c(bytes + 4, RECORD_BYTES - 4) &&
                id < WRITERS * RECORDS)
                there[id] = true;
            at += RECORD_BYTES;
        }
        file_close(f);
    }
    for (int i = 0; i < WRITERS * RECORDS; i++)
        lost += l->acked[i / RECORDS][i % RECORDS] && !there[i];
    return lost;
}

enum cut {
    AT_SYNC,
    AT_WRITE,
    AT_OP
};

/* Lost records with the power cut at the @nth; -1 when it was never reached. */
static int
lost_when_cut(uint64_t seed, enum cut cut, uint64_t nth, bool mistake)
{
    struct record_log l = {.skips_syncs = mistake};
    int lost = -1;
    l.world = sim_world_new(
        &(struct sim_options){.seed = seed, .write_us = 20, .sync_us = 500});
    mutex_init(&l.mutex);
    if (cut == AT_SYNC)
        sim_power_off_at_sync(l.world, nth);
    else if (cut == AT_WRITE)
        sim_power_off_at_write(l.world, nth);
    else
        sim_power_off_at_op(l.world, nth);
    sim_run(l.world, run_workload, &l);
    if (sim_is_off(l.world)) {
        sim_power_on(l.world);
        lost = count_lost(&l);
    }
    mutex_close(&l.mutex);
    world_free(l.world);
    return lost;
}

/* --- Tests --------------------------------------------------------------- */

START_TEST(test_sweep)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        for (enum cut cut = AT_SYNC; cut <= AT_OP; cut++) {
            uint64_t n = 1;
            int lost;
            while ((lost = lost_when_cut(seed, cut, n, false)) >= 0) {
                ck_assert_msg(lost == 0, "seed %llu cut %d at %llu: %d lost",
                              (unsigned long long)seed, (int)cut,
                              (unsigned long long)n, lost);
                n++;
            }
            ck_assert(n > WRITERS * RECORDS);
        }
    }
}

END_TEST

START_TEST(test_mistake_is_caught)
{
    int caught = 0;
    for (uint64_t seed = 0; seed < 10; seed++)
        caught += lost_when_cut(seed, AT_WRITE, WRITERS * RECORDS, true) > 0;
    ck_assert_int_ge(caught, 7);
}

END_TEST

TEST_MAIN("log_sweep", test_sweep, test_mistake_is_caught)
