/* Putting the mutations of a log into memtables again. Entries that are in
 * tables already are skipped, so that a replay may be repeated. Families are
 * found by their ids, not by names: a family of that name may be another one by
 * now.
 */
#include "base/core/coding.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "bigtable/lsm/skip_batch.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/logged_mutation.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/done_changes.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_changes.h"
#include "bigtable/tablet/tablet_env.h"
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
    PRE(v && t);
    table_part_note_stamp(t->table, m->now_us);
    if (m->session && t->table->done)
        done_changes_note_one(t->table->done, m->session, m->sequence,
                              m->answer);
    buf_clear(scratch);
    cell_key_append_row(scratch, m->row);
    row_length = scratch->len;
    if (atomic_load(&t->changes->on))
        tablet_changes_begin_commit(t->changes, m->row, sequence, m->now_us);
    for (size_t i = 0; mutation_next(&c, &op) && i < m->count; i++) {
        struct resolved r = {get_le16(m->families + 2 * i), 0};
        const struct family *f = schema_family_by_id(v->schema, r.family);
        bool whole_row = mutation_kind_is_of_row(op.kind);
        if (!whole_row && !f)
            continue; /* Of a family that was dropped since. */
        if (!whole_row)
            r.group = (uint16_t)table_part_view_group(v, f->group);
        bytes += write_insert_op(batch, scratch, t, row_length, &op, &r,
                                 m->now_us, sequence + i);
    }
    return bytes;
}
