/* A comparison of two tables names the rows that differ, all of them and no
 * others, whatever they are cut into, flushed and compacted to, and whatever
 * families are called at the other end; mends them; and reads few others. In
 * the simulated world. */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry_replication.h"
#include "bigtable/read/row_digest.h"
#include "tests/lib/check_main.h"

enum {
    ROWS = 3000,
    VALUE = 150,
    ROUNDS = 6
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static const struct quarry_replication_family families[] = {{"f", "h"},
                                                            {"g", "a"}};
static const struct quarry_replication_spec spec = {.table = "t",
                                                    .target = "file:/there",
                                                    .families = families,
                                                    .family_count = 2};

struct pair {
    struct world *world;
    struct rand_gen rand;
    struct quarry *here;
    bool differs[ROWS];
    unsigned found;
};

/* --- Fixture ------------------------------------------------------------- */

static struct quarry *open_store(struct pair *p, const char *target)
{
    const struct quarry_options o = {
        .world = p->world, .background_tasks = 1, .memtable_bytes = 1 << 18};
    struct quarry *q;
    OK(quarry_open(target, &o, &q, &err));
    return q;
}

static void create(struct quarry *q, const char *first, const char *second)
{
    const struct quarry_family_spec f[] = {{first, ""}, {second, "group=x"}};
    const struct quarry_group_spec x = {"x", ""};
    OK(quarry_table_create_with_changes(q, "t", f, 2, &x, 1, "7d", &err));
}

static void row_name(unsigned i, char name[16])
{
    snprintf(name, 16, "row%05u", i);
}

static void set(struct quarry_table *t,
                const char *first,
                const char *second,
                unsigned i,
                unsigned version)
{
    char name[16];
    char value[VALUE];
    struct quarry_mutation *m;
    row_name(i, name);
    memset(value, (int)('a' + i % 26), sizeof(value));
    snprintf(value, sizeof(value), "%u", version);
    m = quarry_mutation_new(slice_str(name));
    quarry_mutation_set(m, first, SLICE_LIT("q"), 1000,
                        slice_make(value, sizeof(value)));
    if (i % 3 == 0)
        quarry_mutation_set(m, second, SLICE_LIT(""), 2000,
                            slice_make(value, sizeof(value)));
    OK(quarry_apply(t, m, NULL, &err));
    quarry_mutation_free(m);
}

static void fill(struct quarry *q, const char *first, const char *second)
{
    struct quarry_table *t;
    OK(quarry_table_open(q, "t", &t, &err));
    for (unsigned i = 0; i < ROWS; i++)
        set(t, first, second, i, i);
    quarry_table_close(t);
}

/* Cut it somewhere, and let files differ from those of the other end. */
static void shape(struct pair *p, struct quarry *q)
{
    char name[16];
    row_name((unsigned)rand_below(&p->rand, ROWS), name);
    (void)!quarry_table_split(q, "t", slice_str(name), &err);
    if (rand_one_in(&p->rand, 2))
        OK(quarry_flush(q, &err));
    if (rand_one_in(&p->rand, 2))
        OK(quarry_table_compact(q, "t", &err));
}

/* Let @count rows differ. */
static void spoil(struct pair *p, struct quarry *q, unsigned count)
{
    struct quarry_table *t;
    OK(quarry_table_open(q, "t", &t, &err));
    for (unsigned k = 0; k < count; k++) {
        unsigned i = (unsigned)rand_below(&p->rand, ROWS);
        struct quarry_mutation *m;
        char name[16];
        if (p->differs[i])
            continue;
        p->differs[i] = true;
        row_name(i, name);
        m = quarry_mutation_new(slice_str(name));
        if (rand_one_in(&p->rand, 2))
            quarry_mutation_delete_row(m);
        else
            quarry_mutation_set(m, "a", SLICE_LIT("more"), 1, SLICE_LIT("x"));
        OK(quarry_apply(t, m, NULL, &err));
        quarry_mutation_free(m);
    }
    quarry_table_close(t);
}

static void note_found(void *arg, const struct quarry_replication_difference *d)
{
    struct pair *p = arg;
    unsigned i;
    ck_assert_int_eq(sscanf(d->row.data, "row%05u", &i), 1);
    ck_assert_msg(i < ROWS && p->differs[i], "row %u does not differ", i);
    p->found++;
}

static struct quarry_replication_verify compare(struct pair *p, bool repair)
{
    struct quarry_replication_verify v = {
        .repair = repair, .found = note_found, .arg = p};
    struct quarry_replication *r;
    p->found = 0;
    OK(quarry_replication_open(p->here, &spec, &r, &err));
    OK(quarry_replication_verify(r, &v, &err));
    quarry_replication_close(r);
    return v;
}

/* --- Tests --------------------------------------------------------------- */

static void play(struct pair *p)
{
    struct quarry *there = open_store(p, "file:/there");
    p->here = open_store(p, "file:/here");
    create(p->here, "f", "g");
    create(there, "h", "a");
    fill(p->here, "f", "g");
    fill(there, "h", "a");
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct quarry_replication_verify v;
        unsigned differ = 0;
        shape(p, p->here);
        shape(p, there);
        memset(p->differs, 0, sizeof(p->differs));
        spoil(p, there, round * round);
        for (unsigned i = 0; i < ROWS; i++)
            differ += p->differs[i];
        quarry_close(there);
        v = compare(p, false);
        ck_assert_uint_eq(p->found, differ);
        ck_assert_uint_eq(v.different, differ);
        ck_assert_uint_eq(v.rows, ROWS);
        ck_assert_msg(differ > 1 || v.read < (differ ? ROWS : 1),
                      "%llu rows were read", (unsigned long long)v.read);
        v = compare(p, true);
        ck_assert_uint_eq(v.repaired, differ);
        v = compare(p, false);
        ck_assert_uint_eq(v.different + v.read, 0);
        there = open_store(p, "file:/there");
    }
    quarry_close(there);
    quarry_close(p->here);
}

static void run_pair(void *arg)
{
    play(arg);
}

START_TEST(test_rows_that_differ)
{
    struct pair *p = mem_zalloc(1, sizeof(*p));
    printf("seed %llu\n", test_seed());
    fflush(stdout);
    p->world = sim_world_new(&(struct sim_options){.seed = test_seed()});
    rand_init(&p->rand, test_seed());
    sim_run(p->world, run_pair, p);
    world_free(p->world);
    mem_free(p);
}

END_TEST

/* A request with mistakes is refused, and bytes that are no piece are not taken
 * for one. */
START_TEST(test_malformed_digests)
{
    static const char *const requests[] = {
        "native row_digest ", "native row_digest 0 f", "native row_digest f",
        "native row_digest 99999999999999999999 f"};
    const char bytes[] = {1, 1, 1, 0, 0, 0, 0, 0, 0, 0,
                          0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct quarry_cell cell = {.value = slice_make(bytes, 19)};
    struct quarry_row row = {SLICE_LIT("r"), &cell, 1};
    struct row_digest_piece piece;
    struct row_digest *d;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        ck_assert(row_digest_is_asked(slice_str(requests[i])));
        ck_assert_int_eq(row_digest_new(slice_str(requests[i]), &d, &err),
                         ERR_INVALID);
        ck_assert_ptr_null(d);
    }
    ck_assert(!row_digest_is_asked(SLICE_LIT("emit keep <- r;")));
    ck_assert(row_digest_read(&row, &piece));
    for (size_t n = 0; n <= 20; n++) {
        cell.value = slice_make(bytes, n);
        ck_assert(row_digest_read(&row, &piece) == (n == 19));
    }
    cell = (struct quarry_cell){.family = SLICE_LIT("f"),
                                .value = slice_make(bytes, 19)};
    ck_assert(!row_digest_read(&row, &piece));
}

END_TEST

TEST_MAIN("verify", test_rows_that_differ, test_malformed_digests)
