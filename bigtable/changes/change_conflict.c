/* The settings of the history are sorted by cell, so that each cell of the
 * commit is found by bisection; deletions are few, and gone through.
 */
#include "bigtable/changes/change_conflict.h"

#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "bigtable/changes/change_batch.h"
#include "bigtable/row/cells.h"
#include "bigtable/row/mutation.h"

int change_origin_cmp(const struct quarry_origin *a,
                      const struct quarry_origin *b)
{
    if (a->us != b->us)
        return a->us < b->us ? -1 : 1;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/* An entry of the history, not older than the commit. */
struct past_entry {
    struct quarry_change_entry entry; /* Slices of the history. */
    struct quarry_origin stamp;
    size_t index; /* Among those of its commit. */
};

struct conflict {
    struct quarry_origin stamp; /* Of the commit. */
    const struct quarry_row *row;
    struct buf sets;      /* struct past_entry, by cell, then by age; */
    struct buf operands;  /* those of aggregates; */
    struct buf deletions; /* and the others. */
    struct buf kept;      /* struct mutation_op: deletions of the commit
                             that are left. */
};

static bool is_operand(enum quarry_change_kind kind)
{
    return kind == QUARRY_CHANGE_ADD || kind == QUARRY_CHANGE_MERGE;
}

static const struct past_entry *entries_of(const struct buf *b, size_t *count)
{
    *count = b->len / sizeof(struct past_entry);
    return (const void *)b->data;
}

static int age_cmp(const struct past_entry *a, const struct past_entry *b)
{
    int c = change_origin_cmp(&a->stamp, &b->stamp);
    return c ? c : (a->index > b->index) - (a->index < b->index);
}

static int cell_cmp(const struct quarry_change_entry *a,
                    struct slice family,
                    struct slice qualifier,
                    int64_t us)
{
    int c = slice_cmp(a->family, family);
    if (c == 0)
        c = slice_cmp(a->qualifier, qualifier);
    if (c == 0)
        c = (a->timestamp_us > us) - (a->timestamp_us < us);
    return c;
}

static int by_cell(const void *a, const void *b)
{
    const struct past_entry *x = a;
    const struct past_entry *y = b;
    int c = cell_cmp(&x->entry, y->entry.family, y->entry.qualifier,
                     y->entry.timestamp_us);
    return c ? c : age_cmp(x, y);
}

/* --- the history --------------------------------------------------------- */

static void take_change(struct conflict *c,
                        const struct quarry_change *change,
                        uint64_t here)
{
    struct past_entry e = {.stamp = change->origin};
    if (e.stamp.site == 0)
        e.stamp =
            (struct quarry_origin){here, change->commit_us, change->sequence};
    if (change_origin_cmp(&e.stamp, &c->stamp) < 0 ||
        (c->stamp.us == 0 && e.stamp.us == 0))
        return;
    for (; e.index < change->entry_count; e.index++) {
        e.entry = change->entries[e.index];
        buf_append(e.entry.kind == QUARRY_CHANGE_SET ? &c->sets
                   : is_operand(e.entry.kind)        ? &c->operands
                                                     : &c->deletions,
                   &e, sizeof(e));
    }
}

static int take_history(struct conflict *c,
                        struct slice history,
                        uint64_t here,
                        struct err *err)
{
    struct cursor at = cursor_make(history);
    struct buf ops = BUF_INIT;
    struct quarry_change change;
    size_t count;
    while (change_batch_next(&at, &ops, &change))
        take_change(c, &change, here);
    buf_close(&ops);
    if (at.bad)
        return err_set(err, ERR_CORRUPT, "malformed history of a row");
    (void)entries_of(&c->sets, &count);
    if (count)
        qsort(c->sets.data, count, sizeof(struct past_entry), by_cell);
    return 0;
}

/* --- the commit ---------------------------------------------------------- */

/* Is the cell among those that @kind of deletion hides, of @family,
 * @qualifier and times [min, max)? */
static bool change_conflict_covers(enum quarry_change_kind kind,
                                   const struct quarry_change_entry *scope,
                                   const struct quarry_change_entry *cell)
{
    if (kind == QUARRY_CHANGE_DELETE_ROW)
        return true;
    if (!slice_eq(scope->family, cell->family))
        return false;
    if (kind == QUARRY_CHANGE_DELETE_FAMILY)
        return true;
    return slice_eq(scope->qualifier, cell->qualifier) &&
           ((scope->timestamp_us == 0 && scope->max_us == 0) ||
            (cell->timestamp_us >= scope->timestamp_us &&
             cell->timestamp_us < scope->max_us));
}

static struct quarry_change_entry entry_of(const struct mutation_op *op)
{
    enum quarry_change_kind kind = op->kind == MUTATION_ADD ? QUARRY_CHANGE_ADD
                                   : op->kind == MUTATION_MERGE
                                       ? QUARRY_CHANGE_MERGE
                                       : (enum quarry_change_kind)op->kind;
    return (struct quarry_change_entry){kind,          op->family,
                                        op->qualifier, op->timestamp_us,
                                        op->max_us,    op->value};
}

STATIC_ASSERT((int)MUTATION_SET == (int)QUARRY_CHANGE_SET, "as entry_of()");
STATIC_ASSERT((int)MUTATION_DELETE_CELLS == (int)QUARRY_CHANGE_DELETE_CELLS,
              "as entry_of()");
STATIC_ASSERT((int)MUTATION_DELETE_FAMILY == (int)QUARRY_CHANGE_DELETE_FAMILY,
              "as entry_of()");
STATIC_ASSERT((int)MUTATION_DELETE_ROW == (int)QUARRY_CHANGE_DELETE_ROW,
              "as entry_of()");

/* Was @cell, set by the commit of @age (NULL: the one that arrives), deleted by
 * one behind it? */
static bool is_deleted(const struct conflict *c,
                       const struct quarry_change_entry *cell,
                       const struct past_entry *age)
{
    size_t count;
    const struct past_entry *d = entries_of(&c->deletions, &count);
    if (fault_hit("replication.forget_deletions")) /* A deliberate bug. */
        count = 0;
    for (size_t i = 0; i < count; i++) {
        bool later = age ? age_cmp(&d[i], age) > 0
                         : change_origin_cmp(&d[i].stamp, &c->stamp) > 0;
        if (later && change_conflict_covers(d[i].entry.kind, &d[i].entry, cell))
            return true;
    }
    return false;
}

/* Was the cell set by this commit or a later one? */
static bool is_set(const struct conflict *c,
                   const struct quarry_change_entry *cell)
{
    size_t count;
    const struct past_entry *list = entries_of(&c->sets, &count);
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cell_cmp(&list[middle].entry, cell->family, cell->qualifier,
                     cell->timestamp_us) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && cell_cmp(&list[low].entry, cell->family,
                                   cell->qualifier, cell->timestamp_us) == 0;
}

/* Of a commit of time 0: is a value there that is not less? */
static bool is_outweighed(const struct conflict *c,
                          const struct quarry_change_entry *cell)
{
    for (size_t i = 0; c->row && i < c->row->cell_count; i++) {
        const struct quarry_cell *there = &c->row->cells[i];
        if (there->timestamp_us == cell->timestamp_us &&
            slice_eq(there->family, cell->family) &&
            slice_eq(there->qualifier, cell->qualifier))
            return slice_cmp(there->value, cell->value) >= 0;
    }
    return false;
}

/* Was the cell added to by the same commit, which arrived before? A commit to a
 * row arrives as a whole. */
static bool is_added(const struct conflict *c,
                     const struct quarry_change_entry *cell)
{
    size_t count;
    const struct past_entry *list = entries_of(&c->operands, &count);
    for (size_t i = 0; i < count; i++)
        if (change_origin_cmp(&list[i].stamp, &c->stamp) == 0 &&
            cell_cmp(&list[i].entry, cell->family, cell->qualifier,
                     cell->timestamp_us) == 0)
            return true;
    return false;
}

/* Was the same deletion made by the same commit, which arrived before? */
static bool is_known(const struct conflict *c,
                     const struct quarry_change_entry *e)
{
    size_t count;
    const struct past_entry *d = entries_of(&c->deletions, &count);
    for (size_t i = 0; i < count; i++)
        if (change_origin_cmp(&d[i].stamp, &c->stamp) == 0 &&
            d[i].entry.kind == e->kind &&
            slice_eq(d[i].entry.family, e->family) &&
            slice_eq(d[i].entry.qualifier, e->qualifier) &&
            d[i].entry.timestamp_us == e->timestamp_us &&
            d[i].entry.max_us == e->max_us)
            return true;
    return false;
}

static void put_op(struct quarry_mutation *out, const struct mutation_op *op)
{
    switch (op->kind) {
    case MUTATION_SET:
        mutation_set(out, op->family, op->qualifier, op->timestamp_us,
                     op->value);
        break;
    case MUTATION_ADD:
    case MUTATION_MERGE:
        mutation_operand(out, op->kind, op->family, op->qualifier,
                         op->timestamp_us, op->value);
        break;
    case MUTATION_DELETE_CELLS:
        mutation_delete_cells(out, op->family, op->qualifier, op->timestamp_us,
                              op->max_us);
        break;
    case MUTATION_DELETE_FAMILY: mutation_delete_family(out, op->family); break;
    case MUTATION_DELETE_ROW: mutation_delete_row(out); break;
    case MUTATION_ORIGIN: break;
    }
}

/* Put what is left of the commit's operations. */
static void put_rest(struct conflict *c,
                     const struct quarry_mutation *m,
                     struct quarry_mutation *out)
{
    struct cursor at = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    while (mutation_next(&at, &op)) {
        const struct quarry_change_entry e = entry_of(&op);
        if (op.kind == MUTATION_ORIGIN)
            continue;
        if (op.kind == MUTATION_SET) {
            if (is_set(c, &e) || is_deleted(c, &e, NULL) ||
                is_outweighed(c, &e))
                continue;
        } else if (is_operand(e.kind)) {
            if (is_added(c, &e) || is_deleted(c, &e, NULL))
                continue;
        } else {
            if (is_known(c, &e))
                continue;
            buf_append(&c->kept, &e, sizeof(e));
        }
        put_op(out, &op);
    }
}

/* Would one of the deletions that are left hide @cell? */
static bool is_hidden(const struct conflict *c,
                      const struct quarry_change_entry *cell)
{
    const struct quarry_change_entry *list = (const void *)c->kept.data;
    for (size_t i = 0; i < c->kept.len / sizeof(*list); i++)
        if (change_conflict_covers(list[i].kind, &list[i], cell))
            return true;
    return false;
}

/* Set again what the deletions must not hide: the last setting of each cell,
 * unless it was deleted. */
static void put_survivors(const struct conflict *c, struct quarry_mutation *out)
{
    size_t count;
    const struct past_entry *list = entries_of(&c->sets, &count);
    for (size_t i = 0; i < count; i++) {
        const struct quarry_change_entry *e = &list[i].entry;
        if (i + 1 < count && cell_cmp(&list[i + 1].entry, e->family,
                                      e->qualifier, e->timestamp_us) == 0)
            continue;
        if (change_origin_cmp(&list[i].stamp, &c->stamp) > 0 &&
            is_hidden(c, e) && !is_deleted(c, e, &list[i]))
            mutation_set(out, e->family, e->qualifier, e->timestamp_us,
                         e->value);
    }
}

/* The same for operands, all of which count. */
static void put_operands_again(const struct conflict *c,
                               struct quarry_mutation *out)
{
    size_t count;
    const struct past_entry *list = entries_of(&c->operands, &count);
    for (size_t i = 0; i < count; i++) {
        const struct quarry_change_entry *e = &list[i].entry;
        if (change_origin_cmp(&list[i].stamp, &c->stamp) > 0 &&
            is_hidden(c, e) && !is_deleted(c, e, &list[i]))
            mutation_operand(
                out,
                e->kind == QUARRY_CHANGE_ADD ? MUTATION_ADD : MUTATION_MERGE,
                e->family, e->qualifier, e->timestamp_us, e->value);
    }
}

int change_conflict_reduce(const struct quarry_mutation *m,
                           const struct quarry_origin *origin,
                           uint64_t here,
                           struct slice history,
                           const struct quarry_row *row,
                           struct quarry_mutation *out,
                           enum change_outcome *outcome,
                           struct err *err)
{
    struct conflict c = {.stamp = *origin, .row = origin->us == 0 ? row : NULL};
    int rc = take_history(&c, history, here, err);
    *outcome = CHANGE_AS_IS;
    if (fault_hit("replication.last_wins")) /* A deliberate bug. */
        c.sets.len = c.operands.len = c.deletions.len = 0;
    if (rc == 0 &&
        (c.sets.len + c.operands.len + c.deletions.len > 0 || c.row)) {
        mutation_init(out, buf_slice(&m->row));
        mutation_set_origin(out, origin, here);
        put_rest(&c, m, out);
        put_survivors(&c, out);
        put_operands_again(&c, out);
        out->session = m->session;
        out->sequence = m->sequence;
        out->answer = m->answer;
        *outcome = out->count > 1 ? CHANGE_REDUCED : CHANGE_NOTHING;
        if (*outcome == CHANGE_NOTHING)
            mutation_close(out);
    }
    buf_close(&c.sets);
    buf_close(&c.operands);
    buf_close(&c.deletions);
    buf_close(&c.kept);
    return rc;
}
