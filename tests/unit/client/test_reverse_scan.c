/* A scan in descending order gives the rows of the ascending one, the other way
 * round, whatever is selected and however large rows are; with a limit, the
 * last of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "bigtable/client/reverse_scan.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

enum {
    ROWS_MAX = 1000,
    KEY_SIZE = 24,
    READS = 60
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* --- a table ------------------------------------------------------------- */

struct reversible {
    struct quarry *quarry;
    struct quarry_table *table;
};

/* Keys in clusters: what lies in the middle of two is seldom a row. */
static struct slice random_key(char room[KEY_SIZE])
{
    static const char *const heads[] = {"", "com.example/", "zz", "\xff\xff"};
    int n = snprintf(room, KEY_SIZE, "%s%03x", heads[rand() % 4],
                     (unsigned)rand() % 200);
    if (rand() % 50 == 0)
        room[n++] = '\0';
    return slice_make(room, (size_t)n);
}

static void write_row(struct reversible *r, size_t large)
{
    static char value[400 << 10];
    char room[KEY_SIZE];
    struct quarry_mutation *m = quarry_mutation_new(random_key(room));
    for (int i = rand() % 4; i >= 0; i--) {
        size_t len = (size_t)rand() % 40;
        char column[8];
        snprintf(column, sizeof(column), "%d", rand() % 5);
        if (large && rand() % large == 0)
            len = (size_t)rand() % sizeof(value);
        memset(value, 'a' + rand() % 26, len);
        quarry_mutation_set(m, rand() % 2 ? "a" : "b", slice_str(column),
                            1000 + rand() % 5, slice_make(value, len));
    }
    OK(quarry_apply(r->table, m, NULL, &err));
    quarry_mutation_free(m);
}

static void reversible_open(struct reversible *r, int rows, size_t large)
{
    static const struct quarry_family_spec specs[] = {{"a", NULL}, {"b", NULL}};
    char target[300];
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &r->quarry, &err));
    OK(quarry_table_create(r->quarry, "t", specs, 2, NULL, 0, &err));
    OK(quarry_table_open(r->quarry, "t", &r->table, &err));
    for (int i = 0; i < rows; i++)
        write_row(r, large);
}

static void reversible_close(struct reversible *r)
{
    quarry_table_close(r->table);
    quarry_close(r->quarry);
}

/* --- rows as text -------------------------------------------------------- */

struct row_texts {
    struct buf items[ROWS_MAX];
    size_t count;
};

static void row_text(const struct quarry_row *row, struct buf *out)
{
    buf_append_slice(out, row->key);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        buf_printf(out, "|%.*s:%.*s@%lld=%zu/%llx", (int)c->family.len,
                   c->family.data, (int)c->qualifier.len, c->qualifier.data,
                   (long long)c->timestamp_us, c->value.len,
                   (unsigned long long)hash64_slice(c->value));
    }
}

/* Rows without cells show progress alone: they only must not come too late. */
static void read_rows(struct reversible *r,
                      const struct quarry_read_options *o,
                      struct row_texts *out)
{
    const struct quarry_row *row = NULL;
    struct quarry_scanner *s;
    OK(quarry_scan(r->table, o, &s, &err));
    out->count = 0;
    while (quarry_scanner_next(s, &row, &err) == 0 && row) {
        ck_assert_uint_lt(out->count, ROWS_MAX);
        if (row->cell_count)
            row_text(row, &out->items[out->count++]);
    }
    ck_assert_msg(!row, "%s", err.text);
    quarry_scanner_close(s);
}

static void row_texts_close(struct row_texts *t)
{
    for (size_t i = 0; i < t->count; i++)
        buf_close(&t->items[i]);
}

/* --- properties ---------------------------------------------------------- */

static void expect_reversed(struct reversible *r, struct quarry_read_options o)
{
    static struct row_texts up, down;
    size_t wanted;
    o.row_limit = 0;
    read_rows(r, &o, &up);
    o.reversed = true;
    o.row_limit = rand() % 2 ? 0 : 1 + (uint64_t)rand() % 20;
    o.progress_rows = (uint32_t)rand() % 3;
    read_rows(r, &o, &down);
    wanted = o.row_limit ? MIN_OF(o.row_limit, up.count) : up.count;
    ck_assert_uint_eq(down.count, wanted);
    for (size_t i = 0; i < wanted; i++)
        ck_assert(slice_eq(buf_slice(&down.items[i]),
                           buf_slice(&up.items[up.count - 1 - i])));
    row_texts_close(&up);
    row_texts_close(&down);
}

/* Some ranges, which may be empty, overlap or have no bound, and keys. */
static void expect_some_rows(struct reversible *r, struct quarry_read_options o)
{
    static char rooms[10][KEY_SIZE];
    struct quarry_range ranges[3];
    struct slice keys[4];
    for (int i = 0; i < 3; i++) {
        ranges[i].start = random_key(rooms[2 * i]);
        ranges[i].end = random_key(rooms[2 * i + 1]);
        if (rand() % 8 == 0)
            ranges[i].end.len = 0;
    }
    for (int i = 0; i < 4; i++)
        keys[i] = random_key(rooms[6 + i]);
    o.ranges = ranges;
    o.range_count = (size_t)rand() % 4;
    o.keys = keys;
    o.key_count = (size_t)rand() % 5;
    expect_reversed(r, o);
}

static void expect_all_ways(struct reversible *r)
{
    static const char *const b[] = {"b"};
    static const char keep[] =
        "r: Row = input; if (len(r.key) % 2 == 0) emit keep <- r;";
    for (int i = 0; i < READS; i++) {
        struct quarry_filter *f =
            rand() % 3 ? NULL : quarry_filter_value_regex(SLICE_LIT("[a-m]*"));
        struct quarry_read_options o = {
            .filter = f,
            .families = b,
            .family_count = rand() % 3 == 0,
            .versions = (uint32_t)rand() % 3,
            .keys_only = rand() % 4 == 0,
        };
        if (rand() % 6 == 0) {
            o.program = keep;
            o.program_len = sizeof(keep) - 1;
        }
        expect_some_rows(r, o);
        quarry_filter_free(f);
    }
}

START_TEST(test_small_rows)
{
    struct reversible r;
    reversible_open(&r, 1500, 0);
    expect_all_ways(&r);
    reversible_close(&r);
}

END_TEST

/* Windows are cut: a table of some 20 MB that was not split yet. */
START_TEST(test_large_rows)
{
    struct reversible r;
    reversible_open(&r, 150, 2);
    expect_all_ways(&r);
    reversible_close(&r);
}

END_TEST

START_TEST(test_nothing)
{
    const struct quarry_range none = {SLICE_LIT("b"), SLICE_LIT("a")};
    struct quarry_read_options o = {.ranges = &none, .range_count = 1};
    struct reversible r;
    reversible_open(&r, 0, 0);
    expect_reversed(&r, (struct quarry_read_options){.versions = 1});
    write_row(&r, 0);
    expect_reversed(&r, o);
    reversible_close(&r);
}

END_TEST

/* Errors of a read are told by quarry_scan(), as of other scans. */
START_TEST(test_reverse_errors)
{
    static const char *const unknown[] = {"nosuch"};
    const struct quarry_read_options o = {
        .families = unknown, .family_count = 1, .reversed = true};
    const struct quarry_read_options run = {.reversed = true};
    struct quarry_scanner *s;
    struct reversible r;
    reversible_open(&r, 3, 0);
    ck_assert_int_eq(quarry_scan(r.table, &o, &s, &err), ERR_NOTFOUND);
    ck_assert_ptr_null(s);
    ck_assert_int_eq(quarry_run_program(r.table, &run, NULL, NULL, &err),
                     ERR_UNSUPPORTED);
    reversible_close(&r);
}

END_TEST

/* A middle is between its bounds, and halving ends. */
START_TEST(test_middle)
{
    struct buf middle = BUF_INIT;
    for (int i = 0; i < 2000; i++) {
        char a[KEY_SIZE], b[KEY_SIZE];
        struct slice low = random_key(a);
        struct slice high = rand() % 10 ? random_key(b) : SLICE_EMPTY;
        struct buf at = BUF_INIT;
        int steps = 0;
        if (high.len && slice_cmp(low, high) >= 0)
            continue;
        buf_append_slice(&at, low);
        while (reverse_scan_middle(buf_slice(&at), high, &middle)) {
            ck_assert_int_gt(slice_cmp(buf_slice(&middle), buf_slice(&at)), 0);
            ck_assert(!high.len || slice_cmp(buf_slice(&middle), high) < 0);
            buf_clear(&at);
            buf_append_slice(&at, buf_slice(&middle));
            ck_assert_int_lt(++steps, 1000);
        }
        buf_close(&at);
    }
    buf_close(&middle);
}

END_TEST

TEST_MAIN("reverse_scan",
          test_small_rows,
          test_large_rows,
          test_nothing,
          test_reverse_errors,
          test_middle)
