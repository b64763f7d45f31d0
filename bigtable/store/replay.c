/* The log of an embedded store into memtables, when it is opened: each record
 * is some mutations, and each goes to the tablet of its row. Tables that were
 * dropped since are skipped.
 */
#include "bigtable/store/replay.h"

#include "base/core/coding.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "bigtable/lsm/skip_batch.h"
#include "bigtable/row/logged_mutation.h"
#include "bigtable/store/store.h"
#include "bigtable/write/write_insert.h"

static void replay_mutation(struct store *s,
                            const struct logged_mutation *m,
                            uint64_t sequence)
{
    for (size_t i = 0; i < s->table_count; i++) {
        struct table_part_view *v;
        const struct tablet *t;
        if (s->tables[i]->id != m->table)
            continue;
        v = table_part_get_view(s->tables[i]);
        t = table_part_view_find(v, m->row, NULL);
        atomic_fetch_add(&s->env.memory_bytes,
                         write_replay_mutation(v, t, m, sequence,
                                               s->queue.batch, &s->queue.key));
        write_freeze_full(&s->env, t);
        table_part_view_unref(v);
        break; /* Not found: the table was dropped. */
    }
}

void store_replay_end(struct store *s)
{
    skip_batch_end(s->queue.batch);
    atomic_store(&s->env.visible, s->queue.last_sequence);
}

int store_replay(struct store *s,
                 uint64_t sequence,
                 uint32_t count,
                 struct slice payload,
                 struct err *err)
{
    struct cursor c = cursor_make(payload);
    struct logged_mutation m;
    uint64_t end = sequence + count;
    PRE(count > 0);
    while (logged_mutation_read(&c, &m)) {
        replay_mutation(s, &m, sequence);
        sequence += m.count;
    }
    if (c.bad || sequence != end)
        return err_set(err, ERR_CORRUPT, "a record is not made of mutations");
    s->queue.last_sequence = MAX_OF(s->queue.last_sequence, end - 1);
    POST(s->queue.last_sequence >= end - 1);
    return 0;
}
