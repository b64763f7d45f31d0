/* Rows are assembled whole and right from sources that leave values in place
 * only while they are in one block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "bigtable/row/read_row.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

enum {
    ROWS = 8,
    FAMILIES = 2, /* Each in a group of its own. */
    COLUMNS = 4,
    TIMES = 24,
    VALUE_BYTES_MAX_HERE = 24,
    ENTRIES_MAX = ROWS * COLUMNS * TIMES
};

static struct err err;

/* A stored cell; `present` says whether it is there. */
struct cell {
    bool present;
    size_t value_len;
    char value[VALUE_BYTES_MAX_HERE];
};

static struct cell cells[ROWS][FAMILIES][COLUMNS][TIMES];

/* Names with zero bytes are escaped in keys. */
static struct slice name_of(char *room, size_t size, char letter, int i)
{
    int n = snprintf(room, size, "%c%02d", letter, i);
    if (i % 3 == 1)
        room[1] = '\0';
    return slice_make(room, (size_t)n);
}

/* A sorted array as a source. Its entries lie in blocks: the values of the one
 * it is in are in `window`, and nowhere else. */
struct array_source {
    size_t count;
    struct buf keys[ENTRIES_MAX];
    const struct cell *values[ENTRIES_MAX];
    bool ends_block[ENTRIES_MAX];
    size_t at;
    char window[ENTRIES_MAX][VALUE_BYTES_MAX_HERE];
};

static void array_show(struct entry_source *e, bool other_block)
{
    struct array_source *s = e->it;
    if (other_block) {
        memset(s->window, '#', sizeof(s->window));
        for (size_t i = s->at; i < s->count; i++) {
            memcpy(s->window[i], s->values[i]->value, s->values[i]->value_len);
            if (s->ends_block[i])
                break;
        }
    }
    e->valid = s->at < s->count;
    if (!e->valid)
        return;
    e->key = buf_slice(&s->keys[s->at]);
    e->value = slice_make(s->window[s->at], s->values[s->at]->value_len);
    e->stays = !s->ends_block[s->at];
}

static int
array_seek(struct entry_source *e, struct slice key, struct err *unused)
{
    struct array_source *s = e->it;
    (void)unused;
    s->at = 0;
    while (s->at < s->count && slice_cmp(buf_slice(&s->keys[s->at]), key) < 0)
        s->at++;
    array_show(e, true);
    return 0;
}

static int array_next(struct entry_source *e, struct err *unused)
{
    struct array_source *s = e->it;
    bool crosses = s->ends_block[s->at];
    (void)unused;
    s->at++;
    array_show(e, crosses);
    return 0;
}

static const struct entry_source_ops array_ops = {array_seek, array_next};

static struct array_source arrays[FAMILIES];

static void add_entry(int row, int family, int column, int time)
{
    struct array_source *s = &arrays[family];
    char row_room[16];
    char column_room[16];
    const struct cell_key k = {
        .row = name_of(row_room, sizeof(row_room), 'r', row),
        .qualifier = name_of(column_room, sizeof(column_room), 'c', column),
        .timestamp_us = time,
        .sequence = 1,
        .family = (family_id)(family + 1),
        .kind = ENTRY_PUT};
    buf_clear(&s->keys[s->count]);
    cell_key_append(&s->keys[s->count], &k);
    s->values[s->count++] = &cells[row][family][column][time];
}

static int compare_keys(const void *a, const void *b)
{
    return slice_cmp(buf_slice(a), buf_slice(b));
}

/* The keys of one array in order, and their values with them. */
static void sort_array(struct array_source *s)
{
    static struct {
        struct buf key;
        const struct cell *value;
    } all[ENTRIES_MAX];

    for (size_t i = 0; i < s->count; i++) {
        all[i].key = s->keys[i];
        all[i].value = s->values[i];
    }
    qsort(all, s->count, sizeof(all[0]), compare_keys);
    for (size_t i = 0; i < s->count; i++) {
        s->keys[i] = all[i].key;
        s->values[i] = all[i].value;
    }
}

static void draw_cells(struct rand_gen *r)
{
    uint64_t density = 1 + rand_below(r, 6);
    uint64_t per_block = 1 + rand_below(r, 9);
    for (int f = 0; f < FAMILIES; f++)
        arrays[f].count = 0;
    for (int i = 0; i < ROWS * FAMILIES * COLUMNS * TIMES; i++) {
        int time = i % TIMES;
        int column = i / TIMES % COLUMNS;
        int family = i / TIMES / COLUMNS % FAMILIES;
        int row = i / TIMES / COLUMNS / FAMILIES;
        struct cell *c = &cells[row][family][column][time];
        c->present = rand_below(r, 6) < density;
        c->value_len = rand_below(r, VALUE_BYTES_MAX_HERE);
        for (size_t b = 0; b < c->value_len; b++)
            c->value[b] = (char)('a' + rand_below(r, 26));
        if (c->present)
            add_entry(row, family, column, time);
    }
    for (int f = 0; f < FAMILIES; f++) {
        sort_array(&arrays[f]);
        for (size_t i = 0; i < arrays[f].count; i++)
            arrays[f].ends_block[i] =
                i + 1 == arrays[f].count || rand_one_in(r, per_block);
    }
}

/* --- Expectations -------------------------------------------------------- */

/* Columns in the order of their keys: escaped names sort as plain ones do. */
static void columns_in_order(int order[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        int k = i;
        order[i] = i;
        for (; k > 0; k--) {
            char a[16];
            char b[16];
            if (slice_cmp(name_of(a, sizeof(a), 'c', order[k - 1]),
                          name_of(b, sizeof(b), 'c', order[k])) <= 0)
                break;
            int t = order[k];
            order[k] = order[k - 1];
            order[k - 1] = t;
        }
    }
}

static void expect_cell(const struct quarry_cell *got,
                        int family,
                        int column,
                        int time,
                        const struct cell *want)
{
    static const char *const names[] = {"f", "g"};
    char room[16];
    ck_assert(slice_eq_str(got->family, names[family]));
    ck_assert(
        slice_eq(got->qualifier, name_of(room, sizeof(room), 'c', column)));
    ck_assert_int_eq(got->timestamp_us, time);
    ck_assert_uint_eq(got->value.len, want->value_len);
    if (want->value_len)
        ck_assert_mem_eq(got->value.data, want->value, want->value_len);
}

/* @got is row @row as options want it. Returns the cells of it. */
static size_t expect_row(const struct quarry_row *got,
                         int row,
                         const struct row_reader_options *o)
{
    int order[COLUMNS];
    size_t n = 0;
    columns_in_order(order);
    for (int f = 0; f < FAMILIES; f++)
        for (int c = 0; o->families[f + 1] && c < COLUMNS; c++) {
            uint32_t shown = 0;
            for (int t = TIMES - 1; t >= 0 && shown < o->versions; t--) {
                const struct cell *want = &cells[row][f][order[c]][t];
                if (!want->present || t < o->time_min_us || t >= o->time_max_us)
                    continue;
                if (o->cell_limit && n == o->cell_limit)
                    break;
                if (got) {
                    ck_assert_uint_lt(n, got->cell_count);
                    expect_cell(&got->cells[n], f, order[c], t, want);
                }
                n++;
                shown++;
            }
        }
    if (got)
        ck_assert_uint_eq(got->cell_count, n);
    return n;
}

static int row_index(struct slice key)
{
    for (int i = 0; i < ROWS; i++) {
        char room[16];
        if (slice_eq(key, name_of(room, sizeof(room), 'r', i)))
            return i;
    }
    ck_abort_msg("a row that is not there");
    return -1;
}

/* --- Tests --------------------------------------------------------------- */

static void read_all(const struct schema *schema, struct rand_gen *r)
{
    const int64_t first = (int64_t)rand_below(r, TIMES);
    const int64_t end =
        first + 1 + (int64_t)rand_below(r, (uint64_t)(TIMES - first));
    const uint8_t families[FAMILIES + 1] = {0, rand_below(r, 4) > 0, 1};
    const struct row_reader_options opts = {
        .schema = schema,
        .families = families,
        .versions = 1 + (uint32_t)rand_below(r, 9),
        .time_min_us = first,
        .time_max_us = end,
        .cell_limit = (uint32_t)rand_below(r, 4)};
    struct entry_source sources[FAMILIES];
    const struct quarry_row *row;
    bool seen[ROWS] = {false};
    struct row_reader reader;
    for (int f = 0; f < FAMILIES; f++)
        sources[f] = (struct entry_source){.it = &arrays[f], .ops = &array_ops};
    row_reader_init(&reader, &opts);
    row_reader_set_sources(&reader, sources, FAMILIES);
    ck_assert_int_eq(row_reader_seek(&reader, SLICE_EMPTY, SLICE_EMPTY, &err),
                     0);
    for (;;) {
        ck_assert_int_eq(row_reader_next(&reader, &row, &err), 0);
        if (!row)
            break;
        int i = row_index(row->key);
        ck_assert(!seen[i]);
        seen[i] = true;
        ck_assert_uint_gt(expect_row(row, i, &opts), 0);
    }
    for (int i = 0; i < ROWS; i++)
        if (!seen[i])
            ck_assert_uint_eq(expect_row(NULL, i, &opts), 0);
    row_reader_close(&reader);
}

/* Every cell of every row comes as it was stored, whatever blocks it lay in,
 * with versions, times, families and the rest of rows left out (which makes the
 * reader skip and seek). */
START_TEST(test_rows_across_blocks)
{
    struct schema *schema = schema_new();
    struct rand_gen r;
    rand_init(&r, test_seed());
    ck_assert_int_eq(schema_add_family(schema, "f", "", &err), 0);
    ck_assert_int_eq(schema_add_family(schema, "g", "", &err), 0);
    for (int i = 0; i < 100; i++) {
        draw_cells(&r);
        read_all(schema, &r);
    }
    for (int f = 0; f < FAMILIES; f++)
        for (size_t i = 0; i < ENTRIES_MAX; i++)
            buf_close(&arrays[f].keys[i]);
    schema_free(schema);
}

END_TEST

TEST_MAIN("read_row", test_rows_across_blocks)
