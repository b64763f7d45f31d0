/* The rules of visibility.h as a state machine over entries in key order.
 *
 * The prefix of the last entry is kept, so that the entries of one column cost
 * one memcmp each and no decoding.
 */
#include "bigtable/row/visibility.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/hidden.h"

#define TRAILER_BYTES     ((size_t)8)
#define TIME_BYTES        ((size_t)8)
#define RANGE_VALUE_BYTES 16

void visibility_init(struct visibility *v,
                     const struct schema *schema,
                     int64_t now_us)
{
    PRE(schema);
    *v = (struct visibility){.schema = schema, .now_us = now_us};
}

void visibility_close(struct visibility *v)
{
    buf_close(&v->prefix);
    mem_free(v->ranges);
}

void visibility_restart(struct visibility *v)
{
    v->row_length = v->column_length = v->next_row_length = 0;
    v->has_column = false;
    buf_clear(&v->prefix);
    POST(v->prefix.len == 0);
}

static void start_column(struct visibility *v)
{
    v->column_deleted = v->family_deleted;
    v->range_count = 0;
    v->at_time = TIME_NONE;
    v->newer = 0;
    v->collecting = false;
}

/* A new row, family or column begins at @key. False when it is malformed. */
static bool visibility_enter(struct visibility *v, struct slice key)
{
    bool same_row = v->next_row_length == 0 && v->row_length > 0 &&
                    key.len >= v->row_length &&
                    memcmp(key.data, v->prefix.data, v->row_length) == 0;
    size_t row = same_row ? v->row_length : v->next_row_length;
    const unsigned char *f;
    family_id family;
    size_t column;

    v->next_row_length = 0;
    v->has_column = false; /* Whatever is malformed is in no column. */
    if (row == 0)
        row = cell_key_row_length(key);
    column = cell_key_column_parse(key, row, &v->has_escapes);
    if (column == 0 || key.len < column + TRAILER_BYTES)
        return false;
    f = (const unsigned char *)key.data + row;
    family = (family_id)(f[0] << 8 | f[1]);
    if (f[2] == 1 && key.len != column + TIME_BYTES + TRAILER_BYTES)
        return false;
    v->has_column = f[2] == 1;
    if (!same_row)
        v->row_deleted = 0;
    if (!v->rules || family != v->family)
        v->rules = schema_family_by_id(v->schema, family);
    if (!same_row || family != v->family)
        v->family_deleted = v->rules && v->rules->hidden ? 0 : v->row_deleted;
    v->family = family;
    buf_clear(&v->prefix);
    memcpy(buf_reserve(&v->prefix, column), key.data, column);
    v->prefix.len = column;
    INVARIANT(row < column && column < key.len);
    v->row_length = row;
    v->column_length = column;
    start_column(v);
    return true;
}

/* An entry of the family or of the whole row: a deletion. */
static enum fate feed_wide(struct visibility *v, struct slice key)
{
    uint64_t sequence = cell_key_sequence(key);
    enum entry_kind kind = cell_key_kind(key);
    if (key.len != v->column_length + TRAILER_BYTES)
        return FATE_MALFORMED;
    if (kind == ENTRY_DELETE_ROW && v->family == 0) {
        if (sequence <= v->row_deleted)
            return FATE_REDUNDANT;
        v->row_deleted = v->family_deleted = sequence;
        return FATE_TOMBSTONE;
    }
    if (kind == ENTRY_ORIGIN && v->family == 0)
        return FATE_REDUNDANT; /* Of interest to readers of changes alone. */
    if (kind != ENTRY_DELETE_FAMILY || v->family == 0)
        return FATE_MALFORMED;
    if (!v->rules)
        return FATE_FOREIGN;
    if (sequence <= v->family_deleted)
        return FATE_REDUNDANT;
    v->family_deleted = sequence;
    return FATE_TOMBSTONE;
}

static void add_range(struct visibility *v, struct deleted_range r)
{
    if (v->range_count == v->range_cap) {
        v->range_cap = v->range_cap ? v->range_cap * 2 : 8;
        v->ranges = mem_realloc(v->ranges, v->range_cap * sizeof(r));
    }
    INVARIANT(v->range_count < v->range_cap);
    v->ranges[v->range_count++] = r;
}

static enum fate
feed_range(struct visibility *v, struct slice value, uint64_t sequence)
{
    struct deleted_range r;
    if (value.len != RANGE_VALUE_BYTES)
        return FATE_MALFORMED;
    r.min_us = (int64_t)get_le64(value.data);
    r.max_us = (int64_t)get_le64(value.data + 8);
    r.sequence = sequence;
    for (size_t i = 0; i < v->range_count; i++)
        if (v->ranges[i].min_us <= r.min_us && v->ranges[i].max_us >= r.max_us)
            return FATE_REDUNDANT;
    add_range(v, r);
    return FATE_TOMBSTONE;
}

static bool
in_deleted_range(const struct visibility *v, int64_t time_us, uint64_t sequence)
{
    for (size_t i = 0; i < v->range_count; i++) {
        const struct deleted_range *r = &v->ranges[i];
        if (r->sequence > sequence && time_us >= r->min_us &&
            time_us < r->max_us)
            return true;
    }
    return false;
}

/* Cells above the one at hand, for the rule of the family. In a table with
 * transactions a cell that was overwritten within HIDDEN_KEEP_US counts as the
 * newest, since a snapshot may still need it. Times only fall in a column, so
 * the rule stays monotone. */
static uint64_t visibility_newer(const struct visibility *v)
{
    if (LIKELY(v->schema->txn_count == 0) || v->rules->hidden)
        return v->newer;
    return v->newer && v->newer_us > v->now_us - HIDDEN_KEEP_US ? 0 : v->newer;
}

/* In line twice, so that cells which are no aggregate's pay no call. */
static inline __attribute__((always_inline)) enum fate
feed_put(struct visibility *v, int64_t time_us, uint64_t sequence)
{
    if (v->range_count && in_deleted_range(v, time_us, sequence))
        return FATE_HIDDEN;
    if (v->rules->gc && !v->collecting)
        v->collecting = gc_rule_collects(v->rules->gc, visibility_newer(v),
                                         time_us, v->now_us);
    if (v->collecting)
        return FATE_COLLECTED;
    v->newer++;
    v->newer_us = time_us;
    return FATE_SHOWN;
}

/* An entry at the time of operands before it. */
NOINLINE static enum fate feed_below_operands(struct visibility *v,
                                              enum entry_kind kind,
                                              uint64_t sequence,
                                              bool covered)
{
    v->at_time = TIME_TAKEN; /* Nothing older folds into those above. */
    if (kind == ENTRY_DELETE_CELL)
        return covered ? FATE_REDUNDANT : FATE_TOMBSTONE;
    return covered || in_deleted_range(v, v->time_us, sequence) ? FATE_HIDDEN
                                                                : FATE_OPERAND;
}

/* An operand below others of its cell. One that comes twice counts once. */
static enum fate
feed_next_operand(struct visibility *v, uint64_t sequence, bool covered)
{
    if (v->at_time == TIME_TAKEN || sequence >= v->operand)
        return FATE_HIDDEN;
    v->operand = sequence;
    if (!covered && !in_deleted_range(v, v->time_us, sequence))
        return FATE_OPERAND;
    v->at_time = TIME_TAKEN;
    return FATE_HIDDEN;
}

NOINLINE static enum fate feed_operand(struct visibility *v,
                                       int64_t time_us,
                                       uint64_t sequence,
                                       bool covered)
{
    enum fate fate;
    if (v->rules->aggregate == AGGREGATE_NONE)
        return FATE_MALFORMED;
    if (v->at_time != TIME_NONE && v->time_us == time_us)
        return feed_next_operand(v, sequence, covered);
    v->at_time = TIME_TAKEN;
    v->time_us = time_us;
    v->operand = sequence;
    fate = covered ? FATE_HIDDEN : feed_put(v, time_us, sequence);
    if (fate != FATE_SHOWN)
        return fate;
    v->at_time = TIME_OPERANDS;
    return FATE_FOLDED;
}

static enum fate
feed_column(struct visibility *v, struct slice key, struct slice value)
{
    uint64_t sequence = cell_key_sequence(key);
    enum entry_kind kind = cell_key_kind(key);
    int64_t time_us = cell_key_timestamp(key);
    bool covered = sequence <= v->column_deleted;

    if (UNLIKELY(!v->rules))
        return FATE_FOREIGN;
    if (kind == ENTRY_DELETE_COLUMN && time_us == INT64_MAX) {
        if (covered)
            return FATE_REDUNDANT;
        v->column_deleted = sequence;
        return FATE_TOMBSTONE;
    }
    if (kind == ENTRY_DELETE_RANGE && time_us == INT64_MAX)
        return covered ? FATE_REDUNDANT : feed_range(v, value, sequence);
    if (kind != ENTRY_PUT && kind != ENTRY_DELETE_CELL)
        return entry_kind_is_operand(kind)
                   ? feed_operand(v, time_us, sequence, covered)
                   : FATE_MALFORMED;
    if (v->at_time != TIME_NONE && v->time_us == time_us) {
        if (UNLIKELY(v->at_time == TIME_OPERANDS))
            return feed_below_operands(v, kind, sequence, covered);
        return kind == ENTRY_PUT ? FATE_HIDDEN : FATE_REDUNDANT;
    }
    v->at_time = TIME_TAKEN;
    v->time_us = time_us;
    if (kind == ENTRY_DELETE_CELL)
        return covered ? FATE_REDUNDANT : FATE_TOMBSTONE;
    return covered ? FATE_HIDDEN : feed_put(v, time_us, sequence);
}

enum fate
visibility_feed(struct visibility *v, struct slice key, struct slice value)
{
    bool same = v->has_column && v->next_row_length == 0 &&
                key.len == v->column_length + TIME_BYTES + TRAILER_BYTES &&
                memcmp(key.data, v->prefix.data, v->column_length) == 0;
    if (!same && UNLIKELY(!visibility_enter(v, key)))
        return FATE_MALFORMED;
    return v->has_column ? feed_column(v, key, value) : feed_wide(v, key);
}
