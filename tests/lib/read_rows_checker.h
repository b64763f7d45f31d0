/* A client's side of ReadRows, as strict as the strictest official client: the
 * state machine that puts chunks together, with every rule that one of them
 * enforces. A message that breaks a rule fails the test and names the rule.
 *
 * Everything is static: included by the tests of the gateway alone.
 *
 * Invariants
 *     INV-1. `last_key` is the greatest key (of a reversed scan: the least) of
 *            a committed row or of last_scanned_row_key; all that follows is
 *            beyond it.
 *     INV-2. Between messages that end a row nothing is left over.
 */
#ifndef TESTS_LIB_READ_ROWS_CHECKER_H
#define TESTS_LIB_READ_ROWS_CHECKER_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/pb.h"
#include "tests/lib/check_main.h"

struct read_rows_checker {
    bool reversed;
    struct buf rows;     /* "key{family:qualifier@time=value …}\n" a row. */
    struct buf last_key; /* INV-1. */
    bool has_last;
    bool is_ended; /* Stats came: nothing may follow. */
    size_t row_count;
    size_t scanned_count; /* Messages that say how far the scan is. */
    /* The row in hand. */
    bool in_row;
    struct buf key;
    struct buf text;
    bool has_family;
    bool has_qualifier;
    struct buf family;
    struct buf qualifier;
    /* The cell in hand. */
    bool in_cell;
    uint64_t cell_size;
    struct buf value;
};

static inline void read_rows_checker_close(struct read_rows_checker *c)
{
    buf_close(&c->rows);
    buf_close(&c->last_key);
    buf_close(&c->key);
    buf_close(&c->text);
    buf_close(&c->family);
    buf_close(&c->qualifier);
    buf_close(&c->value);
}

/* Is @key beyond all that was seen? */
static inline bool
read_rows_checker_is_beyond(const struct read_rows_checker *c, struct slice key)
{
    int order;
    if (!c->has_last)
        return true;
    order = slice_cmp(key, buf_slice(&c->last_key));
    return c->reversed ? order < 0 : order > 0;
}

static inline void read_rows_checker_pass(struct read_rows_checker *c,
                                          struct slice key)
{
    buf_clear(&c->last_key);
    buf_append_slice(&c->last_key, key);
    c->has_last = true;
}

/* The fields of a CellChunk. */
struct checked_chunk {
    struct slice key;
    struct slice value;
    struct slice family;
    struct slice qualifier;
    bool has_family;
    bool has_qualifier;
    bool has_label;
    bool commit;
    int64_t us;
    uint64_t size;
};

static inline struct checked_chunk read_rows_chunk(struct slice bytes)
{
    struct checked_chunk k = {.key = SLICE_EMPTY, .value = SLICE_EMPTY};
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    while (pb_next(&c, &f)) {
        if (pb_is_bytes(&f, 1)) {
            k.key = f.bytes;
        } else if (pb_is_bytes(&f, 2)) {
            k.has_family = true;
            k.family = pb_find(f.bytes, 1);
        } else if (pb_is_bytes(&f, 3)) {
            k.has_qualifier = true;
            k.qualifier = pb_find(f.bytes, 1);
        } else if (pb_is_integer(&f, 4)) {
            k.us = (int64_t)f.integer;
        } else if (pb_is_bytes(&f, 5)) {
            k.has_label = true;
        } else if (pb_is_bytes(&f, 6)) {
            k.value = f.bytes;
        } else if (pb_is_integer(&f, 7)) {
            k.size = f.integer;
        } else if (pb_is_integer(&f, 9)) {
            k.commit = f.integer != 0;
        } else {
            ck_abort_msg("a chunk with field %u", (unsigned)f.number);
        }
    }
    ck_assert_msg(!c.bad, "a chunk that is no message");
    return k;
}

/* A chunk while no row is in hand: it begins one. */
static inline void read_rows_begin_row(struct read_rows_checker *c,
                                       const struct checked_chunk *k)
{
    ck_assert_msg(k->key.len > 0, "a new row without its key");
    ck_assert_msg(k->has_family, "a new row without a family");
    ck_assert_msg(k->has_qualifier, "a new row without a qualifier");
    ck_assert_msg(read_rows_checker_is_beyond(c, k->key),
                  "row \"%.*s\" is not beyond \"%s\"", SLICE_ARG(k->key),
                  buf_cstr(&c->last_key));
    buf_clear(&c->key);
    buf_append_slice(&c->key, k->key);
    buf_clear(&c->text);
    c->has_family = c->has_qualifier = false;
    c->in_row = true;
}

static inline void read_rows_begin_cell(struct read_rows_checker *c,
                                        const struct checked_chunk *k)
{
    if (k->key.len)
        ck_assert_msg(slice_eq(k->key, buf_slice(&c->key)),
                      "the key changes within a row");
    if (k->has_family) {
        ck_assert_msg(k->has_qualifier, "a new family without a qualifier");
        buf_clear(&c->family);
        buf_append_slice(&c->family, k->family);
        c->has_family = true;
    }
    if (k->has_qualifier) {
        buf_clear(&c->qualifier);
        buf_append_slice(&c->qualifier, k->qualifier);
        c->has_qualifier = true;
    }
    ck_assert_msg(c->has_family && c->has_qualifier, "a cell of no column");
    ck_assert_msg(k->us >= 0, "a negative timestamp");
    buf_printf(&c->text, "%s:%s@%lld=", buf_cstr(&c->family),
               buf_cstr(&c->qualifier), (long long)k->us);
    buf_clear(&c->value);
    c->cell_size = 0;
    c->in_cell = true;
}

static inline void read_rows_end_cell(struct read_rows_checker *c)
{
    if (c->value.len > 100)
        buf_printf(&c->text, "<%zu>", c->value.len);
    else
        buf_append_slice(&c->text, buf_slice(&c->value));
    buf_append_byte(&c->text, ' ');
    c->in_cell = false;
}

static inline void read_rows_end_row(struct read_rows_checker *c)
{
    ck_assert_msg(!c->in_cell, "a row is committed inside of a cell");
    buf_append_slice(&c->rows, buf_slice(&c->key));
    buf_append_byte(&c->rows, '{');
    buf_append_slice(&c->rows, buf_slice(&c->text));
    buf_append_str(&c->rows, "}\n");
    read_rows_checker_pass(c, buf_slice(&c->key));
    c->in_row = false;
    c->row_count++;
}

static inline void read_rows_checker_chunk(struct read_rows_checker *c,
                                           struct slice bytes)
{
    struct checked_chunk k = read_rows_chunk(bytes);
    if (!c->in_row)
        read_rows_begin_row(c, &k);
    if (!c->in_cell)
        read_rows_begin_cell(c, &k);
    else
        ck_assert_msg(!k.key.len && !k.has_family && !k.has_qualifier &&
                          !k.us && !k.has_label,
                      "a value's later part says more than the value");
    buf_append_slice(&c->value, k.value);
    if (k.size) {
        ck_assert_msg(!k.commit, "a row is committed inside of a cell");
        ck_assert_msg(!c->cell_size || k.size == c->cell_size,
                      "the size of a value changes");
        ck_assert_msg(c->value.len < k.size, "a value larger than it says");
        c->cell_size = k.size;
        return;
    }
    ck_assert_msg(!c->cell_size || c->value.len == c->cell_size,
                  "a value of %zu bytes that should have %llu", c->value.len,
                  (unsigned long long)c->cell_size);
    read_rows_end_cell(c);
    if (k.commit)
        read_rows_end_row(c);
}

/* A ReadRowsResponse. */
static inline void read_rows_checker_take(struct read_rows_checker *c,
                                          struct slice message)
{
    struct cursor cursor = cursor_make(message);
    struct pb_field f;
    size_t chunks = 0;
    struct slice scanned = SLICE_EMPTY;
    ck_assert_msg(!c->is_ended, "a message behind the stats");
    while (pb_next(&cursor, &f)) {
        if (pb_is_bytes(&f, 1)) {
            read_rows_checker_chunk(c, f.bytes);
            chunks++;
        } else if (pb_is_bytes(&f, 2)) {
            scanned = f.bytes;
        } else if (pb_is_bytes(&f, 3)) {
            c->is_ended = true;
        } else {
            ck_abort_msg("a response with field %u", (unsigned)f.number);
        }
    }
    ck_assert_msg(!cursor.bad, "a response that is no message");
    if (!scanned.len)
        return;
    ck_assert_msg(chunks == 0, "last_scanned_row_key beside chunks");
    ck_assert_msg(!c->in_row, "last_scanned_row_key inside of a row");
    ck_assert_msg(read_rows_checker_is_beyond(c, scanned),
                  "last_scanned_row_key \"%.*s\" is not beyond \"%s\"",
                  SLICE_ARG(scanned), buf_cstr(&c->last_key));
    read_rows_checker_pass(c, scanned);
    c->scanned_count++;
}

/* The stream ended with OK. */
static inline void read_rows_checker_end(struct read_rows_checker *c)
{
    ck_assert_msg(!c->in_row, "the stream ends inside of a row");
}

#endif /* TESTS_LIB_READ_ROWS_CHECKER_H */
