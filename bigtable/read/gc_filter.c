/* Garbage collection during compactions: the row, its families and its cells
 * are judged in the order of their keys, with the rules that a read applies.
 * Operands of one cell become one: the first is held until the last was seen.
 * This is right because a compaction has all entries of a cell between the
 * newest and the oldest that it has: a deletion between two of its operands is
 * among its entries.
 */
#include "bigtable/read/gc_filter.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/aggregate.h"
#include "bigtable/row/visibility.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet_changes.h"

struct gc_filter {
    struct lsm_filter base;
    struct table_part_view *view; /* Keeps the schema. */
    struct visibility visibility;
    bool to_bottom;
    /* The cell of an aggregate whose operands are being read: the key of the
     * newest, and its value as long as there is no other. */
    size_t operands; /* Folded so far; 0: there is no such cell. */
    struct buf key;
    struct buf value;
    struct aggregate_value folded; /* From the second operand on. */
    enum fate fate;                /* Of the entry that was judged last. */
    /* If changes are kept: */
    struct changes_past past;
    struct visibility at_floor; /* Fed the entries up to the floor. */
};

static void filter_begin(void *ctx, bool to_bottom)
{
    struct gc_filter *f = ctx;
    PRE(f->view);
    f->to_bottom = to_bottom;
    visibility_restart(&f->visibility);
    if (f->past.on)
        visibility_restart(&f->at_floor);
}

static bool is_kept(const struct gc_filter *f, struct slice key, enum fate fate)
{
    switch (fate) {
    case FATE_SHOWN: return true;
    case FATE_FOLDED:
    case FATE_OPERAND: return true; /* Of a cell that does not fold. */
    case FATE_TOMBSTONE:
        return !f->to_bottom ||
               (f->past.on && cell_key_sequence(key) > f->past.guard);
    case FATE_HIDDEN:
    case FATE_REDUNDANT:
    case FATE_COLLECTED:
    case FATE_FOREIGN: return false;
    case FATE_MALFORMED: return true; /* Not ours to destroy. */
    }
    return true;
}

static bool filter_keep(void *ctx, struct slice key, struct slice value)
{
    struct gc_filter *f = ctx;
    PRE(key.len > 0);
    f->fate = visibility_feed(&f->visibility, key, value);
    return is_kept(f, key, f->fate);
}

/* --- aggregates ---------------------------------------------------------- */

static void
hold_operand(struct gc_filter *f, struct slice key, struct slice value)
{
    PRE(f->operands == 0);
    buf_clear(&f->key);
    buf_append_slice(&f->key, key);
    buf_clear(&f->value);
    buf_append_slice(&f->value, value);
    f->operands = 1;
}

/* Put the cell that is held: as it came, or as the state of its operands. */
static void release_operands(void *ctx)
{
    struct gc_filter *f = ctx;
    if (f->operands == 0)
        return;
    if (f->operands > 1) {
        buf_clear(&f->value);
        aggregate_value_put(&f->folded, &f->value);
        aggregate_value_close(&f->folded);
        cell_key_set_kind(&f->key, ENTRY_MERGE);
    }
    f->operands = 0;
    f->base.put(f->base.job, buf_slice(&f->key), buf_slice(&f->value));
}

/* Fold an operand into the cell that is held. False: it does not fit. */
static bool
fold_operand(struct gc_filter *f, struct slice key, struct slice value)
{
    enum entry_kind first = cell_key_kind(buf_slice(&f->key));
    bool good;
    if (f->operands > 1) {
        good = aggregate_value_add(&f->folded, cell_key_kind(key), value);
        f->operands += good;
        return good;
    }
    aggregate_value_init(&f->folded, f->visibility.rules->aggregate);
    good = aggregate_value_add(&f->folded, first, buf_slice(&f->value)) &&
           aggregate_value_add(&f->folded, cell_key_kind(key), value);
    f->operands += good;
    if (!good)
        aggregate_value_close(&f->folded);
    return good;
}

/* Operands above the floor stay as they are: a read of the past needs some
 * of them. */
static bool may_fold(const struct gc_filter *f, struct slice key)
{
    return !f->past.on || cell_key_sequence(key) <= f->past.floor;
}

/* filter_keep() of a table that has aggregates. */
static bool filter_keep_or_fold(void *ctx, struct slice key, struct slice value)
{
    struct gc_filter *f = ctx;
    enum fate fate = visibility_feed(&f->visibility, key, value);
    bool begins = fate == FATE_FOLDED ||
                  (fate == FATE_OPERAND && f->past.on && !f->operands);
    f->fate = fate;
    if (fate == FATE_OPERAND && f->operands && fold_operand(f, key, value))
        return false;
    release_operands(f);
    if (!begins || !may_fold(f, key))
        return is_kept(f, key, fate);
    hold_operand(f, key, value);
    return false;
}

/* A cell that could be seen at the floor, or a deletion that could hide one of
 * an older file. An entry above the floor is not judged: it goes to the
 * past as it is. */
static bool
filter_past(void *ctx, struct slice key, struct slice value, bool kept)
{
    struct gc_filter *f = ctx;
    uint64_t sequence;
    enum fate then;
    if (f->fate == FATE_MALFORMED || f->fate == FATE_FOREIGN)
        return false;
    if (f->fate == FATE_FOLDED || f->fate == FATE_OPERAND)
        kept = true; /* In the cell that is held, if not as it is. */
    sequence = cell_key_sequence(key);
    if (sequence > f->past.floor)
        return !kept;
    then = visibility_feed(&f->at_floor, key, value);
    if (kept)
        return false;
    return then == FATE_SHOWN || then == FATE_FOLDED || then == FATE_OPERAND ||
           (then == FATE_TOMBSTONE && sequence > f->past.guard);
}

static void filter_end(void *ctx)
{
    struct gc_filter *f = ctx;
    PRE(f->operands < 2 || f->key.len > 0);
    if (f->operands > 1) /* Given up. */
        aggregate_value_close(&f->folded);
    f->operands = 0;
}

struct lsm_filter *gc_filter_new(struct table_part *t,
                                 int64_t now_us,
                                 const struct changes_past *past,
                                 int64_t begun_us)
{
    struct table_part_view *view = table_part_get_view(t);
    struct gc_filter *f;
    if (!view)
        return NULL;
    f = mem_zalloc(1, sizeof(*f));
    f->base = (struct lsm_filter){.ctx = f,
                                  .begin = filter_begin,
                                  .keep = filter_keep,
                                  .end = filter_end};
    if (schema_has_aggregates(view->schema)) {
        f->base.keep = filter_keep_or_fold;
        f->base.finish = release_operands;
    }
    f->view = view;
    visibility_init(&f->visibility, view->schema, now_us);
    if (past) {
        f->past = *past;
        f->base.past = filter_past;
        f->base.past_extent =
            (struct change_extent){0, (int64_t)past->floor, begun_us};
        visibility_init(&f->at_floor, view->schema, past->floor_us);
    }
    return &f->base;
}

void gc_filter_free(struct lsm_filter *base)
{
    struct gc_filter *f = CONTAINER_OF(base, struct gc_filter, base);
    PRE(f->view);
    visibility_close(&f->visibility);
    buf_close(&f->key);
    buf_close(&f->value);
    visibility_close(&f->at_floor);
    table_part_view_unref(f->view);
    mem_free(f);
}
