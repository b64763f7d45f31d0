/* The store behaves like an obvious one: an array of cells, searched from end
 * to end, whatever is flushed, compacted, split or reopened in between. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/rand.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static struct err err;

/* --- Model --------------------------------------------------------------- */

enum {
    FAMILIES = 4,
    VERSIONS_KEPT = 2
};

static const char *const family_names[FAMILIES] = {"all", "two", "day", "far"};

#define DAY_US (INT64_C(86400) * 1000000)

struct cell {
    char row[8];
    size_t row_len;
    int family;
    char qualifier[8];
    size_t qualifier_len;
    int64_t time;
    char value[24];
    size_t value_len;
};

struct model {
    struct cell *cells;
    size_t count;
};

static int compare_bytes(const char *a, size_t n, const char *b, size_t m)
{
    return slice_cmp(slice_make(a, n), slice_make(b, m));
}

/* The order of a scan. */
static int compare_cells(const void *pa, const void *pb)
{
    const struct cell *a = pa;
    const struct cell *b = pb;
    int c = compare_bytes(a->row, a->row_len, b->row, b->row_len);
    if (c == 0)
        c = a->family - b->family;
    if (c == 0)
        c = compare_bytes(a->qualifier, a->qualifier_len, b->qualifier,
                          b->qualifier_len);
    if (c == 0)
        c = (a->time < b->time) - (a->time > b->time);
    return c;
}

static bool same_row(const struct cell *c, struct slice row)
{
    return slice_eq(slice_make(c->row, c->row_len), row);
}

static bool same_column(const struct cell *c,
                        struct slice row,
                        int family,
                        struct slice qualifier)
{
    return same_row(c, row) && c->family == family &&
           slice_eq(slice_make(c->qualifier, c->qualifier_len), qualifier);
}

static void model_remove(struct model *m, size_t i)
{
    m->cells[i] = m->cells[--m->count];
}

static void model_set(struct model *m,
                      struct slice row,
                      int family,
                      struct slice qualifier,
                      int64_t time,
                      struct slice value)
{
    struct cell c = {.row_len = row.len,
                     .family = family,
                     .qualifier_len = qualifier.len,
                     .time = time,
                     .value_len = value.len};
    memcpy(c.row, row.data, row.len);
    memcpy(c.qualifier, qualifier.data, qualifier.len);
    memcpy(c.value, value.data, value.len);
    for (size_t i = m->count; i-- > 0;)
        if (compare_cells(&m->cells[i], &c) == 0)
            model_remove(m, i);
    m->cells = realloc(m->cells, (m->count + 1) * sizeof(c));
    m->cells[m->count++] = c;
}

static void model_delete_cells(struct model *m,
                               struct slice row,
                               int family,
                               struct slice qualifier,
                               int64_t min,
                               int64_t max)
{
    for (size_t i = m->count; i-- > 0;)
        if (same_column(&m->cells[i], row, family, qualifier) &&
            ((min == 0 && max == 0) ||
             (m->cells[i].time >= min && m->cells[i].time < max)))
            model_remove(m, i);
}

static void model_delete_family(struct model *m, struct slice row, int family)
{
    for (size_t i = m->count; i-- > 0;)
        if (same_row(&m->cells[i], row) &&
            (family < 0 || m->cells[i].family == family))
            model_remove(m, i);
}

static void
model_drop_rows(struct model *m, struct slice start, struct slice end)
{
    for (size_t i = m->count; i-- > 0;) {
        struct slice row = slice_make(m->cells[i].row, m->cells[i].row_len);
        if (slice_cmp(row, start) >= 0 &&
            (end.len == 0 || slice_cmp(row, end) < 0))
            model_remove(m, i);
    }
}

/* The result of a scan of the model: sorted, collected, within [start, end) and
 * the newest @versions per column (0: all). */
static void model_dump(struct model *m,
                       struct slice start,
                       struct slice end,
                       unsigned versions,
                       int64_t now,
                       struct buf *out)
{
    unsigned kept = 0;
    if (m->count)
        qsort(m->cells, m->count, sizeof(*m->cells), compare_cells);
    for (size_t i = 0; i < m->count; i++) {
        const struct cell *c = &m->cells[i];
        struct slice row = slice_make(c->row, c->row_len);
        if (i == 0 || !same_column(&m->cells[i - 1], row, c->family,
                                   slice_make(c->qualifier, c->qualifier_len)))
            kept = 0;
        if ((c->family == 1 && kept >= VERSIONS_KEPT) ||
            (c->family == 2 && c->time < now - DAY_US))
            continue;
        kept++;
        if (versions && kept > versions)
            continue;
        if (slice_cmp(row, start) < 0 || (end.len && slice_cmp(row, end) >= 0))
            continue;
        buf_put_lslice(out, row);
        buf_append_str(out, family_names[c->family]);
        buf_put_lslice(out, slice_make(c->qualifier, c->qualifier_len));
        buf_put_le64(out, (uint64_t)c->time);
        buf_put_lslice(out, slice_make(c->value, c->value_len));
    }
}

/* --- Store --------------------------------------------------------------- */

struct run {
    struct rand_gen rand;
    struct model model;
    struct quarry *quarry;
    struct quarry_table *table;
    char target[512];
    int64_t now;
    unsigned value;
};

static void open_run(struct run *r)
{
    const struct quarry_options opts = {.memtable_bytes = 4 << 20,
                                        .cache_bytes = 8 << 20,
                                        .split_bytes = 256 << 10};
    OK(test_open(r->target, &opts, &r->quarry, &err));
}

static void close_run(struct run *r)
{
    quarry_table_close(r->table);
    quarry_close(r->quarry);
}

static void start_run(struct run *r, uint64_t seed)
{
    static const struct quarry_family_spec families[] = {
        {"all", ""},
        {"two", "versions=2"},
        {"day", "ttl=1d,group=other"},
        {"far", "group=other"}};
    static const struct quarry_group_spec groups[] = {
        {"default", "block=1KiB,memtable=64KiB"},
        {"other", "block=1KiB,compression=none,memtable=64KiB"}};
    memset(r, 0, sizeof(*r));
    rand_init(&r->rand, seed);
    r->now = (int64_t)time(NULL) * 1000000;
    test_new_target(r->target, sizeof(r->target));
    open_run(r);
    OK(quarry_table_create(r->quarry, "t", families, 4, groups, 2, &err));
    OK(quarry_table_open(r->quarry, "t", &r->table, &err));
}

static void scan_dump(struct run *r,
                      const struct quarry_read_options *opts,
                      struct buf *out)
{
    struct quarry_scanner *s;
    const struct quarry_row *row;
    OK(quarry_scan(r->table, opts, &s, &err));
    for (;;) {
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        ck_assert(row->cell_count > 0);
        for (size_t i = 0; i < row->cell_count; i++) {
            const struct quarry_cell *c = &row->cells[i];
            buf_put_lslice(out, row->key);
            buf_append_slice(out, c->family);
            buf_put_lslice(out, c->qualifier);
            buf_put_le64(out, (uint64_t)c->timestamp_us);
            buf_put_lslice(out, c->value);
        }
    }
    quarry_scanner_close(s);
}

static void compare_range(struct run *r,
                          struct slice start,
                          struct slice end,
                          unsigned versions)
{
    struct quarry_range range = {start, end};
    struct quarry_read_options opts = {
        .ranges = &range, .range_count = 1, .versions = versions};
    struct buf want = BUF_INIT;
    struct buf got = BUF_INIT;
    model_dump(&r->model, start, end, versions, r->now, &want);
    scan_dump(r, &opts, &got);
    ck_assert_uint_eq(got.len, want.len);
    if (want.len)
        ck_assert_mem_eq(got.data, want.data, want.len);
    buf_close(&want);
    buf_close(&got);
}

/* --- Operations ---------------------------------------------------------- */

static struct slice random_name(struct run *r, char room[8], size_t min)
{
    static const char alphabet[] = {'\0', '\1', 'a', 'b', '\xff'};
    size_t len = min + rand_below(&r->rand, 3);
    for (size_t i = 0; i < len; i++)
        room[i] = alphabet[rand_below(&r->rand, sizeof(alphabet))];
    return slice_make(room, len);
}

static int64_t random_time(struct run *r)
{
    int64_t t = 1 + (int64_t)rand_below(&r->rand, 6);
    /* Half of all times are old enough for the family that keeps a day. */
    return rand_one_in(&r->rand, 2) ? t : r->now - t * 1000;
}

static void
random_set(struct run *r, struct quarry_mutation *m, struct slice row)
{
    char q[8];
    char value[24];
    struct slice qualifier = random_name(r, q, 0);
    int family = (int)rand_below(&r->rand, FAMILIES);
    int64_t time = random_time(r);
    int n = snprintf(value, sizeof(value), "v%u", r->value++);
    quarry_mutation_set(m, family_names[family], qualifier, time,
                        slice_make(value, (size_t)n));
    model_set(&r->model, row, family, qualifier, time,
              slice_make(value, (size_t)n));
}

static void
random_delete(struct run *r, struct quarry_mutation *m, struct slice row)
{
    char q[8];
    struct slice qualifier = random_name(r, q, 0);
    int family = (int)rand_below(&r->rand, FAMILIES);
    int64_t min = 0;
    int64_t max = 0;
    switch (rand_below(&r->rand, 8)) {
    case 0:
        quarry_mutation_delete_row(m);
        model_delete_family(&r->model, row, -1);
        return;
    case 1:
    case 2:
        quarry_mutation_delete_family(m, family_names[family]);
        model_delete_family(&r->model, row, family);
        return;
    case 3:
    case 4:
    case 5: /* Which versions lie below is open where they are counted. */
        if (family == 1)
            break;
        min = random_time(r);
        max = min + 1 + (int64_t)rand_below(&r->rand, 3);
        break;
    default: break;
    }
    quarry_mutation_delete_cells(m, family_names[family], qualifier, min, max);
    model_delete_cells(&r->model, row, family, qualifier, min, max);
}

static struct quarry_mutation *random_mutation(struct run *r)
{
    char name[8];
    struct slice row = random_name(r, name, 1);
    struct quarry_mutation *m = quarry_mutation_new(row);
    size_t ops = 1 + rand_below(&r->rand, 4);
    while (ops-- > 0) {
        if (rand_one_in(&r->rand, 4))
            random_delete(r, m, row);
        else
            random_set(r, m, row);
    }
    return m;
}

static void write_some(struct run *r)
{
    struct quarry_write_options opts = {
        (enum quarry_durability)(1 + rand_below(&r->rand, 2))};
    struct quarry_mutation *batch[20];
    size_t count = 1 + rand_below(&r->rand, 20);
    for (size_t i = 0; i < count; i++)
        batch[i] = random_mutation(r);
    if (rand_one_in(&r->rand, 50))
        opts.durability = QUARRY_SYNCED;
    if (rand_one_in(&r->rand, 2)) {
        OK(quarry_apply_batch(r->table, batch, count, &opts, NULL, &err));
    } else {
        for (size_t i = 0; i < count; i++)
            OK(quarry_apply(r->table, batch[i], &opts, &err));
    }
    for (size_t i = 0; i < count; i++)
        quarry_mutation_free(batch[i]);
}

static void drop_some(struct run *r)
{
    char a[8];
    char b[8];
    struct slice start = random_name(r, a, 1);
    struct slice end = random_name(r, b, 1);
    if (slice_cmp(start, end) >= 0)
        return;
    OK(quarry_table_drop_rows(r->quarry, "t", start, end, &err));
    model_drop_rows(&r->model, start, end);
}

static void maintain(struct run *r)
{
    char name[8];
    switch (rand_below(&r->rand, 7)) {
    case 0: OK(quarry_flush(r->quarry, &err)); break;
    case 1: OK(quarry_table_compact(r->quarry, "t", &err)); break;
    case 2:
        OK(quarry_table_split(r->quarry, "t", random_name(r, name, 1), &err));
        break;
    case 3: drop_some(r); break;
    case 4:
        close_run(r);
        open_run(r);
        OK(quarry_table_open(r->quarry, "t", &r->table, &err));
        break;
    default: break;
    }
}

/* The newest value of a random column, and one row whole. */
static void read_some(struct run *r)
{
    char a[8];
    char b[8];
    struct slice row = random_name(r, a, 1);
    struct slice qualifier = random_name(r, b, 0);
    int family = (int)rand_below(&r->rand, FAMILIES);
    struct buf value = BUF_INIT;
    const struct cell *best = NULL;
    bool found;
    OK(quarry_get(r->table, row, family_names[family], qualifier, &value,
                  &found, &err));
    for (size_t i = 0; i < r->model.count; i++) {
        const struct cell *c = &r->model.cells[i];
        if (same_column(c, row, family, qualifier) &&
            (family != 2 || c->time >= r->now - DAY_US) &&
            (!best || c->time > best->time))
            best = c;
    }
    ck_assert_int_eq(found, best != NULL);
    if (best)
        ck_assert(slice_eq(buf_slice(&value),
                           slice_make(best->value, best->value_len)));
    buf_close(&value);
}

static void one_seed(uint64_t seed, int steps)
{
    struct run r;
    start_run(&r, seed);
    for (int i = 0; i < steps; i++) {
        char a[8];
        char b[8];
        struct slice start = random_name(&r, a, 0);
        struct slice end = random_name(&r, b, 0);
        write_some(&r);
        for (int k = 0; k < 5; k++)
            read_some(&r);
        if (rand_one_in(&r.rand, 6))
            maintain(&r);
        if (end.len == 0 || slice_cmp(start, end) < 0)
            compare_range(&r, start, end, (unsigned)rand_below(&r.rand, 3));
        if (rand_one_in(&r.rand, 8))
            compare_range(&r, SLICE_EMPTY, SLICE_EMPTY, 0);
    }
    compare_range(&r, SLICE_EMPTY, SLICE_EMPTY, 0);
    close_run(&r);
    free(r.model.cells);
}

/* --- Tests --------------------------------------------------------------- */

/* Random changes, reads and maintenance: store and model never differ. */
START_TEST(test_store_equals_model)
{
    uint64_t seed = test_seed();
    /* A cluster's calls take longer: fewer of them. */
    int seeds = test_cluster() ? 2 : 6;
    for (int i = 0; i < seeds; i++)
        one_seed(seed + (uint64_t)i, test_cluster() ? 60 : 300);
}

END_TEST

TEST_MAIN("model", test_store_equals_model)
