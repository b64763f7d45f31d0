/* Bodies of the calls about snapshots. */
#include "bigtable/wire/snapshot_calls.h"

#include "base/core/arena.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/message.h"

#define ORDER_FIELDS   3
#define SUMMARY_FIELDS 7

void snapshot_order_put(const struct snapshot_order *o, struct buf *out)
{
    codec_put_array(out, ORDER_FIELDS);
    codec_put_str(out, o->name);
    codec_put_str(out, o->table);
    codec_put_u64(out, o->ttl_us);
}

int snapshot_order_get(struct slice in,
                       struct snapshot_order *o,
                       struct err *err)
{
    struct message_reader m = message_begin(in, ORDER_FIELDS);
    o->name = message_bytes(&m.r, TABLE_NAME_BYTES_MAX);
    o->table = message_bytes(&m.r, TABLE_NAME_BYTES_MAX);
    o->ttl_us = codec_get_u64(&m.r);
    return message_end(&m, "order about a snapshot", err);
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
