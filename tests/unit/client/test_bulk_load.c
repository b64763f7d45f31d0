/* A bulk load is as if its cells had been written when it was committed, by one
 * writer after the other: a model of newest values tells. It is loaded once,
 * however often it is committed, and not at all if a file of it is damaged. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/rpc/security.h"
#include "base/runtime/world.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

enum {
    ROWS = 80,
    TIMES = 4 /* Timestamps 1 to 4. */
};

static struct err err;
static char target[400];
static struct world *world;
static struct rpc_security *security;
static struct quarry *q;
static struct quarry_table *table;
/* Value of each cell; 0: none. In both families alike. */
static unsigned model[ROWS][TIMES];
static unsigned loads;

static void open_all(void)
{
    const struct quarry_options o = {.memtable_bytes = 4 << 20,
                                     .cache_bytes = 4 << 20};
    OK(test_open(target, &o, &q, &err));
}

static void setup(void)
{
    const struct quarry_family_spec f[2] = {{"f", ""}, {"g", "group=other"}};
    const struct quarry_group_spec g[1] = {{"other", "block=4KiB"}};
    world = world_real_new();
    if (test_cluster())
        OK(rpc_security_key(world, "quarry", "quarry",
                            getenv("QUARRY_TEST_KEY"), &security, &err));
    test_new_target(target, sizeof(target));
    memset(model, 0, sizeof(model));
    open_all();
    OK(quarry_table_create(q, "t", f, 2, g, 1, &err));
    OK(quarry_table_open(q, "t", &table, &err));
}

static void teardown(void)
{
    quarry_table_close(table);
    quarry_close(q);
    if (test_cluster())
        rpc_security_free(security);
    world_free(world);
}

static struct slice row_name(char room[16], size_t row)
{
    return slice_make(room,
                      (size_t)snprintf(room, 16, "row%03u", (unsigned)row));
}

static struct slice value_name(char room[16], unsigned n)
{
    return slice_make(room, (size_t)snprintf(room, 16, "%u", n));
}

/* --- loads --------------------------------------------------------------- */

static void
set_cell(struct quarry_bulk_writer *w, size_t row, int64_t time, unsigned n)
{
    char a[16];
    char b[16];
    struct slice value = value_name(b, n);
    OK(quarry_bulk_writer_set(w, row_name(a, row), "g", SLICE_LIT("q"), time,
                              value, &err));
    OK(quarry_bulk_writer_set(w, row_name(a, row), "f", SLICE_LIT("q"), time,
                              value, &err));
}

/* One part: some rows, some cells of each, in any order; what it wrote goes
 * into @out. */
static void write_part(struct rand_gen *r,
                       struct slice ticket,
                       const char *part,
                       unsigned n,
                       struct buf *files,
                       unsigned out[ROWS][TIMES])
{
    const struct quarry_bulk_place place = {.world = world,
                                            .security = security};
    struct quarry_bulk_writer *w;
    OK(quarry_bulk_writer_open(&place, ticket, part, &w, &err));
    for (size_t row = 0; row < ROWS; row++) {
        if (rand_one_in(r, 3))
            continue;
        for (int k = 0; k < 3; k++) {
            size_t time = rand_below(r, TIMES);
            set_cell(w, row, (int64_t)time + 1, n + (unsigned)k);
            out[row][time] = n + (unsigned)k;
        }
    }
    OK(quarry_bulk_writer_finish(w, files, &err));
    quarry_bulk_writer_free(w);
}

static void split_somewhere(struct rand_gen *r)
{
    char room[16];
    OK(quarry_table_split(q, "t", row_name(room, rand_below(r, ROWS)), &err));
}

/* A load of several parts, committed twice; splits in between. */
static void load(struct rand_gen *r, unsigned n)
{
    struct quarry_bulk_result result;
    struct buf ticket = BUF_INIT;
    struct buf files = BUF_INIT;
    char id[32];
    char part[32];
    snprintf(id, sizeof(id), "load-%d-%u", (int)getpid(), loads++);
    OK(quarry_bulk_begin(q, "t", id, &ticket, &err));
    for (unsigned i = 0; i < 1 + rand_below(r, 3); i++) {
        snprintf(part, sizeof(part), "part-%u", i);
        write_part(r, buf_slice(&ticket), part, n + 10 * i, &files, model);
    }
    if (rand_one_in(r, 2))
        split_somewhere(r);
    OK(quarry_bulk_commit(q, buf_slice(&ticket), buf_slice(&files), &result,
                          &err));
    ck_assert(result.tablets > 0 && result.tablets_before == 0);
    if (rand_one_in(r, 2))
        split_somewhere(r);
    OK(quarry_bulk_commit(q, buf_slice(&ticket), buf_slice(&files), &result,
                          &err));
    ck_assert(result.tablets == 0 && result.tablets_before > 0);
    buf_clear(&ticket);
    ck_assert_int_eq(quarry_bulk_begin(q, "t", id, &ticket, &err), ERR_EXISTS);
    buf_close(&ticket);
    buf_close(&files);
}

/* --- other changes ------------------------------------------------------- */

static void write_cell(size_t row, size_t time, unsigned n)
{
    char a[16];
    char b[16];
    struct quarry_mutation *m = quarry_mutation_new(row_name(a, row));
    quarry_mutation_set(m, "f", SLICE_LIT("q"), (int64_t)time + 1,
                        value_name(b, n));
    quarry_mutation_set(m, "g", SLICE_LIT("q"), (int64_t)time + 1,
                        value_name(b, n));
    OK(quarry_apply(table, m, NULL, &err));
    quarry_mutation_free(m);
    model[row][time] = n;
}

static void delete_row(size_t row)
{
    char a[16];
    struct quarry_mutation *m = quarry_mutation_new(row_name(a, row));
    quarry_mutation_delete_row(m);
    OK(quarry_apply(table, m, NULL, &err));
    quarry_mutation_free(m);
    memset(model[row], 0, sizeof(model[row]));
}

static void reopen(void)
{
    quarry_table_close(table);
    quarry_close(q);
    open_all();
    OK(quarry_table_open(q, "t", &table, &err));
}

static void step(struct rand_gen *r, unsigned n)
{
    switch (rand_below(r, 24)) {
    case 0: load(r, n * 100); break;
    case 1: split_somewhere(r); break;
    case 2:
        if (rand_one_in(r, 3))
            OK(quarry_table_compact(q, "t", &err));
        break;
    case 3:
        if (rand_one_in(r, 3))
            reopen();
        break;
    case 4:
    case 5:
    case 6: delete_row(rand_below(r, ROWS)); break;
    default:
        write_cell(rand_below(r, ROWS), rand_below(r, TIMES), n * 100);
        break;
    }
}

/* --- expectations -------------------------------------------------------- */

static void check_cells(const struct quarry_row *row)
{
    size_t r = strtoul(row->key.data + 3, NULL, 10);
    size_t i = 0;
    for (int family = 0; family < 2; family++)
        for (size_t t = TIMES; t > 0; t--) {
            char b[16];
            if (model[r][t - 1] == 0)
                continue;
            ck_assert_msg(i < row->cell_count, "row %zu: too few cells", r);
            ck_assert_int_eq(row->cells[i].timestamp_us, (int64_t)t);
            ck_assert_msg(
                slice_eq(row->cells[i].value, value_name(b, model[r][t - 1])),
                "row %zu time %zu: %.*s, should be %s", r, t,
                SLICE_ARG(row->cells[i].value), b);
            i++;
        }
    ck_assert_uint_eq(i, row->cell_count);
}

static bool has_cells(size_t r)
{
    for (size_t t = 0; t < TIMES; t++)
        if (model[r][t])
            return true;
    return false;
}

/* By a scan, by rows, and by columns. */
static void check_all(void)
{
    struct quarry_scanner *s;
    const struct quarry_row *row;
    struct buf value = BUF_INIT;
    size_t rows = 0;
    OK(quarry_scan(table, NULL, &s, &err));
    for (;;) {
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        check_cells(row);
        rows++;
    }
    quarry_scanner_close(s);
    for (size_t r = 0; r < ROWS; r++) {
        char a[16];
        bool found;
        OK(quarry_get(table, row_name(a, r), "g", SLICE_LIT("q"), &value,
                      &found, &err));
        ck_assert(found == has_cells(r));
        for (size_t t = TIMES; t > 0 && found; t--)
            if (model[r][t - 1]) {
                char b[16];
                ck_assert(slice_eq(buf_slice(&value),
                                   value_name(b, model[r][t - 1])));
                break;
            }
        rows -= has_cells(r);
    }
    ck_assert_uint_eq(rows, 0);
    buf_close(&value);
}

START_TEST(test_a_load_is_as_written)
{
    struct rand_gen r;
    unsigned steps = test_cluster() ? 100 : 250;
    setup();
    rand_init(&r, test_seed());
    for (unsigned n = 1; n <= steps; n++) {
        step(&r, n);
        if (n % 20 == 0)
            check_all();
    }
    load(&r, 1000000);
    check_all();
    OK(quarry_table_compact(q, "t", &err));
    check_all();
    teardown();
}

END_TEST

/* --- mistakes ------------------------------------------------------------ */

START_TEST(test_mistakes_are_told)
{
    const struct quarry_bulk_place *p;
    struct quarry_bulk_place here;
    struct quarry_bulk_writer *w;
    struct quarry_mutation *m;
    struct buf ticket = BUF_INIT;
    setup();
    here = (struct quarry_bulk_place){.world = world, .security = security};
    p = &here;
    ck_assert_int_eq(quarry_bulk_begin(q, "t", "../x", &ticket, &err),
                     ERR_INVALID);
    ck_assert_int_eq(quarry_bulk_begin(q, "no", "x", &ticket, &err),
                     ERR_NOTFOUND);
    OK(quarry_bulk_begin(q, "t", "x", &ticket, &err));
    ck_assert_int_eq(
        quarry_bulk_writer_open(p, SLICE_LIT("junk"), "a", &w, &err),
        ERR_CORRUPT);
    OK(quarry_bulk_writer_open(p, buf_slice(&ticket), "a", &w, &err));
    ck_assert_int_eq(quarry_bulk_writer_set(w, SLICE_LIT("r"), "no",
                                            SLICE_EMPTY, 1, SLICE_EMPTY, &err),
                     ERR_NOTFOUND);
    m = quarry_mutation_new(SLICE_LIT("r"));
    quarry_mutation_delete_row(m);
    ck_assert_int_eq(quarry_bulk_writer_add(w, m, &err), ERR_INVALID);
    quarry_mutation_free(m);
    set_cell(w, 5, 1, 1);
    ck_assert_int_eq(quarry_bulk_writer_set(w, SLICE_LIT("a"), "f", SLICE_EMPTY,
                                            1, SLICE_EMPTY, &err),
                     ERR_INVALID);
    quarry_bulk_writer_free(w);
    OK(quarry_bulk_abandon(q, buf_slice(&ticket), &err));
    OK(quarry_bulk_abandon(q, buf_slice(&ticket), &err));
    check_all();
    buf_close(&ticket);
    teardown();
}

END_TEST

/* Change a byte of the load's only file. */
static void damage(const char *file, long at)
{
    int fd = open(file, O_RDWR);
    char c;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &c, 1, at), 1);
    c = (char)(c ^ 0x10);
    ck_assert_int_eq(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

START_TEST(test_damage_is_refused_anywhere)
{
    struct quarry_bulk_place place;
    struct quarry_bulk_writer *w;
    struct buf ticket = BUF_INIT;
    struct buf files = BUF_INIT;
    char path[500];
    SKIP_ON_CLUSTER("its files are not ours to damage");
    setup();
    place = (struct quarry_bulk_place){.world = world};
    OK(quarry_bulk_begin(q, "t", "x", &ticket, &err));
    OK(quarry_bulk_writer_open(&place, buf_slice(&ticket), "p", &w, &err));
    for (size_t row = 0; row < ROWS; row++) {
        char a[16];
        OK(quarry_bulk_writer_set(w, row_name(a, row), "f", SLICE_LIT("q"), 1,
                                  SLICE_LIT("1"), &err));
    }
    OK(quarry_bulk_writer_finish(w, &files, &err));
    quarry_bulk_writer_free(w);
    snprintf(path, sizeof(path), "%s/load/x/p+1+0.sst",
             target + strlen("file:"));
    for (long at = 0;; at += 31) {
        FILE *f = fopen(path, "r");
        long size;
        ck_assert_ptr_nonnull(f);
        fseek(f, 0, SEEK_END);
        size = ftell(f);
        fclose(f);
        if (at >= size)
            break;
        damage(path, at);
        ck_assert_msg(quarry_bulk_commit(q, buf_slice(&ticket),
                                         buf_slice(&files), NULL, &err) != 0,
                      "byte %ld of %ld", at, size);
        ck_assert_msg(strstr(err.text, "p+1+0.sst"), "%s", err.text);
        damage(path, at);
    }
    check_all();
    OK(quarry_bulk_commit(q, buf_slice(&ticket), buf_slice(&files), NULL,
                          &err));
    buf_close(&ticket);
    buf_close(&files);
    teardown();
}

END_TEST

/* --- in one call --------------------------------------------------------- */

static int
next_cell(void *ctx, struct quarry_bulk_cell *c, bool *more, struct err *e)
{
    static char a[16];
    static char b[16];
    size_t *row = ctx;
    (void)e;
    *more = *row < ROWS;
    if (!*more)
        return 0;
    *c = (struct quarry_bulk_cell){row_name(a, *row), "f", SLICE_LIT("q"), 1,
                                   value_name(b, (unsigned)*row)};
    ++*row;
    return 0;
}

START_TEST(test_a_load_in_one_call)
{
    struct quarry_bulk_result result;
    size_t row = 0;
    char a[16];
    struct buf value = BUF_INIT;
    bool found;
    char id[32];
    setup();
    snprintf(id, sizeof(id), "one-%d", (int)getpid());
    OK(quarry_bulk_load(q, "t", id, next_cell, &row, &result, &err));
    ck_assert_uint_eq(result.cells, ROWS);
    OK(quarry_get(table, row_name(a, 17), "f", SLICE_LIT("q"), &value, &found,
                  &err));
    ck_assert(found && slice_eq(buf_slice(&value), SLICE_LIT("17")));
    buf_close(&value);
    teardown();
}

END_TEST

TEST_MAIN("bulk_load",
          test_a_load_is_as_written,
          test_mistakes_are_told,
          test_damage_is_refused_anywhere,
          test_a_load_in_one_call)
