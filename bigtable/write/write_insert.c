/* Entries into memtables: from an operation of a mutation to a key and a value
 * in the memtable of its group. A deletion of the row goes to every
 * group but that of transactions, whose locks outlive it.
 * Entries that a group has in tables already are left out, by their numbers:
 * then a replay of the log may begin before what is needed.
 */
#include "bigtable/write/write_insert.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/lsm/skip_batch.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/mutation.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_env.h"
#include "bigtable/write/tablet_writer.h"

/* Put an entry into @g unless it is in its tables. Returns by how much memory
 * that made its memtable grow, which may be less than nothing: sums wrap. */
static uint64_t insert_entry(struct tablet_group *g,
                             struct skip_batch *batch,
                             struct slice key,
                             struct slice value,
                             uint64_t sequence)
{
    uint64_t before;
    PRE(sequence > 0);
    if (UNLIKELY(sequence <= atomic_load_explicit(&g->flushed_sequence,
                                                  memory_order_relaxed)))
        return 0;
    before = lsm_active_memory(g->lsm);
    tablet_group_insert(g, batch, key, value, sequence);
    return lsm_active_memory(g->lsm) - before;
}

uint64_t write_insert_op(struct skip_batch *batch,
                         struct buf *bytes,
                         const struct tablet *t,
                         size_t row_length,
                         const struct mutation_op *op,
                         const struct resolved *r,
                         int64_t now_us,
                         uint64_t sequence)
{
    struct cell_key key = {.sequence = sequence};
    struct slice value;
    char range[16];
    size_t first = r->group;
    size_t end = first + 1;
    uint64_t grown = 0;
    PRE(row_length > 0);
    PRE(bytes->len >= row_length);
    mutation_entry(op, r->family, now_us, &key, &value, range);
    buf_truncate(bytes, row_length);
    cell_key_append_rest(bytes, &key);
    if (op->kind == MUTATION_DELETE_ROW) {
        first = 0;
        end = atomic_load(&t->group_count);
    }
    for (size_t i = first; i < end; i++) {
        if (op->kind == MUTATION_DELETE_ROW && t->groups[i]->hidden)
            continue;
        grown += insert_entry(t->groups[i], batch, buf_slice(bytes), value,
                              sequence);
    }
    return grown;
}

void write_freeze_full(struct tablet_env *env, const struct tablet *t)
{
    bool any = false;
    PRE(t);
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct tablet_group *g = t->groups[i];
        if (lsm_active_bytes(g->lsm) < g->memtable_bytes)
            continue;
        skip_batch_end(env->queue->batch); /* A replay's continues. */
        tablet_group_freeze(g, tablet_last_sequence(t));
        any = true;
    }
    if (any)
        env->ops->frozen(env);
}
