/* Records of tablets are read as they were written, in order, or not at all. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/metadata.h"
#include "tests/lib/check_main.h"

#define ROUNDS 2000

/* Bytes that like 00, 01, 02 and ff, which keys must not trip over. */
static struct slice draw(struct rand_gen *r, char *to, size_t max)
{
    size_t len = rand_below(r, max + 1);
    for (size_t i = 0; i < len; i++)
        to[i] = (char)(rand_one_in(r, 2) ? rand_below(r, 3)
                                         : 255 - rand_below(r, 2));
    return slice_make(to, len);
}

/* Is @row before @end, where an empty end is behind everything? */
static bool before_end(struct slice row, struct slice end)
{
    return end.len == 0 || slice_cmp(row, end) < 0;
}

/* The key of a tablet is at or behind the search key of a row exactly when the
 * tablet ends behind the row: the first such key of the table is its tablet. */
START_TEST(test_search_finds_the_tablet)
{
    struct rand_gen r;
    char a[8], b[8];
    struct buf key = BUF_INIT, search = BUF_INIT;
    rand_init(&r, test_seed());
    for (int i = 0; i < ROUNDS * 10; i++) {
        uint64_t table = rand_below(&r, 3) + 1;
        struct slice end = draw(&r, a, 3), row = draw(&r, b, 3);
        buf_clear(&key);
        buf_clear(&search);
        metadata_key(table, end, &key);
        metadata_search_key(table, row, &search);
        ck_assert_int_eq(slice_cmp(buf_slice(&key), buf_slice(&search)) >= 0,
                         before_end(row, end));
    }
    buf_close(&key);
    buf_close(&search);
}

END_TEST

/* Keys sort by table, then by end with the open one last; each is in the range
 * of its own table alone, and reads back. */
START_TEST(test_keys_are_in_order)
{
    struct rand_gen r;
    char a[8], b[8];
    struct buf k[2] = {BUF_INIT, BUF_INIT}, range[2] = {BUF_INIT, BUF_INIT};
    rand_init(&r, test_seed());
    for (int i = 0; i < ROUNDS * 10; i++) {
        uint64_t table[2] = {rand_below(&r, 3), rand_below(&r, 3)}, got;
        struct slice end[2] = {draw(&r, a, 3), draw(&r, b, 3)}, got_end;
        int by_end = end[0].len == 0 || end[1].len == 0
                         ? (end[0].len == 0) - (end[1].len == 0)
                         : slice_cmp(end[0], end[1]);
        int want =
            table[0] == table[1] ? by_end : (table[0] < table[1] ? -1 : 1);
        int is;
        for (int j = 0; j < 2; j++) {
            buf_clear(&k[j]);
            buf_clear(&range[j]);
            metadata_key(table[j], end[j], &k[j]);
            ck_assert_int_eq(
                metadata_key_read(buf_slice(&k[j]), &got, &got_end, NULL), 0);
            ck_assert_uint_eq(got, table[j]);
            ck_assert(slice_eq(got_end, end[j]));
        }
        is = slice_cmp(buf_slice(&k[0]), buf_slice(&k[1]));
        ck_assert_int_eq((is > 0) - (is < 0), (want > 0) - (want < 0));
        metadata_table_range(table[1], &range[0], &range[1]);
        ck_assert_int_eq(
            slice_cmp(buf_slice(&range[0]), buf_slice(&k[0])) <= 0 &&
                slice_cmp(buf_slice(&k[0]), buf_slice(&range[1])) < 0,
            table[0] == table[1]);
    }
    for (int j = 0; j < 2; j++) {
        buf_close(&k[j]);
        buf_close(&range[j]);
    }
}

END_TEST

/* The rows of METADATA's own tablets are in the root tablet, all others are
 * not; and what is no key is refused. */
START_TEST(test_root_holds_metadata)
{
    struct buf root = BUF_INIT, key = BUF_INIT;
    uint64_t table;
    struct slice end;
    metadata_root_end(&root);
    metadata_key(METADATA_TABLE_ID, SLICE_EMPTY, &key);
    ck_assert(slice_cmp(buf_slice(&key), buf_slice(&root)) < 0);
    buf_clear(&key);
    metadata_key(FIRST_USER_TABLE_ID, SLICE_LIT("\0"), &key);
    ck_assert(slice_cmp(buf_slice(&key), buf_slice(&root)) > 0);
    for (size_t len = 0; len < 10; len++)
        ck_assert_int_eq(metadata_key_read(slice_sub(buf_slice(&key), 0, len),
                                           &table, &end, NULL),
                         len == 10 ? 0 : ERR_CORRUPT);
    key.data[8] = '\2';
    ck_assert_int_eq(metadata_key_read(buf_slice(&key), &table, &end, NULL),
                     ERR_CORRUPT);
    buf_close(&root);
    buf_close(&key);
}

END_TEST

static bool same_state(const struct tablet_state *a,
                       const struct tablet_state *b)
{
    return slice_eq(a->groups, b->groups) && a->sequence == b->sequence &&
           a->log_count == b->log_count && a->bytes == b->bytes &&
           memcmp(a->logs, b->logs, a->log_count * sizeof(a->logs[0])) == 0;
}

static bool same_bounds(const struct tablet_bounds *a,
                        const struct tablet_bounds *b)
{
    return a->id == b->id && a->table == b->table &&
           slice_eq(a->start, b->start) && slice_eq(a->end, b->end);
}

static bool same_location(const struct tablet_location *a,
                          const struct tablet_location *b)
{
    return a->server == b->server && a->epoch == b->epoch &&
           slice_eq(a->address, b->address);
}

struct drawn {
    char start[16];
    char end[16];
    char address[16];
    char groups[64];
    char split[32];
};

static void
draw_record(struct rand_gen *r, struct drawn *d, struct tablet_record *t)
{
    t->bounds.id = rand_u64(r) >> rand_below(r, 64);
    t->bounds.table = rand_u64(r) >> rand_below(r, 64);
    t->bounds.start = draw(r, d->start, sizeof(d->start));
    do
        t->bounds.end = draw(r, d->end, sizeof(d->end));
    while (!before_end(t->bounds.start, t->bounds.end));
    t->location.server = rand_u64(r) >> rand_below(r, 64);
    t->location.epoch = rand_u64(r) >> rand_below(r, 64);
    t->location.address = draw(r, d->address, sizeof(d->address));
    t->state.groups = draw(r, d->groups, sizeof(d->groups));
    t->state.sequence = rand_u64(r);
    t->state.log_count =
        rand_one_in(r, 50) ? TABLET_LOGS_MAX : rand_below(r, 5);
    for (size_t i = 0; i < t->state.log_count; i++)
        t->state.logs[i] = rand_u64(r) >> rand_below(r, 64);
    t->state.bytes = rand_u64(r) >> rand_below(r, 64);
    t->split = draw(r, d->split, sizeof(d->split));
}

/* A record reads back as it was written, with all its columns; cut short
 * anywhere it is corrupt, and so is one with a byte too many. */
START_TEST(test_record_round_trip)
{
    struct rand_gen r;
    struct drawn d;
    struct buf b = BUF_INIT;
    static struct tablet_record in, out;
    rand_init(&r, test_seed());
    for (int i = 0; i < ROUNDS; i++) {
        draw_record(&r, &d, &in);
        buf_clear(&b);
        tablet_record_put(&in, &b);
        ck_assert_int_eq(tablet_record_get(buf_slice(&b), &out, NULL), 0);
        ck_assert(same_bounds(&in.bounds, &out.bounds));
        ck_assert(same_location(&in.location, &out.location));
        ck_assert(same_state(&in.state, &out.state));
        ck_assert(slice_eq(in.split, out.split));
        for (int j = 0; j < 20; j++)
            ck_assert_int_eq(tablet_record_get(slice_sub(buf_slice(&b), 0,
                                                         rand_below(&r, b.len)),
                                               &out, NULL),
                             ERR_CORRUPT);
        buf_append_byte(&b, '\0');
        ck_assert_int_eq(tablet_record_get(buf_slice(&b), &out, NULL),
                         ERR_CORRUPT);
    }
    buf_close(&b);
}

END_TEST

/* No location written is nobody's, in epoch 0. */
START_TEST(test_empty_location_is_nobody)
{
    struct tablet_location l = {7, 7, SLICE_LIT("x")};
    ck_assert_int_eq(tablet_location_get(SLICE_EMPTY, &l, NULL), 0);
    ck_assert_uint_eq(l.server, 0);
    ck_assert_uint_eq(l.epoch, 0);
    ck_assert_uint_eq(l.address.len, 0);
}

END_TEST

/* A tablet whose rows are none is refused. */
START_TEST(test_bounds_without_rows)
{
    struct tablet_bounds b = {1, 2, SLICE_LIT("b"), SLICE_LIT("b")};
    struct buf out = BUF_INIT;
    tablet_bounds_put(&b, &out);
    ck_assert_int_eq(tablet_bounds_get(buf_slice(&out), &b, NULL), ERR_CORRUPT);
    buf_close(&out);
}

END_TEST

/* Files of the lock service read back as they were written. */
START_TEST(test_lock_files_round_trip)
{
    struct table_record t = {1u << 20, 3, SLICE_LIT("schema"), true}, t2;
    struct server_record s = {9, SLICE_LIT("10.0.0.1:4")}, s2;
    struct cluster_counters c = {4, UINT64_MAX}, c2;
    struct buf b = BUF_INIT;
    table_record_put(&t, &b);
    ck_assert_int_eq(table_record_get(buf_slice(&b), &t2, NULL), 0);
    ck_assert(t2.id == t.id && t2.generation == 3 && t2.dropping &&
              slice_eq(t2.schema, t.schema));
    buf_clear(&b);
    server_record_put(&s, &b);
    ck_assert_int_eq(server_record_get(buf_slice(&b), &s2, NULL), 0);
    ck_assert(s2.number == 9 && slice_eq(s2.address, s.address));
    buf_clear(&b);
    cluster_counters_put(&c, &b);
    ck_assert_int_eq(cluster_counters_get(buf_slice(&b), &c2, NULL), 0);
    ck_assert(c2.table == 4 && c2.server == UINT64_MAX);
    buf_close(&b);
}

END_TEST

/* METADATA has the family that everybody writes to, held in memory. */
START_TEST(test_metadata_schema)
{
    struct schema *s = metadata_schema();
    const struct family *f = schema_family(s, slice_str(METADATA_FAMILY));
    ck_assert_ptr_nonnull(f);
    ck_assert(schema_group_by_id(s, f->group)->options.in_memory);
    schema_free(s);
}

END_TEST

TEST_MAIN("metadata",
          test_search_finds_the_tablet,
          test_keys_are_in_order,
          test_root_holds_metadata,
          test_record_round_trip,
          test_empty_location_is_nobody,
          test_bounds_without_rows,
          test_lock_files_round_trip,
          test_metadata_schema)
