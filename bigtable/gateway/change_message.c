/* Consumers of the API know no deletion of a row: it is written as the deletion
 * of each of its families.
 */
#include "bigtable/gateway/change_message.h"

#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"

bool change_needs_schema(const struct quarry_change *c)
{
    for (size_t i = 0; i < c->entry_count; i++)
        if (c->entries[i].kind == QUARRY_CHANGE_DELETE_ROW ||
            c->entries[i].kind == QUARRY_CHANGE_ADD)
            return true;
    return false;
}

void change_writer_begin(struct change_writer *w,
                         const struct quarry_change *c,
                         const struct quarry_table_info *schema,
                         const char *cluster)
{
    PRE(schema || !change_needs_schema(c));
    *w = (struct change_writer){
        .change = c, .schema = schema, .cluster = cluster};
}

bool change_writer_is_empty(const struct change_writer *w)
{
    for (size_t i = 0; i < w->change->entry_count; i++)
        if (w->change->entries[i].kind != QUARRY_CHANGE_DELETE_ROW)
            return false;
    return w->schema->family_count == 0;
}

/* --- the head ------------------------------------------------------------ */

/* A commit that came by replication names its site. */
static void
put_source(const struct quarry_change *c, const char *cluster, struct buf *out)
{
    char site[32];
    snprintf(site, sizeof(site), "site-%016llx",
             (unsigned long long)c->origin.site);
    pb_put_bytes(out, PB_DataChange_source_cluster_id,
                 slice_str(c->origin.site ? site : cluster));
}

static void put_head(const struct change_writer *w, struct buf *out)
{
    const struct quarry_change *c = w->change;
    if (w->entry || w->offset) {
        pb_put_integer(out, PB_DataChange_type,
                       PB_DataChange_Type_CONTINUATION);
        return;
    }
    pb_put_integer(out, PB_DataChange_type, PB_DataChange_Type_USER);
    put_source(c, w->cluster, out);
    pb_put_bytes(out, PB_DataChange_row_key, c->row);
    service_put_time(out, PB_DataChange_commit_timestamp, c->commit_us);
    pb_put_integer(out, PB_DataChange_tiebreaker,
                   (int64_t)(c->sequence & INT32_MAX));
}

/* --- mutations ----------------------------------------------------------- */

/* A MutationChunk with the mutation of field @kind: what is open, in order. */
struct opened_chunk {
    size_t chunk;
    size_t mutation;
    size_t kind;
};

static struct opened_chunk open_chunk(struct buf *out, unsigned kind)
{
    struct opened_chunk o = {.chunk = pb_open(out, PB_DataChange_chunks)};
    o.mutation = pb_open(out, PB_MutationChunk_mutation);
    o.kind = pb_open(out, kind);
    return o;
}

static void close_chunk(struct buf *out, const struct opened_chunk *o)
{
    pb_close(out, o->kind);
    pb_close(out, o->mutation);
    pb_close(out, o->chunk);
}

static void put_family_deletion(struct buf *out, struct slice family)
{
    struct opened_chunk o = open_chunk(out, PB_Mutation_delete_from_family);
    pb_put_bytes(out, PB_DeleteFromFamily_family_name, family);
    close_chunk(out, &o);
}

static void put_row_deletion(const struct change_writer *w, struct buf *out)
{
    for (size_t i = 0; i < w->schema->family_count; i++)
        put_family_deletion(out, slice_str(w->schema->families[i].name));
}

static void put_cells_deletion(struct buf *out,
                               const struct quarry_change_entry *e)
{
    struct opened_chunk o = open_chunk(out, PB_Mutation_delete_from_column);
    pb_put_bytes(out, PB_DeleteFromColumn_family_name, e->family);
    pb_put_bytes(out, PB_DeleteFromColumn_column_qualifier, e->qualifier);
    if (e->timestamp_us || e->max_us) {
        size_t range = pb_open(out, PB_DeleteFromColumn_time_range);
        pb_put_integer(out, PB_TimestampRange_start_timestamp_micros,
                       e->timestamp_us);
        pb_put_integer(out, PB_TimestampRange_end_timestamp_micros,
                       e->max_us == INT64_MAX ? 0 : e->max_us);
        pb_close(out, range);
    }
    close_chunk(out, &o);
}

static bool adds_bytes(const struct change_writer *w, struct slice family)
{
    for (size_t i = 0; i < w->schema->family_count; i++)
        if (slice_eq_str(family, w->schema->families[i].name))
            return strcmp(w->schema->families[i].aggregate, "hll-bytes") == 0;
    return false;
}

STATIC_ASSERT((int)PB_AddToCell_family_name ==
                      (int)PB_MergeToCell_family_name &&
                  (int)PB_AddToCell_column_qualifier ==
                      (int)PB_MergeToCell_column_qualifier &&
                  (int)PB_AddToCell_timestamp ==
                      (int)PB_MergeToCell_timestamp &&
                  (int)PB_AddToCell_input == (int)PB_MergeToCell_input,
              "put_operand() writes both");

/* An input of an aggregate of integers is 8 bytes. */
static void put_operand(const struct change_writer *w,
                        const struct quarry_change_entry *e,
                        struct buf *out)
{
    bool adds = e->kind == QUARRY_CHANGE_ADD;
    struct opened_chunk o = open_chunk(out, adds ? PB_Mutation_add_to_cell
                                                 : PB_Mutation_merge_to_cell);
    size_t value;
    pb_put_bytes(out, PB_AddToCell_family_name, e->family);
    value = pb_open(out, PB_AddToCell_column_qualifier);
    pb_put_bytes(out, PB_Value_raw_value, e->qualifier);
    pb_close(out, value);
    value = pb_open(out, PB_AddToCell_timestamp);
    pb_put_integer(out, PB_Value_raw_timestamp_micros, e->timestamp_us);
    pb_close(out, value);
    value = pb_open(out, PB_AddToCell_input);
    if (adds && e->value.len == 8 && !adds_bytes(w, e->family))
        pb_put_integer(out, PB_Value_int_value,
                       (int64_t)get_be64(e->value.data));
    else
        pb_put_bytes(out, PB_Value_raw_value, e->value);
    pb_close(out, value);
    close_chunk(out, &o);
}

static void put_chunk_info(const struct quarry_change_entry *e,
                           size_t offset,
                           bool is_last,
                           struct buf *out)
{
    size_t info = pb_open(out, PB_MutationChunk_chunk_info);
    pb_put_integer(out, PB_ChunkInfo_chunked_value_size, (int64_t)e->value.len);
    pb_put_integer(out, PB_ChunkInfo_chunked_value_offset, (int64_t)offset);
    pb_put_integer(out, PB_ChunkInfo_last_chunk, is_last);
    pb_close(out, info);
}

/* True: the rest of its value is for the next message. */
static bool put_cell(struct change_writer *w,
                     const struct quarry_change_entry *e,
                     struct buf *out)
{
    bool in_chunks = e->value.len > CHANGE_MESSAGE_BYTES;
    size_t end = MIN_OF(w->offset + CHANGE_MESSAGE_BYTES, e->value.len);
    struct opened_chunk o = {.chunk = pb_open(out, PB_DataChange_chunks)};
    if (in_chunks)
        put_chunk_info(e, w->offset, end == e->value.len, out);
    o.mutation = pb_open(out, PB_MutationChunk_mutation);
    o.kind = pb_open(out, PB_Mutation_set_cell);
    pb_put_bytes(out, PB_SetCell_family_name, e->family);
    pb_put_bytes(out, PB_SetCell_column_qualifier, e->qualifier);
    pb_put_integer(out, PB_SetCell_timestamp_micros, e->timestamp_us);
    pb_put_bytes(out, PB_SetCell_value, slice_sub(e->value, w->offset, end));
    close_chunk(out, &o);
    w->offset = end == e->value.len ? 0 : end;
    return w->offset != 0;
}

/* True: the message ends here. */
static bool put_entry(struct change_writer *w,
                      const struct quarry_change_entry *e,
                      struct buf *out)
{
    switch (e->kind) {
    case QUARRY_CHANGE_SET: return put_cell(w, e, out);
    case QUARRY_CHANGE_DELETE_CELLS: put_cells_deletion(out, e); break;
    case QUARRY_CHANGE_DELETE_FAMILY:
        put_family_deletion(out, e->family);
        break;
    case QUARRY_CHANGE_DELETE_ROW: put_row_deletion(w, out); break;
    case QUARRY_CHANGE_ADD:
    case QUARRY_CHANGE_MERGE: put_operand(w, e, out); break;
    }
    return false;
}

bool change_writer_next(struct change_writer *w, struct buf *out)
{
    size_t begin = out->len;
    PRE(w->entry < w->change->entry_count);
    put_head(w, out);
    while (w->entry < w->change->entry_count &&
           out->len - begin < CHANGE_MESSAGE_BYTES) {
        if (put_entry(w, &w->change->entries[w->entry], out))
            return true;
        w->entry++;
    }
    return w->entry < w->change->entry_count;
}
