/* Encoded cell keys order as their parts do, and decode to what they were. */
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "bigtable/row/cell_key.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

struct names {
    char row[8];
    char qualifier[8];
};

static struct slice random_name(struct rand_gen *r, char room[8], size_t min)
{
    static const char alphabet[] = {'\0', '\1', '\2', 'a', '\xff'};
    size_t len = min + rand_below(r, 4);
    for (size_t i = 0; i < len; i++)
        room[i] = alphabet[rand_below(r, sizeof(alphabet))];
    return slice_make(room, len);
}

static struct cell_key random_key(struct rand_gen *r, struct names *n)
{
    struct cell_key k = {
        .row = random_name(r, n->row, 1),
        .kind = (enum entry_kind)(1 + rand_below(r, 6)),
        .family = (family_id)(1 + rand_below(r, 300)),
        .sequence = rand_below(r, 4),
        .timestamp_us = INT64_MAX,
        .qualifier = SLICE_EMPTY,
    };
    if (k.kind == ENTRY_DELETE_ROW)
        k.family = 0;
    if (k.kind <= ENTRY_DELETE_RANGE)
        k.qualifier = random_name(r, n->qualifier, 0);
    if (k.kind <= ENTRY_DELETE_CELL)
        k.timestamp_us = (int64_t)rand_below(r, 5) - 2;
    return k;
}

/* The order of the header's prose, part by part. */
static int compare(const struct cell_key *a, const struct cell_key *b)
{
    bool wide_a = a->kind >= ENTRY_DELETE_FAMILY;
    bool wide_b = b->kind >= ENTRY_DELETE_FAMILY;
    int c = slice_cmp(a->row, b->row);
    if (c == 0)
        c = (int)a->family - (int)b->family;
    if (c == 0)
        c = (int)wide_b - (int)wide_a;
    if (c == 0)
        c = slice_cmp(a->qualifier, b->qualifier);
    if (c == 0 && !wide_a)
        c = (a->timestamp_us < b->timestamp_us) -
            (a->timestamp_us > b->timestamp_us);
    if (c == 0)
        c = (a->sequence < b->sequence) - (a->sequence > b->sequence);
    if (c == 0)
        c = (a->kind < b->kind) - (a->kind > b->kind);
    return c;
}

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

/* --- Tests --------------------------------------------------------------- */

/* memcmp of encodings is the order of the parts. */
START_TEST(test_order_is_kept)
{
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 200000; i++) {
        struct names na;
        struct names nb;
        struct cell_key ka = random_key(&r, &na);
        struct cell_key kb = random_key(&r, &nb);
        if (rand_one_in(&r, 2))
            kb.row = ka.row;
        buf_clear(&a);
        buf_clear(&b);
        cell_key_append(&a, &ka);
        cell_key_append(&b, &kb);
        ck_assert_int_eq(sign(slice_cmp(buf_slice(&a), buf_slice(&b))),
                         sign(compare(&ka, &kb)));
    }
    buf_close(&a);
    buf_close(&b);
}

END_TEST

/* Decoding gives back the key that was encoded; the lengths and the fields of
 * its parts agree. */
START_TEST(test_decode_inverts_append)
{
    struct buf bytes = BUF_INIT;
    struct buf prefix = BUF_INIT;
    struct buf scratch = BUF_INIT;
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 100000; i++) {
        struct names n;
        struct cell_key k = random_key(&r, &n);
        struct cell_key d;
        buf_clear(&bytes);
        cell_key_append(&bytes, &k);
        ck_assert(cell_key_decode(buf_slice(&bytes), &d, &scratch));
        ck_assert_int_eq(compare(&k, &d), 0);
        ck_assert_int_eq(k.kind, cell_key_kind(buf_slice(&bytes)));
        ck_assert_uint_eq(k.sequence, cell_key_sequence(buf_slice(&bytes)));
        buf_clear(&prefix);
        cell_key_append_row(&prefix, k.row);
        ck_assert_uint_eq(prefix.len, cell_key_row_length(buf_slice(&bytes)));
        if (k.kind > ENTRY_DELETE_RANGE)
            continue;
        buf_clear(&prefix);
        cell_key_append_column(&prefix, k.row, k.family, k.qualifier);
        ck_assert_uint_eq(prefix.len,
                          cell_key_column_length(buf_slice(&bytes)));
        ck_assert(slice_starts_with(buf_slice(&bytes), buf_slice(&prefix)));
        ck_assert_int_eq(k.timestamp_us, cell_key_timestamp(buf_slice(&bytes)));
    }
    buf_close(&bytes);
    buf_close(&prefix);
    buf_close(&scratch);
}

END_TEST

/* Every deletion sorts before what it hides in its scope. */
START_TEST(test_deletions_come_first)
{
    const struct cell_key keys[] = {
        {.row = SLICE_LIT("r"), .kind = ENTRY_DELETE_ROW, .sequence = 9},
        {.row = SLICE_LIT("r"), .family = 1, .kind = ENTRY_DELETE_FAMILY},
        {.row = SLICE_LIT("r"),
         .family = 1,
         .kind = ENTRY_DELETE_COLUMN,
         .timestamp_us = INT64_MAX},
        {.row = SLICE_LIT("r"),
         .family = 1,
         .kind = ENTRY_PUT,
         .timestamp_us = INT64_MAX - 1},
        {.row = SLICE_LIT("r"),
         .family = 1,
         .kind = ENTRY_PUT,
         .timestamp_us = INT64_MIN + 1},
        {.row = SLICE_LIT("r\0"), .kind = ENTRY_DELETE_ROW},
    };
    struct buf last = BUF_INIT;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct buf next = BUF_INIT;
        cell_key_append(&next, &keys[i]);
        ck_assert(slice_cmp(buf_slice(&last), buf_slice(&next)) < 0);
        buf_close(&last);
        last = next;
    }
    buf_close(&last);
}

END_TEST

/* Flipped, cut and random bytes decode to nothing or to what encodes to them.
 */
START_TEST(test_damage_is_harmless)
{
    struct buf bytes = BUF_INIT;
    struct buf again = BUF_INIT;
    struct buf scratch = BUF_INIT;
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 100000; i++) {
        struct names n;
        struct cell_key k = random_key(&r, &n);
        struct slice s;
        buf_clear(&bytes);
        cell_key_append(&bytes, &k);
        bytes.data[rand_below(&r, bytes.len)] = (char)rand_u64(&r);
        s = slice_sub(buf_slice(&bytes), 0, rand_below(&r, bytes.len + 1));
        cell_key_row_length(s);
        cell_key_column_length(s);
        if (!cell_key_decode(s, &k, &scratch))
            continue;
        buf_clear(&again);
        cell_key_append(&again, &k);
        ck_assert(slice_eq(s, buf_slice(&again)));
    }
    buf_close(&bytes);
    buf_close(&again);
    buf_close(&scratch);
}

END_TEST

TEST_MAIN("cell_key",
          test_order_is_kept,
          test_decode_inverts_append,
          test_deletions_come_first,
          test_damage_is_harmless)
