/* A segment of a dead server's log is removed or cut short: then either all
 * that was acknowledged and not released is read, or the log is refused and the
 * file named. In the simulated world; with lanes that change, fail and release.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/log/segment_list.h"
#include "bigtable/log/shared_log.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

enum {
    RECORDS = 160,
    SEGMENT_BYTES = 2000
};

enum way {
    WAY_NOTHING,
    WAY_REMOVE,
    WAY_CUT,
    WAY_REMOVE_AND_GIVE_UP,
    WAY_COUNT
};

struct run_state {
    struct world *world;
    struct fs *fs;
    uint64_t seed;
    enum way way;
    size_t file; /* Index of the segment. */
    size_t file_count;
    bool is_full; /* It is none of those written last. */
    char name[64];
    bool acked[RECORDS + 1];
    bool unknown[RECORDS + 1]; /* Neither acknowledged nor refused. */
    bool seen[RECORDS + 1];
    uint64_t released;
    bool refused;
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* Some are slow, so that lanes change; some fail, and some find no room. */
static void draw_weather(struct run_state *r, struct rand_gen *g)
{
    struct sim_options o;
    sim_get_options(r->world, &o);
    o.sync_us = rand_one_in(g, 12) ? 5000 : 100;
    sim_set_options(r->world, &o);
    sim_fail_at_op(r->world, rand_one_in(g, 30) ? 1 + rand_below(g, 6) : 0);
    sim_set_disk_bytes(r->world, rand_one_in(g, 30) ? sim_disk_bytes(r->world) +
                                                          rand_below(g, 1200)
                                                    : 0);
}

static void history(void *arg)
{
    struct run_state *r = arg;
    static const char payload[150];
    struct slice part = slice_make(payload, sizeof(payload));
    struct write_log *l;
    struct rand_gen g;
    int rc;
    rand_init(&g, r->seed);
    OK(fs_local_open(r->world, "/fs", &r->fs, &err));
    OK(shared_log_open(
        &(struct shared_log_options){.world = r->world,
                                     .fs = r->fs,
                                     .dir = "log/1",
                                     .segment_bytes = SEGMENT_BYTES,
                                     .slow_us = 1000},
        &l, &err));
    for (uint64_t i = 1; i <= RECORDS; i++) {
        const struct log_record record = {.sequence = i,
                                          .last = i,
                                          .count = 1,
                                          .parts = &part,
                                          .part_count = 1};
        draw_weather(r, &g);
        rc = write_log_write(l, &record, 1, true, NULL);
        r->acked[i] = rc == 0;
        r->unknown[i] = rc == ERR_UNKNOWN_OUTCOME;
        sim_fail_at_op(r->world, 0);
        sim_set_disk_bytes(r->world, 0);
        if (i > 60 && rand_one_in(&g, 10)) {
            r->released = MAX_OF(r->released, i - 20 - rand_below(&g, 40));
            write_log_release(l, r->released);
        }
    }
    write_log_close(l);
}

static int note(void *ctx,
                uint64_t sequence,
                uint32_t count,
                struct slice payload,
                struct err *e)
{
    struct run_state *r = ctx;
    (void)count;
    (void)payload;
    (void)e;
    ck_assert_uint_le(sequence, RECORDS);
    r->seen[sequence] = true;
    return 0;
}

static void damage(struct run_state *r)
{
    struct rand_gen g;
    struct file *f;
    char path[100];
    uint64_t size;
    rand_init(&g, r->seed + r->file);
    snprintf(path, sizeof(path), "/fs/log/1/%s", r->name);
    if (r->way == WAY_REMOVE || r->way == WAY_REMOVE_AND_GIVE_UP)
        OK(world_remove(r->world, path, &err));
    if (r->way == WAY_REMOVE_AND_GIVE_UP) {
        snprintf(path, sizeof(path), "log/1/%.8s.lost", r->name);
        OK(fs_replace(r->fs, path, SLICE_EMPTY, &err));
    }
    if (r->way != WAY_CUT)
        return;
    OK(file_open(r->world, path, FILE_READ | FILE_WRITE, &f, &err));
    OK(file_size(f, &size, &err));
    OK(file_truncate(f, size ? rand_below(&g, size) : 0, &err));
    file_close(f);
}

static void find_segment(struct run_state *r)
{
    char **names;
    size_t count;
    size_t n = 0;
    OK(fs_list(r->fs, "log/1", &names, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (shared_log_is_segment(names[i]) && n++ == r->file)
            snprintf(r->name, sizeof(r->name), "%s", names[i]);
    fs_names_free(names, count);
    r->file_count = n;
    r->is_full = r->file + 4 < n;
}

static int read_segment(struct run_state *r, const char *name)
{
    struct buf path = BUF_INIT;
    struct buf bytes = BUF_INIT;
    uint64_t announced;
    int rc;
    buf_printf(&path, "log/1/%s", name);
    OK(fs_read_all(r->fs, buf_cstr(&path), 1 << 20, &bytes, &err));
    rc = shared_log_read(name, &bytes, NULL, note, r, &announced, &err);
    if (rc == 0)
        rc = segment_list_check_one(r->fs, "log/1", name, bytes.len, announced,
                                    &err);
    buf_close(&path);
    buf_close(&bytes);
    return rc;
}

static void read_back(void *arg)
{
    struct run_state *r = arg;
    char **names;
    size_t count;
    int rc;
    find_segment(r);
    if (r->way != WAY_NOTHING)
        damage(r);
    OK(fs_list(r->fs, "log/1", &names, &count, &err));
    err = ERR_INIT;
    rc = segment_list_check(r->fs, "log/1", &err);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (shared_log_is_segment(names[i]))
            rc = read_segment(r, names[i]);
    fs_names_free(names, count);
    fs_close(r->fs);
    r->refused = rc != 0;
    if (!r->refused)
        return;
    /* Without the newest list an older one may name what was released since. */
    ck_assert_msg(rc == ERR_CORRUPT &&
                      strstr(err.text, r->is_full ? r->name : "log/1/"),
                  "%s: %s", r->name, err.text);
}

/* Is there a record that was acknowledged and is lost? */
static bool has_loss(const struct run_state *r)
{
    for (uint64_t i = r->released + 1; i <= RECORDS; i++)
        if (r->acked[i] && !r->seen[i])
            return true;
    return false;
}

static void run_once(struct run_state *r)
{
    r->world =
        sim_world_new(&(struct sim_options){.seed = r->seed, .sync_us = 100});
    sim_run(r->world, history, r);
    sim_run(r->world, read_back, r);
    world_free(r->world);
}

static void judge(const struct run_state *r)
{
    bool loss = has_loss(r);
    ck_assert_msg(r->way != WAY_NOTHING || (!r->refused && !loss),
                  "seed %llu: %s", (unsigned long long)r->seed, err.text);
    ck_assert_msg(r->way != WAY_REMOVE_AND_GIVE_UP || !r->refused, "%s",
                  err.text);
    for (uint64_t i = 1; i <= RECORDS; i++)
        ck_assert_msg(!r->seen[i] || r->acked[i] || r->unknown[i],
                      "a record that failed for sure is there");
    /* Only the segment itself knows the records that were written last. */
    ck_assert_msg(r->way == WAY_REMOVE_AND_GIVE_UP || r->refused || !loss ||
                      !r->is_full,
                  "seed %llu, way %d of %s: lost, and not refused",
                  (unsigned long long)r->seed, (int)r->way, r->name);
}

START_TEST(test_removed_or_cut)
{
    size_t refused = 0;
    size_t unknown = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        size_t count = 1;
        for (size_t file = 0; file < count; file++)
            for (int way = 0; way < WAY_COUNT; way++) {
                struct run_state r = {.seed = test_seed() + seed,
                                      .file = file,
                                      .way = (enum way)way};
                run_once(&r);
                judge(&r);
                refused += r.refused;
                for (uint64_t i = 1; i <= RECORDS; i++)
                    unknown += r.unknown[i];
                count = r.file_count;
            }
    }
    ck_assert_uint_gt(refused, 50);
    ck_assert_uint_gt(unknown, 50);
}

END_TEST

TEST_MAIN("segment list", test_removed_or_cut)
