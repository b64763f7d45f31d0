/* Any file of a store is removed or cut short, after it was closed, its process
 * was killed or the power went: then either everything that was acknowledged is
 * there, or opening or reading refuses. Random histories in the simulated
 * world. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/rand.h"
#include "base/crypt/master_key.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/manifest_state.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

enum {
    ROWS = 40,
    ROUNDS = 3,
    VALUE_BYTES = 9000,
    FILES_MAX = 200
};

enum way {
    WAY_NOTHING,
    WAY_REMOVE,
    WAY_CUT,
    WAY_EMPTY,
    WAY_COUNT
};

/* How the last round ends. */
enum ending {
    CLOSED,
    KILLED,    /* All writes stay. */
    POWER_LOST /* Synced writes stay: those of the round are. */
};

struct run_state {
    struct world *world;
    uint64_t seed;
    size_t file; /* Index of the file that is damaged. */
    enum way way;
    enum ending ending;
    char path[300];
    size_t file_count;
    unsigned versions[ROWS];
    bool snapshot;
    bool refused;
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* Every other history is that of an encrypted store. */
static struct master_keys *encryption_keys(void)
{
    static const unsigned char bytes[32] = "a master key";
    static struct master_keys *keys;
    if (!keys)
        keys = master_keys_of(bytes);
    return keys;
}

static const struct quarry_options *options(struct run_state *r)
{
    static struct quarry_options o;
    o = (struct quarry_options){.world = r->world,
                                .background_tasks = 1,
                                .memtable_bytes = 256 << 10,
                                .master_keys =
                                    r->seed % 2 ? encryption_keys() : NULL};
    return &o;
}

static struct slice row_name(char room[16], size_t row)
{
    return slice_make(room,
                      (size_t)snprintf(room, 16, "row%03u", (unsigned)row));
}

static void
put_row(struct quarry_table *t, size_t i, unsigned version, bool synced)
{
    static char value[VALUE_BYTES];
    const struct quarry_write_options o = {
        .durability = synced ? QUARRY_SYNCED : QUARRY_LOGGED};
    struct quarry_mutation *m;
    char room[16];
    memset(value, 'a' + (int)(version % 26), sizeof(value));
    m = quarry_mutation_new(row_name(room, i));
    quarry_mutation_set(m, "f", SLICE_LIT("q"), (int64_t)version,
                        slice_make(value, sizeof(value)));
    OK(quarry_apply(t, m, &o, &err));
    quarry_mutation_free(m);
}

static const char *const dirs[] = {"/q", "/q/log", "/q/tables", "/q/snapshots"};

/* Write all that the system would write back later. */
static void sync_directory(struct run_state *r, const char *dir)
{
    char **names;
    size_t count;
    if (world_list(r->world, dir, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        char path[300];
        struct file *f;
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        if (file_open(r->world, path, FILE_READ | FILE_WRITE, &f, NULL))
            continue;
        OK(file_sync(f, &err));
        file_close(f);
    }
    world_names_free(names, count);
    OK(world_sync_dir(r->world, dir, &err));
}

static void end_process(struct run_state *r)
{
    for (size_t d = 0; d < ARRAY_LEN(dirs) && r->ending == KILLED; d++)
        sync_directory(r, dirs[d]);
    if (r->ending != CLOSED)
        sim_power_off(r->world);
}

static void history(void *arg)
{
    struct run_state *r = arg;
    const struct quarry_family_spec f = {"f", ""};
    struct rand_gen g;
    rand_init(&g, r->seed);
    for (int round = 0; round < ROUNDS; round++) {
        struct quarry *q;
        struct quarry_table *t;
        size_t writes = rand_below(&g, 60);
        OK(quarry_open("file:/q", options(r), &q, &err));
        if (round == 0)
            OK(quarry_table_create(q, "t", &f, 1, NULL, 0, &err));
        OK(quarry_table_open(q, "t", &t, &err));
        for (size_t k = 0; k < writes; k++) {
            size_t i = rand_below(&g, ROWS);
            put_row(t, i, ++r->versions[i], r->ending == POWER_LOST);
            if (rand_one_in(&g, 40))
                OK(quarry_flush(q, &err));
        }
        if (round == 1) {
            OK(quarry_table_snapshot(q, "t", "s", 0, &err));
            r->snapshot = true;
        }
        if (round == ROUNDS - 1)
            end_process(r);
        quarry_table_close(t);
        quarry_close(q);
    }
}

/* The @index-th file of the store, counted over its directories. */
static bool find_file(struct run_state *r)
{
    size_t n = 0;
    r->path[0] = '\0';
    for (size_t d = 0; d < ARRAY_LEN(dirs); d++) {
        char **names;
        size_t count;
        if (world_list(r->world, dirs[d], &names, &count, NULL))
            continue;
        for (size_t i = 0; i < count; i++) {
            char path[300];
            struct file_info info;
            snprintf(path, sizeof(path), "%s/%s", dirs[d], names[i]);
            OK(world_stat(r->world, path, &info, &err));
            if (info.kind == FILE_KIND_DIRECTORY)
                continue;
            if (n++ == r->file)
                snprintf(r->path, sizeof(r->path), "%s", path);
        }
        world_names_free(names, count);
    }
    r->file_count = n;
    return r->path[0] != '\0';
}

static void damage(void *arg)
{
    struct run_state *r = arg;
    struct rand_gen g;
    struct file *f;
    uint64_t size;
    rand_init(&g, r->seed + r->file);
    if (!find_file(r))
        return;
    if (r->way == WAY_REMOVE) {
        OK(world_remove(r->world, r->path, &err));
        return;
    }
    OK(file_open(r->world, r->path, FILE_READ | FILE_WRITE, &f, &err));
    OK(file_size(f, &size, &err));
    if (r->way == WAY_CUT && size)
        OK(file_truncate(f, rand_below(&g, size), &err));
    if (r->way == WAY_EMPTY)
        OK(file_truncate(f, 0, &err));
    file_close(f);
}

/* Row @i as it was acknowledged last; false: reading it refuses. */
static bool has_row(struct run_state *r, struct quarry_table *t, size_t i)
{
    struct buf value = BUF_INIT;
    char room[16];
    bool found;
    int rc = quarry_get(t, row_name(room, i), "f", SLICE_LIT("q"), &value,
                        &found, &err);
    if (rc == 0 && r->versions[i])
        ck_assert_msg(found && value.len == VALUE_BYTES &&
                          value.data[0] ==
                              (char)('a' + (int)(r->versions[i] % 26)),
                      "seed %llu, way %d of %s: row %zu is not what it was",
                      (unsigned long long)r->seed, (int)r->way, r->path, i);
    buf_close(&value);
    return rc == 0;
}

static void read_back(void *arg)
{
    struct run_state *r = arg;
    struct quarry_snapshots *snapshots;
    struct quarry *q;
    struct quarry_table *t;
    r->refused = true;
    if (quarry_open("file:/q", options(r), &q, &err))
        return;
    if (quarry_table_open(q, "t", &t, &err) == 0) {
        r->refused = false;
        for (size_t i = 0; i < ROWS; i++)
            r->refused |= !has_row(r, t, i);
        quarry_table_close(t);
        OK(quarry_snapshot_list(q, &snapshots, &err));
        ck_assert_msg(snapshots->count == 1,
                      "way %d of %s: the snapshot is lost", (int)r->way,
                      r->path);
        quarry_snapshots_free(snapshots);
    } else {
        ck_assert_int_ne(err.code, ERR_NOTFOUND);
    }
    quarry_close(q);
}

static size_t run_once(struct run_state *r)
{
    r->world = sim_world_new(&(struct sim_options){.seed = r->seed});
    sim_run(r->world, history, r);
    if (r->ending != CLOSED)
        sim_power_on(r->world);
    sim_run(r->world, damage, r);
    sim_run(r->world, read_back, r);
    world_free(r->world);
    return r->file_count;
}

static void sweep(enum ending ending)
{
    size_t refused = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        for (int way = 0; way < WAY_COUNT; way++) {
            size_t count = 1;
            for (size_t file = 0; file < count && file < FILES_MAX; file++) {
                struct run_state r = {.seed = test_seed() + seed,
                                      .file = file,
                                      .ending = ending,
                                      .way = (enum way)way};
                count = run_once(&r);
                refused += r.refused;
                ck_assert(way != WAY_NOTHING || !r.refused);
                if (way == WAY_NOTHING)
                    break;
            }
        }
    }
    ck_assert_uint_gt(refused, 0);
}

START_TEST(test_of_a_closed_store)
{
    sweep(CLOSED);
}

END_TEST

START_TEST(test_of_one_that_was_killed)
{
    sweep(KILLED);
}

END_TEST

START_TEST(test_of_one_that_lost_power)
{
    sweep(POWER_LOST);
}

END_TEST

/* @state as a manifest of format 1: nothing is named. */
static void encode_format_1(struct manifest_state *state, struct buf *out)
{
    struct buf edit = BUF_INIT;
    size_t snapshots = state->snapshot_count;
    state->log_segment_count = 0;
    state->snapshot_count = 0;
    manifest_state_encode(state, &edit);
    state->snapshot_count = snapshots;
    buf_append(out, "QRYMNFST", 8);
    buf_put_le32(out, 1);
    buf_put_le32(out, crc32c(out->data, 12));
    buf_put_le32(out, 0);
    buf_put_le32(out, (uint32_t)edit.len);
    buf_append_slice(out, buf_slice(&edit));
    put_le32(out->data + 16, crc32c(out->data + 20, edit.len + 4));
    buf_close(&edit);
}

/* Apply the records of @bytes, a manifest. */
static void decode_manifest(struct slice bytes, struct manifest_state *state)
{
    size_t at = 16;
    ck_assert_uint_eq(get_le32(bytes.data + 8), STORE_FORMAT_VERSION);
    while (at < bytes.len) {
        size_t len = get_le32(bytes.data + at + 4);
        OK(manifest_state_apply(state, slice_make(bytes.data + at + 8, len),
                                &err));
        at += 8 + len;
    }
}

/* Put the manifest into the form it had in format 1. */
static void make_format_1(void *arg)
{
    struct run_state *r = arg;
    struct manifest_state state;
    struct buf name = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct fs *fs;
    manifest_state_init(&state);
    OK(fs_local_open(r->world, "/q", &fs, &err));
    OK(fs_read_all(fs, "CURRENT", 100, &name, &err));
    name.data[name.len - 1] = '\0'; /* The newline. */
    OK(fs_read_all(fs, name.data, 1 << 20, &bytes, &err));
    decode_manifest(buf_slice(&bytes), &state);
    ck_assert_uint_gt(state.log_segment_count, 0);
    ck_assert_uint_eq(state.snapshot_count, 1);
    buf_clear(&bytes);
    encode_format_1(&state, &bytes);
    OK(fs_replace(fs, name.data, buf_slice(&bytes), &err));
    fs_close(fs);
    buf_close(&name);
    buf_close(&bytes);
    manifest_state_close(&state);
}

/* A store of format 1 opens with all that is in it, and again once its log
 * is named by then. */
START_TEST(test_format_1)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct run_state r = {.seed = 2 * (test_seed() + seed)};
        r.world = sim_world_new(&(struct sim_options){.seed = r.seed});
        sim_run(r.world, history, &r);
        sim_run(r.world, make_format_1, &r);
        for (int i = 0; i < 2; i++) {
            sim_run(r.world, read_back, &r);
            ck_assert_msg(!r.refused, "%s", err.text);
        }
        world_free(r.world);
    }
}

END_TEST

TEST_MAIN("missing files",
          test_of_a_closed_store,
          test_of_one_that_was_killed,
          test_of_one_that_lost_power,
          test_format_1)
