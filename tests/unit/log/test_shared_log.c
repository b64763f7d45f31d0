/* The log of a tablet server gives back what was written to it, once, however
 * often its lanes changed, and sorted as a model has it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/log/shared_log.h"
#include "bigtable/recovery/log_merge.h"
#include "bigtable/recovery/log_sort.h"
#include "bigtable/recovery/segment_cache.h"
#include "bigtable/recovery/sorted_segment.h"
#include "bigtable/row/logged_mutation.h"
#include "bigtable/row/mutation.h"
#include "bigtable/sstable/block_cache.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

enum {
    TABLES = 3,
    ROWS = 20,
    WRITES_MAX = 600,
    SEGMENTS_MAX = 64,
    SEGMENT_CACHE_BYTES = 30000, /* A few segments. */
};

static struct err err;
static struct world *world;
static struct fs *fs;
static struct segment_cache *segment_cache;
static unsigned kinds; /* Of sources: 1 files, 2 elsewhere, 4 here. */
static struct write_log *log_;
static unsigned fenced;

#define OK(call) ck_assert_msg((call) == 0, "%s: %s", #call, err.text)

/* One mutation that was written: acknowledged unless `lost`. */
struct written {
    uint64_t table;
    unsigned row;
    uint64_t sequence;
    bool acked;
    unsigned seen;
};

static struct written model[WRITES_MAX];
static size_t model_count;

static void note_fenced(void *ctx, const struct err *why)
{
    (void)ctx;
    (void)why;
    fenced++;
}

static void open_log(uint64_t slow_us)
{
    const struct shared_log_options o = {.world = world,
                                         .fs = fs,
                                         .dir = "log/1",
                                         .segment_bytes = 4096,
                                         .slow_us = slow_us,
                                         .fenced = note_fenced};
    OK(shared_log_open(&o, &log_, &err));
}

static void put_mutation(struct buf *out, uint64_t table, unsigned row)
{
    char name[16];
    char families[2];
    struct quarry_mutation m;
    snprintf(name, sizeof(name), "row%02u", row);
    mutation_init(&m, slice_str(name));
    mutation_set(&m, SLICE_LIT("f"), SLICE_LIT("q"), 1, SLICE_LIT("value"));
    put_le16(families, 1);
    buf_put_varint(out, table);
    buf_put_le64(out, 77);
    buf_put_varint(out, 1);
    buf_put_lslice(out, slice_str(name));
    buf_append(out, families, 2);
    buf_put_lslice(out, buf_slice(&m.ops));
    mutation_close(&m);
}

/* One record of @count mutations of random rows. */
static void write_record(struct rand_gen *r, size_t count, bool sync)
{
    struct buf payload = BUF_INIT;
    struct slice part;
    struct log_record record = {.sequence = model_count + 1,
                                .last = model_count + count,
                                .count = (uint32_t)count,
                                .parts = &part,
                                .part_count = 1};
    size_t first = model_count;
    bool good;
    for (size_t i = 0; i < count; i++) {
        struct written *w = &model[model_count++];
        *w = (struct written){.table = rand_below(r, TABLES) + 1,
                              .row = (unsigned)rand_below(r, ROWS),
                              .sequence = model_count};
        put_mutation(&payload, w->table, w->row);
    }
    part = buf_slice(&payload);
    good = write_log_write(log_, &record, 1, sync, &err) == 0;
    for (size_t i = first; i < model_count; i++)
        model[i].acked = good;
    buf_close(&payload);
}

/* Some stay in memory, others go to files. */
static int get_segment(const char *dir,
                       const char *name,
                       uint64_t who,
                       struct sorted_segment **out)
{
    return segment_cache_get(segment_cache, fs, dir, name, who, out, &err);
}

static void sort_segment(const char *dir, const char *name, uint64_t who)
{
    struct sorted_segment *segment;
    OK(get_segment(dir, name, who, &segment));
    ck_assert(!segment || !log_sorted_exists(fs, dir, name));
    ck_assert(segment || log_sorted_exists(fs, dir, name));
    sorted_segment_unref(segment);
}

static void sort_all(void)
{
    char **names;
    size_t count;
    OK(fs_list(fs, "log/1", &names, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (shared_log_is_segment(names[i])) {
            sort_segment("log/1", names[i], 9);
            sort_segment("log/1", names[i], 8); /* Again. */
        }
    fs_names_free(names, count);
}

struct seen {
    uint64_t table;
    unsigned low, high; /* Rows [low, high). */
    char last[32];
};

static int note(void *ctx,
                const struct logged_mutation *m,
                uint64_t sequence,
                struct err *e)
{
    struct seen *s = ctx;
    char name[32];
    unsigned row;
    (void)e;
    snprintf(name, sizeof(name), "%.*s", SLICE_ARG(m->row));
    row = (unsigned)strtoul(name + 3, NULL, 10);
    ck_assert_uint_eq(m->table, s->table);
    ck_assert(row >= s->low && row < s->high);
    ck_assert_int_ge(strcmp(name, s->last), 0);
    memcpy(s->last, name, sizeof(name));
    ck_assert_uint_eq(model[sequence - 1].row, row);
    ck_assert_uint_eq(model[sequence - 1].table, s->table);
    model[sequence - 1].seen++;
    return 0;
}

/* A segment that another server would have. */
struct elsewhere {
    struct sorted_segment *segment;
    uint64_t table;
    struct slice start;
    struct slice end;
};

static int fetch(void *ctx, uint64_t skip, struct buf *out, struct err *e)
{
    const struct elsewhere *x = ctx;
    struct buf one = BUF_INIT;
    struct cursor c;
    struct logged_mutation m;
    (void)e;
    log_batch_put(x->segment, x->table, x->start, x->end, skip, &one);
    buf_clear(out);
    c = cursor_make(buf_slice(&one));
    /* Batches of two, so that there are several. */
    for (int i = 0; i < 2 && cursor_left(&c) > 0; i++) {
        (void)cursor_varint(&c);
        ck_assert(logged_mutation_read(&c, &m));
    }
    buf_append(out, one.data, one.len - cursor_left(&c));
    buf_close(&one);
    return 0;
}

/* Every second segment that is in memory is read as if it were elsewhere. */
static void read_tablet(struct block_cache *cache,
                        uint64_t table,
                        struct slice start,
                        struct slice end,
                        struct seen *seen)
{
    struct elsewhere elsewhere[SEGMENTS_MAX];
    size_t far = 0;
    char **names;
    size_t count;
    struct log_merge *merge = log_merge_new(table, start, end);
    OK(fs_list(fs, "log/1", &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        struct buf path = BUF_INIT;
        struct sorted_segment *s;
        if (!shared_log_is_segment(names[i]))
            continue;
        OK(get_segment("log/1", names[i], 9, &s));
        log_sorted_path("log/1", names[i], &path);
        if (s && i % 2 == 0) {
            ck_assert_uint_lt(far, SEGMENTS_MAX);
            elsewhere[far] = (struct elsewhere){s, table, start, end};
            OK(log_merge_add_remote(merge, fetch, &elsewhere[far], &err));
            far++;
        } else if (s) {
            log_merge_add_segment(merge, s);
            sorted_segment_unref(s);
        } else {
            OK(log_merge_add_file(merge, fs, cache, buf_cstr(&path), &err));
        }
        kinds |= !s ? 1u : i % 2 == 0 ? 2u : 4u;
        buf_close(&path);
    }
    OK(log_merge_each(merge, note, seen, &err));
    log_merge_free(merge);
    while (far > 0)
        sorted_segment_unref(elsewhere[--far].segment);
    fs_names_free(names, count);
}

/* Read each table in two tablets: every acknowledged mutation is there once. */
static void check_sorted(void)
{
    struct block_cache *cache = block_cache_new(1 << 20);
    for (uint64_t t = 1; t <= TABLES; t++) {
        struct seen low = {.table = t, .low = 0, .high = 7};
        struct seen high = {.table = t, .low = 7, .high = ROWS};
        read_tablet(cache, t, SLICE_EMPTY, SLICE_LIT("row07"), &low);
        read_tablet(cache, t, SLICE_LIT("row07"), SLICE_EMPTY, &high);
    }
    block_cache_free(cache);
    segment_cache_free(segment_cache);
    for (size_t i = 0; i < model_count; i++)
        ck_assert_msg(model[i].seen == 1 ||
                          (model[i].seen == 0 && !model[i].acked),
                      "mutation %zu was seen %u times", i, model[i].seen);
}

static void start(uint64_t seed)
{
    const struct sim_options o = {.seed = seed, .sync_us = 100};
    world = sim_world_new(&o);
    model_count = 0;
    fenced = 0;
}

static void open_fs(void)
{
    OK(fs_local_open(world, "/fs", &fs, &err));
    segment_cache = segment_cache_new(world, SEGMENT_CACHE_BYTES);
}

/* --- Tests --------------------------------------------------------------- */

static void write_and_sort(void *arg)
{
    struct rand_gen r;
    rand_init(&r, *(uint64_t *)arg);
    open_fs();
    open_log(0);
    while (model_count < WRITES_MAX - 10)
        write_record(&r, 1 + rand_below(&r, 5), rand_below(&r, 4) != 0);
    write_log_close(log_);
    sort_all();
    check_sorted();
    fs_close(fs);
}

/* Each mutation that was written is found once, by tables and rows, over many
 * segments: in files, in memory and from elsewhere. */
START_TEST(test_sorted_is_model)
{
    uint64_t seed = test_seed();
    start(seed);
    sim_run(world, write_and_sort, &seed);
    world_free(world);
    ck_assert_uint_eq(kinds, 7);
}

END_TEST

static void write_on_slow_disk(void *arg)
{
    struct shared_log_stats stats;
    struct sim_options o;
    struct rand_gen r;
    (void)arg;
    rand_init(&r, 5);
    open_fs();
    open_log(1000);
    sim_get_options(world, &o);
    while (model_count < 200) {
        /* Now and then a sync takes longer than a lane is waited for. */
        o.sync_us = rand_one_in(&r, 10) ? 5000 : 100;
        sim_set_options(world, &o);
        write_record(&r, 1, true);
    }
    shared_log_get_stats(log_, &stats);
    ck_assert_uint_gt(stats.switches, 3);
    write_log_close(log_);
    sort_all();
    check_sorted();
    fs_close(fs);
}

/* When a lane is slow the other one takes over; nothing is found twice. */
START_TEST(test_slow_lanes)
{
    start(3);
    sim_run(world, write_on_slow_disk, NULL);
    world_free(world);
}

END_TEST

static void write_until_off(void *arg)
{
    struct rand_gen r;
    rand_init(&r, *(uint64_t *)arg);
    open_fs();
    if (shared_log_open(&(struct shared_log_options){.world = world,
                                                     .fs = fs,
                                                     .dir = "log/1",
                                                     .segment_bytes = 4096},
                        &log_, &err) == 0) {
        while (!sim_is_off(world) && model_count < WRITES_MAX - 10)
            write_record(&r, 1 + rand_below(&r, 3), true);
        write_log_close(log_);
    }
    segment_cache_free(segment_cache);
    fs_close(fs);
}

static void sort_after(void *arg)
{
    (void)arg;
    open_fs();
    sort_all();
    check_sorted();
    fs_close(fs);
}

/* The power goes at any sync: what was acknowledged is found. */
START_TEST(test_power_loss)
{
    for (uint64_t n = 5; n < 120; n += 3) {
        start(n);
        sim_power_off_at_sync(world, n);
        sim_run(world, write_until_off, &n);
        sim_power_on(world);
        sim_run(world, sort_after, NULL);
        world_free(world);
    }
}

END_TEST

static void fill_segments(void *arg)
{
    struct rand_gen r;
    struct sorted_segment *a;
    struct sorted_segment *b;
    (void)arg;
    rand_init(&r, 3);
    open_fs();
    open_log(0);
    while (model_count < WRITES_MAX - 10)
        write_record(&r, 3, true);
    write_log_close(log_);
    OK(get_segment("log/1", "00000001.log", 1, &a));
    OK(get_segment("log/1", "00000001.log", 1, &b));
    ck_assert(a && a == b);
    sorted_segment_unref(b);
    segment_cache_expire(segment_cache, 1000000);
    ck_assert_uint_eq(segment_cache_bytes(segment_cache),
                      sorted_segment_bytes(a));
    world_sleep_us(world, 2000000);
    segment_cache_expire(segment_cache, 1000000);
    ck_assert_uint_eq(segment_cache_bytes(segment_cache), 0);
    sorted_segment_unref(a);
    segment_cache_free(segment_cache);
    /* One byte: everything goes to files, and is found there. */
    segment_cache = segment_cache_new(world, 1);
    OK(get_segment("log/1", "00000001.log", 1, &a));
    ck_assert(!a && log_sorted_exists(fs, "log/1", "00000001.log"));
    ck_assert_uint_eq(segment_cache_bytes(segment_cache), 0);
    check_sorted();
    fs_close(fs);
}

/* A segment cache keeps the segments that are asked for, releases the rest, and
 * never holds more than it may. */
START_TEST(test_segment_cache)
{
    start(4);
    sim_run(world, fill_segments, NULL);
    world_free(world);
}

END_TEST

static void damage(void *arg)
{
    struct rand_gen r;
    struct buf bytes = BUF_INIT;
    struct sorted_segment *segment;
    unsigned refused = 0;
    (void)arg;
    rand_init(&r, 9);
    open_fs();
    open_log(0);
    while (model_count < 30)
        write_record(&r, 1, true);
    write_log_close(log_);
    OK(fs_read_all(fs, "log/1/00000002.log", 1 << 20, &bytes, &err));
    OK(fs_mkdirs(fs, "log/2", &err));
    OK(fs_replace(fs, "log/2/00000002.log", buf_slice(&bytes), &err));
    buf_clear(&bytes);
    OK(fs_read_all(fs, "log/1/00000001.log", 1 << 20, &bytes, &err));
    for (int i = 0; i < 300; i++) {
        size_t at = rand_below(&r, bytes.len);
        char flip = (char)(1 << rand_below(&r, 8));
        int rc;
        bytes.data[at] = (char)(bytes.data[at] ^ flip);
        rc = get_segment("log/none", "00000001.log", 1, &segment);
        ck_assert_int_eq(rc, ERR_NOTFOUND);
        OK(fs_replace(fs, "log/2/00000001.log", buf_slice(&bytes), &err));
        rc = get_segment("log/2", "00000001.log", 1, &segment);
        sorted_segment_unref(segment);
        segment_cache_free(segment_cache);
        segment_cache = segment_cache_new(world, SEGMENT_CACHE_BYTES);
        refused += rc == ERR_CORRUPT;
        ck_assert_msg(rc == 0 || rc == ERR_CORRUPT, "%d %s", rc, err.text);
        bytes.data[at] = (char)(bytes.data[at] ^ flip);
    }
    ck_assert_uint_gt(refused, 250);
    buf_close(&bytes);
    segment_cache_free(segment_cache);
    fs_close(fs);
}

/* A bit that flipped in what was safe is noticed, unless in the very last
 * record. */
START_TEST(test_damage)
{
    start(1);
    sim_run(world, damage, NULL);
    world_free(world);
}

END_TEST

TEST_MAIN("shared_log",
          test_sorted_is_model,
          test_slow_lanes,
          test_power_loss,
          test_segment_cache,
          test_damage)
