/* Bodies of the calls about logs of dead servers. */
#include "bigtable/wire/log_calls.h"

#include "base/core/coding.h"
#include "bigtable/wire/message.h"

#define LOG_SORTED_FIELDS 1
#define LOG_READ_FIELDS   8

#define SEQUENCER_BYTES_MAX 2048
#define NAME_BYTES_MAX      1024

void log_holder_put(const struct log_holder *h, struct buf *out)
{
    buf_put_varint(out, h->log);
    buf_put_varint(out, h->server);
    buf_put_lslice(out, h->segment);
    buf_put_lslice(out, h->address);
}

bool log_holder_next(struct cursor *c, struct log_holder *h)
{
    if (c->bad || c->p == c->end)
        return false;
    h->log = cursor_varint(c);
    h->server = cursor_varint(c);
    h->segment = cursor_lslice(c);
    h->address = cursor_lslice(c);
    return !c->bad;
}

void log_sorted_put(const struct log_sorted *s, struct buf *out)
{
    codec_put_array(out, LOG_SORTED_FIELDS);
    codec_put_bool(out, s->held);
}

int log_sorted_get(struct slice in, struct log_sorted *s, struct err *err)
{
    struct message_reader m = message_begin(in, LOG_SORTED_FIELDS);
    s->held = codec_get_bool(&m.r);
    return message_end(&m, "answer about a sorted segment", err);
}

void log_read_put(const struct log_read *r, struct buf *out)
{
    codec_put_array(out, LOG_READ_FIELDS);
    codec_put_bin(out, r->sequencer);
    codec_put_u64(out, r->server);
    codec_put_u64(out, r->log);
    codec_put_bin(out, r->segment);
    codec_put_u64(out, r->table);
    codec_put_bin(out, r->start);
    codec_put_bin(out, r->end);
    codec_put_u64(out, r->skip);
}

int log_read_get(struct slice in, struct log_read *r, struct err *err)
{
    struct message_reader m = message_begin(in, LOG_READ_FIELDS);
    r->sequencer = message_bytes(&m.r, SEQUENCER_BYTES_MAX);
    r->server = codec_get_u64(&m.r);
    r->log = codec_get_u64(&m.r);
    r->segment = message_bytes(&m.r, NAME_BYTES_MAX);
    r->table = codec_get_u64(&m.r);
    r->start = message_row(&m.r);
    r->end = message_row(&m.r);
    r->skip = codec_get_u64(&m.r);
    m.r.bad |= r->table == UINT64_MAX;
    return message_end(&m, "question for a sorted segment", err);
}
