/* A disk that fills up, fails once, or lies: writes fail with a clear error,
 * nothing acknowledged is lost, and damage is reported and never returned. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

enum {
    ROWS = 40,
    VALUE_BYTES = 3000
};

struct scene {
    struct world *world;
    struct quarry *quarry;
    struct quarry_table *table;
    bool acked[ROWS];
    int written;
    struct err err; /* Of the first failure. */
    uint64_t seed;
    const char *damaged; /* File that was damaged. */
};

static const struct quarry_options options = {.memtable_bytes = 256 << 10,
                                              .cache_bytes = 1 << 20};

static int open_scene(struct scene *s, struct err *err)
{
    struct quarry_options o = options;
    o.world = s->world;
    return quarry_open("file:/db", &o, &s->quarry, err);
}

static int create_scene(struct scene *s, struct err *err)
{
    static const struct quarry_family_spec f = {"a", ""};
    static const struct quarry_group_spec g = {
        "default", "memtable=64KiB,block=4KiB,compression=none"};
    int rc = open_scene(s, err);
    if (rc)
        return rc;
    rc = quarry_table_create(s->quarry, "t", &f, 1, &g, 1, err);
    if (rc == ERR_EXISTS)
        rc = 0;
    if (rc == 0)
        rc = quarry_table_open(s->quarry, "t", &s->table, err);
    if (rc)
        quarry_close(s->quarry);
    return rc;
}

static void close_scene(struct scene *s)
{
    quarry_table_close(s->table);
    quarry_close(s->quarry);
}

static void fill(char value[VALUE_BYTES], int row)
{
    memset(value, 'a' + row % 26, VALUE_BYTES);
    snprintf(value, VALUE_BYTES, "value of row %d", row);
}

static int write_row(struct scene *s, int row, struct err *err)
{
    char name[16];
    char value[VALUE_BYTES];
    struct quarry_mutation *m;
    int rc;
    snprintf(name, sizeof(name), "row%d", row % 1000);
    fill(value, row);
    m = quarry_mutation_new(slice_str(name));
    quarry_mutation_set(m, "a", SLICE_EMPTY, 1,
                        slice_make(value, sizeof(value)));
    rc = quarry_apply(s->table, m, NULL, err);
    quarry_mutation_free(m);
    return rc;
}

static void write_until_failure(struct scene *s)
{
    for (int i = 0; i < ROWS; i++) {
        if (write_row(s, i, &s->err))
            return;
        s->acked[i] = true;
        s->written++;
    }
}

/* The value of row @row is right, or the read fails when it may. */
static bool row_is_right(struct scene *s, int row, bool may_fail)
{
    struct buf value = BUF_INIT;
    struct err err = ERR_INIT;
    char name[16];
    char want[VALUE_BYTES];
    bool found;
    int rc;
    snprintf(name, sizeof(name), "row%d", row);
    fill(want, row);
    rc = quarry_get(s->table, slice_str(name), "a", SLICE_EMPTY, &value, &found,
                    &err);
    if (rc) {
        ck_assert_msg(may_fail && strstr(err.text, "db/") == NULL &&
                          strstr(err.text, "sst"),
                      "%s", err.text);
        buf_close(&value);
        return false;
    }
    ck_assert_msg(found || !s->acked[row], "row %d is gone", row);
    if (found)
        ck_assert(slice_eq(buf_slice(&value), slice_make(want, sizeof(want))));
    buf_close(&value);
    return true;
}

static void check_rows(struct scene *s)
{
    for (int i = 0; i < ROWS; i++)
        row_is_right(s, i, false);
}

/* --- A full disk --------------------------------------------------------- */

static void fill_disk(void *arg)
{
    struct scene *s = arg;
    struct err err = ERR_INIT;
    ck_assert_msg(create_scene(s, &err) == 0, "%s", err.text);
    sim_set_disk_bytes(s->world, sim_disk_bytes(s->world) + 60000);
    write_until_failure(s);
    ck_assert_int_lt(s->written, ROWS);
    ck_assert_int_eq(s->err.code, ERR_FULL);
    ck_assert_msg(strstr(s->err.text, "no space") ||
                      strstr(s->err.text, "No space"),
                  "%s", s->err.text);
    check_rows(s);
    /* Space returns: so does writing, without reopening. */
    sim_set_disk_bytes(s->world, 0);
    world_sleep_us(s->world, 3000000);
    for (int i = s->written; i < ROWS; i++) {
        ck_assert_msg(write_row(s, i, &err) == 0, "%s", err.text);
        s->acked[i] = true;
    }
    check_rows(s);
    close_scene(s);
    ck_assert_msg(create_scene(s, &err) == 0, "%s", err.text);
    check_rows(s);
    close_scene(s);
}

/* Writes fail and reads continue; when there is space again, writes succeed. */
START_TEST(test_full_disk)
{
    struct scene s = {.seed = test_seed()};
    s.world = sim_world_new(&(struct sim_options){.seed = s.seed});
    sim_run(s.world, fill_disk, &s);
    world_free(s.world);
}

END_TEST

/* --- An operation that fails --------------------------------------------- */

static void work_with_fault(void *arg)
{
    struct scene *s = arg;
    struct err err = ERR_INIT;
    if (create_scene(s, &err))
        return;
    write_until_failure(s);
    if (quarry_flush(s->quarry, NULL) != 0 ||
        quarry_table_compact(s->quarry, "t", NULL) != 0)
        s->written = -1; /* It was told: that is enough. */
    close_scene(s);
}

static void check_after_fault(void *arg)
{
    struct scene *s = arg;
    struct err err = ERR_INIT;
    ck_assert_msg(create_scene(s, &err) == 0, "%s", err.text);
    check_rows(s);
    close_scene(s);
}

/* Each operation on the disk fails once, in turn: what was acknowledged is
 * there after reopening. */
START_TEST(test_every_operation_fails_once)
{
    uint64_t seed = test_seed();
    uint64_t last = 1;
    for (uint64_t n = 1; n <= last; n++) {
        struct scene s = {.seed = seed};
        s.world = sim_world_new(&(struct sim_options){.seed = seed});
        sim_fail_at_op(s.world, n);
        sim_run(s.world, work_with_fault, &s);
        last = MAX_OF(last, sim_op_count(s.world));
        sim_fail_at_op(s.world, 0);
        sim_run(s.world, check_after_fault, &s);
        world_free(s.world);
    }
    printf("%llu operations\n", (unsigned long long)last);
}

END_TEST

/* --- Damage -------------------------------------------------------------- */

static void make_store(void *arg)
{
    struct scene *s = arg;
    struct err err = ERR_INIT;
    ck_assert_msg(create_scene(s, &err) == 0, "%s", err.text);
    write_until_failure(s);
    ck_assert_int_eq(s->written, ROWS);
    ck_assert_msg(quarry_flush(s->quarry, &err) == 0, "%s", err.text);
    close_scene(s);
}

static void read_damaged(void *arg)
{
    struct scene *s = arg;
    struct err err = ERR_INIT;
    int rc = create_scene(s, &err);
    if (rc) {
        ck_assert_msg(rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED, "%s",
                      err.text);
        ck_assert_msg(strstr(err.text, s->damaged) != NULL, "%s: %s",
                      s->damaged, err.text);
        return;
    }
    for (int i = 0; i < ROWS; i++)
        row_is_right(s, i, true);
    close_scene(s);
}

/* Flip a bit of a file in @dir; false when there is none. */
static bool
damage(struct scene *s, struct rand_gen *r, const char *dir, const char *part)
{
    char **names;
    size_t count;
    char path[512];
    struct file_info info;
    bool done = false;
    if (world_list(s->world, dir, &names, &count, NULL))
        return false;
    for (size_t i = 0; i < count && !done; i++) {
        if (!strstr(names[i], part))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        if (world_stat(s->world, path, &info, NULL) || info.size_bytes == 0)
            continue;
        ck_assert_int_eq(sim_flip_bit(s->world, path,
                                      rand_below(r, info.size_bytes),
                                      (unsigned)rand_below(r, 8), NULL),
                         0);
        done = true;
    }
    world_names_free(names, count);
    s->damaged = part;
    return done;
}

/* A flipped bit anywhere in a table or the manifest: a read gives the right
 * value or an error that names the file. */
START_TEST(test_flipped_bits)
{
    uint64_t seed = test_seed();
    struct rand_gen r;
    rand_init(&r, seed);
    for (int i = 0; i < 150; i++) {
        struct scene s = {.seed = seed};
        bool done;
        s.world = sim_world_new(&(struct sim_options){.seed = seed});
        sim_run(s.world, make_store, &s);
        done = i % 3 ? damage(&s, &r, "/db/tables", ".sst")
                     : damage(&s, &r, "/db", "manifest-");
        ck_assert(done);
        sim_run(s.world, read_damaged, &s);
        world_free(s.world);
    }
}

END_TEST

TEST_MAIN("crash_faults",
          test_full_disk,
          test_every_operation_fails_once,
          test_flipped_bits)
