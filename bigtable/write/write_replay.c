/* Putting the mutations of a log into memtables again. Entries that are in
 * tables already are skipped, so that a replay may be repeated. Families are
 * found by their ids, not by names: a family of that name may be another one by
 * now.
 */
#include "base/core/coding.h"
#include "base/core/macros.h"
#include "bigtable/lsm/skip_batch.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/logged_mutation.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/store.h"
#include "bigtable/store/tablet.h"
#include "bigtable/write/done_changes.h"
#include "bigtable/write/tablet_writer.h"
#include "bigtable/write/write_insert.h"
#include "bigtable/write/write_queue.h"

/* Drops the operations that tables have already, and applies the others. */
uint64_t write_replay_mutation(const struct table_part_view *v,
                               const struct tablet *t,
                               const struct logged_mutation *m,
                               uint64_t sequence,
                               struct skip_batch *batch,
                               struct buf *scratch)
{
    struct cursor c = cursor_make(m->ops);
    struct mutation_op op;
    uint64_t bytes = 0;
    size_t row_length;
    table_part_note_stamp(t->table, m->now_us);
    if (m->session && t->table->done)
        done_changes_note_one(t->table->done, m->session, m->sequence,
                              m->answer);
    buf_clear(scratch);
    cell_key_append_row(scratch, m->row);
    row_length = scratch->len;
    for (size_t i = 0; mutation_next(&c, &op) && i < m->count; i++) {
        struct resolved r = {get_le16(m->families + 2 * i), 0};
        const struct family *f = schema_family_by_id(v->schema, r.family);
        bool whole_row = op.kind == MUTATION_DELETE_ROW;
        if (!whole_row && !f)
            continue; /* Of a family that was dropped since. */
        if (!whole_row)
            r.group = (uint16_t)table_part_view_group(v, f->group);
        bytes += write_insert_op(batch, scratch, t, row_length, &op, &r,
                                 m->now_us, sequence + i);
    }
    return bytes;
}

static int replay_mutation(struct store *s,
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
        atomic_fetch_add(&s->memory_bytes,
                         write_replay_mutation(v, t, m, sequence,
                                               s->queue.batch, &s->queue.key));
        write_freeze_full(s, t);
        table_part_view_unref(v);
        break; /* Not found: the table was dropped. */
    }
    return 0;
}

void write_replay_end(struct store *s)
{
    skip_batch_end(s->queue.batch);
}

int write_replay(struct store *s,
                 uint64_t sequence,
                 uint32_t count,
                 struct slice payload,
                 struct err *err)
{
    struct cursor c = cursor_make(payload);
    struct logged_mutation m;
    uint64_t end = sequence + count;
    while (logged_mutation_read(&c, &m)) {
        int rc = replay_mutation(s, &m, sequence);
        if (rc)
            return rc;
        sequence += m.count;
    }
    if (c.bad || sequence != end)
        return err_set(err, ERR_CORRUPT, "a record is not made of mutations");
    s->queue.last_sequence = MAX_OF(s->queue.last_sequence, end - 1);
    return 0;
}
