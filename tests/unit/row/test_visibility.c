/* Entries in key order show what the operations in their own order left, before
 * and after compactions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/rand.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/visibility.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

enum {
    ROWS = 2,
    FAMILIES = 3,
    COLUMNS = 2,
    TIMES = 6,
    OPS = 40,
    VERSIONS = 2
};

/* Family 2 keeps two versions, family 3 what is younger than 3 µs. */
#define NOW_US ((int64_t)TIMES)
#define AGE_US 3

static struct err err;

static struct schema *make_schema(void)
{
    struct schema *s = schema_new();
    ck_assert_int_eq(schema_add_family(s, "all", "", &err), 0);
    ck_assert_int_eq(schema_add_family(s, "two", "versions=2", &err), 0);
    ck_assert_int_eq(schema_add_family(s, "age", "", &err), 0);
    s->families[2].gc = gc_rule_age(AGE_US);
    return s;
}

/* The cells of the model, by row, family, column and time: the number of the
 * operation that put it, or 0. */
struct model {
    uint64_t cells[ROWS][FAMILIES + 1][COLUMNS][TIMES];
};

struct entry {
    struct buf key;
    char value[16];
    size_t value_len;
    uint64_t sequence;
};

static struct entry entries[OPS];
static size_t entry_count;

static int compare_entries(const void *a, const void *b)
{
    return slice_cmp(buf_slice(&((const struct entry *)a)->key),
                     buf_slice(&((const struct entry *)b)->key));
}

/* --- Operations ---------------------------------------------------------- */

static const char *const row_names[ROWS] = {"a", "ab"};
static const char *const column_names[COLUMNS] = {"", "q"};

static void add_entry(const struct cell_key *k, int64_t min, int64_t max)
{
    struct entry *e = &entries[entry_count++];
    *e = (struct entry){.key = BUF_INIT, .sequence = k->sequence};
    cell_key_append(&e->key, k);
    if (k->kind == ENTRY_DELETE_RANGE) {
        put_le64(e->value, (uint64_t)min);
        put_le64(e->value + 8, (uint64_t)max);
        e->value_len = 16;
    }
}

static void forget(struct model *m,
                   uint64_t row,
                   uint64_t family,
                   int column,
                   int64_t min,
                   int64_t max)
{
    for (uint64_t f = 1; f <= FAMILIES; f++)
        for (int c = 0; c < COLUMNS; c++)
            for (int64_t t = min; t < max; t++)
                if ((family == 0 || family == f) && (column < 0 || column == c))
                    m->cells[row][f][c][t] = 0;
}

/* One random operation, on the model and as an entry. */
static void operate(struct rand_gen *r, struct model *m, uint64_t sequence)
{
    uint64_t row = rand_below(r, ROWS);
    uint64_t family = 1 + rand_below(r, FAMILIES);
    int column = (int)rand_below(r, COLUMNS);
    int64_t time = (int64_t)rand_below(r, TIMES);
    int64_t max = time + 1 + (int64_t)rand_below(r, 3);
    struct cell_key k = {.row = slice_str(row_names[row]),
                         .qualifier = slice_str(column_names[column]),
                         .timestamp_us = INT64_MAX,
                         .sequence = sequence,
                         .family = (family_id)family};
    uint64_t choice = rand_below(r, 14);
    max = max > TIMES ? TIMES : max;
    /* Which versions lie below a deleted one is open where they are counted: a
     * compaction may have collected them. */
    if (family == 2 && (choice == 3 || choice == 4))
        choice = 2;
    switch (choice) {
    case 0:
        k.kind = ENTRY_DELETE_ROW;
        k.family = 0;
        k.qualifier = SLICE_EMPTY;
        forget(m, row, 0, -1, 0, TIMES);
        break;
    case 1:
        k.kind = ENTRY_DELETE_FAMILY;
        k.qualifier = SLICE_EMPTY;
        forget(m, row, family, -1, 0, TIMES);
        break;
    case 2:
        k.kind = ENTRY_DELETE_COLUMN;
        forget(m, row, family, column, 0, TIMES);
        break;
    case 3:
        k.kind = ENTRY_DELETE_RANGE;
        forget(m, row, family, column, time, max);
        break;
    case 4:
        k.kind = ENTRY_DELETE_CELL;
        k.timestamp_us = time;
        forget(m, row, family, column, time, time + 1);
        break;
    default:
        k.kind = ENTRY_PUT;
        k.timestamp_us = time;
        m->cells[row][family][column][time] = sequence;
        break;
    }
    add_entry(&k, time, max);
}

/* --- Expectations -------------------------------------------------------- */

/* Sequence numbers of the cells to be shown, in order. */
static void expect(const struct model *m, struct buf *out)
{
    for (int row = 0; row < ROWS; row++)
        for (int f = 1; f <= FAMILIES; f++)
            for (int c = 0; c < COLUMNS; c++) {
                int shown = 0;
                for (int64_t t = TIMES - 1; t >= 0; t--) {
                    uint64_t n = m->cells[row][f][c][t];
                    if (n == 0 || (f == 2 && shown == VERSIONS) ||
                        (f == 3 && t < NOW_US - AGE_US))
                        continue;
                    shown++;
                    buf_printf(out, "%llu ", (unsigned long long)n);
                }
            }
}

/* Append the entries that the machine shows. */
static void show(const struct schema *schema, struct buf *out)
{
    struct visibility v;
    visibility_init(&v, schema, NOW_US);
    for (size_t i = 0; i < entry_count; i++) {
        struct slice value = slice_make(entries[i].value, entries[i].value_len);
        enum fate fate = visibility_feed(&v, buf_slice(&entries[i].key), value);
        ck_assert_int_ne(fate, FATE_MALFORMED);
        ck_assert_int_ne(fate, FATE_FOREIGN);
        if (fate == FATE_SHOWN)
            buf_printf(out, "%llu ", (unsigned long long)entries[i].sequence);
    }
    visibility_close(&v);
}

static void check_shown(const struct schema *schema, const struct model *m)
{
    struct buf want = BUF_INIT;
    struct buf got = BUF_INIT;
    expect(m, &want);
    show(schema, &got);
    ck_assert_str_eq(buf_cstr(&got), buf_cstr(&want));
    buf_close(&want);
    buf_close(&got);
}

/* Compact the entries numbered [first, last]: the others are in other tables.
 * Tombstones go only when there is nothing below. */
static void compact(const struct schema *schema, uint64_t first, uint64_t last)
{
    bool to_bottom = first == 1;
    struct visibility v;
    size_t kept = 0;
    visibility_init(&v, schema, NOW_US);
    for (size_t i = 0; i < entry_count; i++) {
        struct entry e = entries[i];
        struct slice value = slice_make(e.value, e.value_len);
        enum fate fate = FATE_SHOWN;
        if (e.sequence >= first && e.sequence <= last)
            fate = visibility_feed(&v, buf_slice(&e.key), value);
        if (fate == FATE_SHOWN || (fate == FATE_TOMBSTONE && !to_bottom))
            entries[kept++] = e;
        else
            buf_close(&e.key);
    }
    entry_count = kept;
    visibility_close(&v);
}

static void clear(void)
{
    for (size_t i = 0; i < entry_count; i++)
        buf_close(&entries[i].key);
    entry_count = 0;
}

/* --- Tests --------------------------------------------------------------- */

/* Whatever was put and deleted, what is shown is what is left; and it stays so
 * when any part of the history is compacted, again and again. */
START_TEST(test_history)
{
    struct schema *schema = make_schema();
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 3000; round++) {
        struct model m;
        uint64_t ops = 1 + rand_below(&r, OPS);
        memset(&m, 0, sizeof(m));
        for (uint64_t i = 1; i <= ops; i++)
            operate(&r, &m, i);
        qsort(entries, entry_count, sizeof(*entries), compare_entries);
        check_shown(schema, &m);
        for (int k = 0; k < 3; k++) {
            uint64_t first = 1 + rand_below(&r, ops);
            compact(schema, rand_one_in(&r, 2) ? 1 : first,
                    first + rand_below(&r, ops));
            check_shown(schema, &m);
        }
        compact(schema, 1, ops);
        check_shown(schema, &m);
        clear();
    }
    schema_free(schema);
}

END_TEST

/* Of a family that was dropped nothing is shown, and compactions drop it; what
 * is no cell key is told, and hides nothing. */
START_TEST(test_foreign_and_malformed)
{
    struct schema *schema = make_schema();
    struct cell_key k = {.row = SLICE_LIT("a"),
                         .qualifier = SLICE_LIT("q"),
                         .timestamp_us = 1,
                         .sequence = 5,
                         .family = 9,
                         .kind = ENTRY_PUT};
    struct visibility v;
    struct buf key = BUF_INIT;
    visibility_init(&v, schema, NOW_US);
    cell_key_append(&key, &k);
    ck_assert_int_eq(visibility_feed(&v, buf_slice(&key), SLICE_EMPTY),
                     FATE_FOREIGN);
    for (size_t len = 0; len < key.len; len++)
        ck_assert_int_eq(
            visibility_feed(&v, slice_make(key.data, len), SLICE_EMPTY),
            FATE_MALFORMED);
    buf_clear(&key);
    k.row = SLICE_LIT("b");
    k.family = 1;
    k.kind = ENTRY_DELETE_RANGE;
    k.timestamp_us = INT64_MAX;
    cell_key_append(&key, &k);
    ck_assert_int_eq(visibility_feed(&v, buf_slice(&key), SLICE_LIT("short")),
                     FATE_MALFORMED);
    buf_clear(&key);
    k.kind = ENTRY_PUT;
    k.timestamp_us = 1;
    k.sequence = 4;
    cell_key_append(&key, &k);
    ck_assert_int_eq(visibility_feed(&v, buf_slice(&key), SLICE_EMPTY),
                     FATE_SHOWN);
    visibility_close(&v);
    buf_close(&key);
    schema_free(schema);
}

END_TEST

TEST_MAIN("visibility", test_history, test_foreign_and_malformed)
