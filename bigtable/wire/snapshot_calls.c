/* Messages about snapshots. A list of summaries is a sequence of values without
 * a count, bounded by the bytes that there are. */
#include "bigtable/wire/snapshot_calls.h"

#include "base/core/arena.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/message.h"

#define SUMMARY_FIELDS 7

#define PUT_TABLE_NAME(member) codec_put_str(out, m->member);
#define GET_TABLE_NAME(member)                                                 \
    m->member = message_bytes(&in.r, TABLE_NAME_BYTES_MAX);

SNAPSHOT_MESSAGES(MESSAGE_CODE)

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
