/* Coding of messages to a server of the cell. Everything that is read may come
 * from anybody who can connect.
 */
#include "chubby-lite/lock_wire.h"

#include "base/core/panic.h"
#include "base/rpc/rpc_message.h"
#include "chubby-lite/lock_command.h"

static void
put_read_kind(const struct message_field *f, const void *m, struct buf *out)
{
    const enum chubby_read_kind *kind = field_of(f, m);
    codec_put_u64(out, (uint64_t)*kind);
}

static void
get_read_kind(const struct message_field *f, struct codec_reader *r, void *m)
{
    enum chubby_read_kind *kind = field_in(f, m);
    uint32_t number = message_u32(r);
    r->bad |= number > CHUBBY_READ_STAT;
    *kind = r->bad ? CHUBBY_READ_CONTENTS : (enum chubby_read_kind)number;
}

const struct message_kind chubby_field_read_kind = {
    .put = put_read_kind,
    .get = get_read_kind,
    .member_bytes = sizeof(enum chubby_read_kind),
};

void chubby_view_put(const struct chubby_view *v, struct buf *out)
{
    struct chubby_answer a = {.stat = v->stat};

    codec_put_array(out, 3);
    chubby_answer_put(&a, out);
    codec_put_bin(out, v->bytes);
    codec_put_bool(out, v->cacheable);
}

int chubby_view_get(struct slice bytes, struct chubby_view *v, struct err *err)
{
    struct codec_reader r = codec_reader_make(bytes);
    uint32_t count = codec_get_array(&r);
    const char *begin = r.p;
    struct chubby_answer a;
    int rc;

    codec_skip(&r);
    if (r.bad || count < 3)
        return err_set(err, ERR_CORRUPT, "malformed view");
    rc = chubby_answer_get(slice_make(begin, (size_t)(r.p - begin)), &a, err);
    if (rc)
        return rc;
    v->stat = a.stat;
    v->bytes = codec_get_bytes(&r);
    v->cacheable = codec_get_bool(&r);
    if (r.bad)
        return err_set(err, ERR_CORRUPT, "malformed view");
    return 0;
}

void chubby_news_put_head(uint64_t term,
                          uint32_t lease_ms,
                          size_t count,
                          struct buf *out)
{
    PRE(term > 0);
    codec_put_u64(out, term);
    codec_put_u64(out, lease_ms);
    codec_put_u64(out, count);
}

void chubby_news_put_item(const struct chubby_news_item *i, struct buf *out)
{
    PRE(i->number > 0);
    PRE(i->kind <= CHUBBY_NEWS_INVALIDATE);
    codec_put_u64(out, i->number);
    codec_put_u64(out, (uint64_t)i->kind);
    codec_put_u64(out, i->target);
    codec_put_u64(out, i->event);
}

int chubby_news_get_head(struct codec_reader *r,
                         uint64_t *term,
                         uint32_t *lease_ms,
                         uint64_t *count,
                         struct err *err)
{
    uint64_t lease;

    *term = codec_get_u64(r);
    lease = codec_get_u64(r);
    *count = codec_get_u64(r);
    *lease_ms = (uint32_t)lease;
    if (r->bad || lease > UINT32_MAX)
        return err_set(err, ERR_CORRUPT, "malformed news");
    return 0;
}

int chubby_news_get_item(struct codec_reader *r,
                         struct chubby_news_item *i,
                         struct err *err)
{
    uint64_t kind;
    uint64_t event;

    i->number = codec_get_u64(r);
    kind = codec_get_u64(r);
    i->target = codec_get_u64(r);
    event = codec_get_u64(r);
    if (r->bad || kind > CHUBBY_NEWS_INVALIDATE || event > UINT32_MAX)
        return err_set(err, ERR_CORRUPT, "malformed news");
    i->kind = (enum chubby_news_kind)kind;
    i->event = (unsigned)event;
    return 0;
}
