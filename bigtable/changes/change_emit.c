/* Keys are decoded, families named, and what the reader may not see is left
 * out.
 */
#include "bigtable/changes/change_emit.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/changes/change_batch.h"
#include "bigtable/changes/change_read.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/mutation.h" /* entry_origin */
#include "bigtable/row/schema.h"

bool change_continues(const struct change_source_entry *last,
                      const struct change_source_entry *next)
{
    PRE(next->sequence > last->sequence);
    return next->sequence == last->sequence + 1 && next->mark != next->sequence;
}

void change_emitter_close(struct change_emitter *e)
{
    buf_close(&e->entries);
    buf_close(&e->names);
    buf_close(&e->scratch);
}

bool change_batch_is_full(const struct change_emitter *e)
{
    return e->out->batch.len >= e->request->batch_bytes;
}

static bool may_see(const struct change_request *r, const struct family *f)
{
    return !f->hidden && (!r->may_see || r->may_see(r->ctx, f));
}

static void put_entry(struct change_emitter *e,
                      const struct quarry_change_entry *entry)
{
    buf_append(&e->entries, entry, sizeof(*entry));
}

/* Of a row, a reader sees that the families went which he may see. */
static void put_row_deletion(struct change_emitter *e)
{
    const struct schema *s = e->request->schema;
    const struct quarry_change_entry row = {.kind = QUARRY_CHANGE_DELETE_ROW};
    size_t seen = s->hidden_count;
    for (size_t i = 0; i < s->family_count; i++)
        seen += may_see(e->request, &s->families[i]);
    if (seen == s->family_count) {
        put_entry(e, &row);
        return;
    }
    for (size_t i = 0; i < s->family_count; i++) {
        const struct quarry_change_entry family = {
            .kind = QUARRY_CHANGE_DELETE_FAMILY,
            .family = slice_str(s->families[i].name)};
        if (may_see(e->request, &s->families[i]))
            put_entry(e, &family);
    }
}

static void set_kind(const struct cell_key *k,
                     struct slice value,
                     struct quarry_change_entry *to)
{
    to->kind = QUARRY_CHANGE_DELETE_CELLS;
    switch (k->kind) {
    case ENTRY_PUT:
        to->kind = QUARRY_CHANGE_SET;
        to->timestamp_us = k->timestamp_us;
        to->value = value;
        break;
    case ENTRY_ADD:
    case ENTRY_MERGE:
        to->kind =
            k->kind == ENTRY_ADD ? QUARRY_CHANGE_ADD : QUARRY_CHANGE_MERGE;
        to->timestamp_us = k->timestamp_us;
        to->value = value;
        break;
    case ENTRY_DELETE_CELL:
        to->timestamp_us = k->timestamp_us;
        to->max_us = k->timestamp_us + 1;
        break;
    case ENTRY_DELETE_RANGE:
        to->timestamp_us = (int64_t)get_le64(value.data);
        to->max_us = (int64_t)get_le64(value.data + 8);
        break;
    case ENTRY_DELETE_FAMILY: to->kind = QUARRY_CHANGE_DELETE_FAMILY; break;
    case ENTRY_DELETE_COLUMN:
    case ENTRY_DELETE_ROW:
    case ENTRY_ORIGIN: break;
    }
}

/* Entries of a family that is no more are left out. */
static void put_family_entry(struct change_emitter *e,
                             const struct cell_key *k,
                             struct slice value)
{
    const struct family *f = schema_family_by_id(e->request->schema, k->family);
    struct quarry_change_entry entry = {.qualifier = k->qualifier};
    if (!f || !may_see(e->request, f))
        return;
    entry.family = slice_str(f->name);
    set_kind(k, value, &entry);
    put_entry(e, &entry);
}

/* A plain name that lies in @scratch, because it has escapes, is moved to where
 * it stays. PRE: there is room. */
static struct slice keep_name(struct change_emitter *e, struct slice name)
{
    size_t at = e->names.len;
    if (name.len == 0 || name.data < e->scratch.data ||
        name.data >= e->scratch.data + e->scratch.len)
        return name;
    buf_append_slice(&e->names, name);
    return slice_make(e->names.data + at, name.len);
}

static int change_decode(struct change_emitter *e,
                         const struct change_source_entry *from,
                         struct cell_key *k,
                         struct err *err)
{
    if (cell_key_decode(from->key, k, &e->scratch) &&
        (k->kind != ENTRY_DELETE_RANGE || from->value.len == 16)) {
        k->row = keep_name(e, k->row);
        k->qualifier = keep_name(e, k->qualifier);
        return 0;
    }
    return err_set(err, ERR_CORRUPT, "malformed entry among changes");
}

/* Room for the plain names of all entries, so that none moves. */
static void reserve_names(struct change_emitter *e,
                          const struct change_source_entry *list,
                          size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += list[i].key.len;
    buf_clear(&e->names);
    buf_reserve(&e->names, bytes);
}

int change_emit(struct change_emitter *e,
                const struct change_source_entry *list,
                size_t count,
                struct err *err)
{
    struct quarry_change change = {.sequence = list[0].sequence,
                                   .commit_us = list[0].us};
    PRE(count > 0);
    buf_clear(&e->entries);
    reserve_names(e, list, count);
    for (size_t i = 0; i < count; i++) {
        struct cell_key k;
        int rc = change_decode(e, &list[i], &k, err);
        if (rc)
            return rc;
        change.row = k.row;
        if (k.kind == ENTRY_ORIGIN)
            (void)entry_origin(list[i].value, &change.origin);
        else if (k.kind == ENTRY_DELETE_ROW)
            put_row_deletion(e);
        else
            put_family_entry(e, &k, list[i].value);
    }
    change.entries = (const void *)e->entries.data;
    change.entry_count = e->entries.len / sizeof(*change.entries);
    if (change.entry_count == 0)
        return 0;
    change_batch_put(&e->out->batch, &change);
    e->out->change_count++;
    return 0;
}
