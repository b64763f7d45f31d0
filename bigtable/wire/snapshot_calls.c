/* Messages about snapshots. A list of summaries is a sequence of values without
 * a count, bounded by the bytes that there are. */
#include "bigtable/wire/snapshot_calls.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/core/arena.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/message.h"
#include "bigtable/wire/tablet_files.h"

#define SUMMARY_FIELDS 7

void import_file_name(uint64_t number, char out[IMPORT_FILE_NAME_BYTES])
{
    snprintf(out, IMPORT_FILE_NAME_BYTES, "%" PRIu64 ".sst", number);
}

static int
import_refuse_sequence(void *ctx, struct tablet_file_entry *f, struct err *err)
{
    (void)ctx;
    if (f->number > 0 && f->sequence_min <= f->sequence_max &&
        f->sequence_max <= IMPORT_SEQUENCE_MAX)
        return 0;
    return err_set(err, ERR_CORRUPT, "file %" PRIu64 ": its numbers are wrong",
                   f->number);
}

int import_record_get(const struct import_order *o,
                      struct arena *a,
                      struct snapshot_record *r,
                      struct err *err)
{
    struct schema *schema = NULL;
    struct buf scratch = BUF_INIT;
    int rc = load_check_name("the import's id", o->id, err);
    if (rc == 0)
        rc = snapshot_record_get(o->record, a, r, err);
    if (rc == 0)
        rc = schema_decode(r->schema, &schema, err);
    for (size_t i = 0; rc == 0 && i < r->tablet_count; i++) {
        const struct snapshot_tablet *t = &r->tablets[i];
        if (t->sequence > IMPORT_SEQUENCE_MAX)
            rc = err_set(err, ERR_CORRUPT, "tablet %zu: its sequence is wrong",
                         i);
        buf_clear(&scratch);
        if (rc == 0)
            rc = tablet_files_change(t->groups, import_refuse_sequence, NULL,
                                     &scratch, err);
    }
    schema_free(schema);
    buf_close(&scratch);
    return rc;
}

void snapshot_summary_put(const struct snapshot_summary *s, struct buf *out)
{
    codec_put_array(out, SUMMARY_FIELDS);
    codec_put_str(out, s->name);
    codec_put_str(out, s->table);
    codec_put_u64(out, s->created_us);
    codec_put_u64(out, s->expires_us);
    codec_put_u64(out, s->tablets);
    codec_put_u64(out, s->files);
    codec_put_u64(out, s->bytes);
}

static void get_summary(struct codec_reader *r, struct snapshot_summary *s)
{
    message_part(r, SUMMARY_FIELDS);
    s->name = message_bytes(r, TABLE_NAME_BYTES_MAX);
    s->table = message_bytes(r, TABLE_NAME_BYTES_MAX);
    s->created_us = codec_get_u64(r);
    s->expires_us = codec_get_u64(r);
    s->tablets = codec_get_u64(r);
    s->files = codec_get_u64(r);
    s->bytes = codec_get_u64(r);
}

int snapshot_list_get(struct slice in,
                      struct arena *a,
                      struct snapshot_list *l,
                      struct err *err)
{
    struct codec_reader r = codec_reader_make(in);
    size_t max = in.len / (SUMMARY_FIELDS + 1);
    l->count = 0;
    l->list =
        (struct snapshot_summary *)arena_alloc(a, (max + 1) * sizeof(*l->list));
    while (!r.bad && !codec_done(&r) && l->count < max)
        get_summary(&r, &l->list[l->count++]);
    return codec_done(&r)
               ? 0
               : err_set(err, ERR_CORRUPT, "malformed list of snapshots");
}
