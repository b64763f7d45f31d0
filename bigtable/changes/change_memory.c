/* The orders of all memtables of all groups are merged by number: they are few,
 * so the lowest is searched for.
 */
#include "bigtable/changes/change_memory.h"

#include "base/core/panic.h"
#include "bigtable/changes/change_emit.h"
#include "bigtable/changes/change_position.h"
#include "bigtable/changes/change_read.h"
#include "bigtable/changes/change_sources.h"
#include "bigtable/lsm/change_order.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/lsm/version.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/tablet/tablet.h"

/* Entries that were flushed above it are in one of the files, whatever
 * compactions have made of the tables since. */
bool change_memory_has(const struct change_sources *s, uint64_t low)
{
    PRE(low >= s->floor);
    for (size_t i = 0; i < s->file_count; i++)
        if (s->files[i].extent.end_sequence > low)
            return false;
    return true;
}

struct memory_read {
    struct order_cursor *cursors; /* Owned. */
    size_t cursor_count;
    struct buf lower; /* Encoded rows; an empty upper is no bound. */
    struct buf upper;
    struct buf commit; /* Entries of the one that is being gathered. */
    struct change_emitter *emitter;
};

static void memory_open(struct memory_read *m,
                        const struct tablet_snapshot *s,
                        const struct change_request *r,
                        uint64_t low,
                        uint64_t limit)
{
    size_t room = 0;
    for (size_t i = 0; i < s->group_count; i++)
        room += s->groups[i]->mem_count;
    m->cursors = mem_zalloc(room + 1, sizeof(*m->cursors));
    for (size_t i = 0; i < s->group_count; i++)
        for (size_t k = 0; k < s->groups[i]->mem_count; k++)
            if (s->groups[i]->mems[k]->order)
                order_cursor_open(&m->cursors[m->cursor_count++],
                                  s->groups[i]->mems[k]->order, low, limit);
    if (r->start.len)
        cell_key_append_row(&m->lower, r->start);
    if (r->end.len)
        cell_key_append_row(&m->upper, r->end);
}

static void memory_close(struct memory_read *m)
{
    mem_free(m->cursors);
    buf_close(&m->lower);
    buf_close(&m->upper);
    buf_close(&m->commit);
}

/* The cursor with the lowest number; NULL at the end. */
static struct order_cursor *change_memory_lowest(const struct memory_read *m)
{
    struct order_cursor *best = NULL;
    for (size_t i = 0; i < m->cursor_count; i++) {
        struct order_cursor *c = &m->cursors[i];
        if (c->node && (!best || c->sequence < best->sequence))
            best = c;
    }
    return best;
}

static struct change_source_entry entry_at(const struct order_cursor *c)
{
    return (struct change_source_entry){c->sequence, c->mark, c->us,
                                        skip_node_key(c->node),
                                        skip_node_value(c->node)};
}

static struct slice row_of(struct slice key)
{
    return slice_sub(key, 0, cell_key_row_length(key));
}

/* The last entry that was gathered; NULL: none. */
static const struct change_source_entry *
last_gathered(const struct memory_read *m)
{
    size_t count = m->commit.len / sizeof(struct change_source_entry);
    const struct change_source_entry *list = (const void *)m->commit.data;
    return count ? &list[count - 1] : NULL;
}

/* Gather a commit, and leave the cursors behind it. A deletion of a row is in
 * each group, under one number. False: there is none. */
static bool gather_commit(struct memory_read *m)
{
    struct order_cursor *c;
    buf_clear(&m->commit);
    while ((c = change_memory_lowest(m))) {
        const struct change_source_entry *last = last_gathered(m);
        struct change_source_entry e = entry_at(c);
        if (last && last->sequence != e.sequence &&
            (!change_continues(last, &e) ||
             !slice_eq(row_of(last->key), row_of(e.key))))
            break;
        if (!last || last->sequence != e.sequence)
            buf_append(&m->commit, &e, sizeof(e));
        order_cursor_next(c);
    }
    return m->commit.len > 0;
}

static bool is_in_range(const struct memory_read *m, struct slice key)
{
    return slice_cmp(key, buf_slice(&m->lower)) >= 0 &&
           (m->upper.len == 0 || slice_cmp(key, buf_slice(&m->upper)) < 0);
}

int change_memory_read(const struct tablet_snapshot *s,
                       uint64_t limit,
                       struct change_emitter *e,
                       struct change_position *at,
                       int64_t *us,
                       struct err *err)
{
    struct memory_read m = {.emitter = e};
    bool more = true;
    int rc = 0;
    PRE(at->high == 0);
    memory_open(&m, s, e->request, at->low, limit);
    while (rc == 0 && !change_batch_is_full(e) && (more = gather_commit(&m))) {
        const struct change_source_entry *list = (const void *)m.commit.data;
        if (is_in_range(&m, list[0].key))
            rc = change_emit(e, list, m.commit.len / sizeof(*list), err);
        if (rc == 0) {
            at->low = last_gathered(&m)->sequence;
            *us = list[0].us;
        }
    }
    if (rc == 0 && !more)
        at->low = MAX_OF(at->low, limit);
    memory_close(&m);
    return rc;
}
