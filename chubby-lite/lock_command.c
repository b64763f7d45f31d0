/* Coding of commands and answers. Fields that a newer writer appends are
 * skipped, so that servers of two versions can share a cell during an upgrade.
 */
#include "chubby-lite/lock_command.h"

#include "base/core/panic.h"
#include "base/rpc/codec.h"

enum {
    COMMAND_FIELDS = 17,
    ANSWER_FIELDS = 14
};

void chubby_command_put(const struct chubby_command *c, struct buf *out)
{
    PRE(c->operation >= CHUBBY_OP_SESSION_OPEN);
    PRE(c->operation <= CHUBBY_OP_RELEASE);
    size_t i;

    codec_put_array(out, COMMAND_FIELDS);
    codec_put_u64(out, c->operation);
    codec_put_u64(out, c->session);
    codec_put_u64(out, c->sequence);
    codec_put_u64(out, c->acknowledged);
    codec_put_u64(out, c->now_us);
    codec_put_u64(out, c->handle);
    codec_put_str(out, c->path);
    codec_put_u64(out, c->flags);
    codec_put_u64(out, c->events);
    codec_put_u64(out, c->lock_delay_ms);
    codec_put_bool(out, c->has_generation);
    codec_put_u64(out, c->generation);
    codec_put_bin(out, c->contents);
    codec_put_str(out, c->principal);
    for (i = 0; i < ACL_KINDS; i++) {
        if (c->has_acl[i])
            codec_put_str(out, c->acl[i]);
        else
            codec_put_nil(out);
    }
}

/* A number that must fit into 32 bits. */
static uint32_t get_u32(struct codec_reader *r)
{
    uint64_t v = codec_get_u64(r);

    if (v > UINT32_MAX)
        r->bad = true;
    return (uint32_t)v;
}

/* Skip fields that a newer writer appended. */
static void skip_rest(struct codec_reader *r, uint32_t count, uint32_t known)
{
    if (count < known)
        r->bad = true;
    for (; count > known && !r->bad; count--)
        codec_skip(r);
}

int chubby_command_get(struct slice bytes,
                       struct chubby_command *c,
                       struct err *err)
{
    struct codec_reader r = codec_reader_make(bytes);
    uint32_t count = codec_get_array(&r);
    uint64_t operation = codec_get_u64(&r);
    size_t i;

    *c = (struct chubby_command){.session = codec_get_u64(&r)};
    c->sequence = codec_get_u64(&r);
    c->acknowledged = codec_get_u64(&r);
    c->now_us = codec_get_u64(&r);
    c->handle = codec_get_u64(&r);
    c->path = codec_get_bytes(&r);
    c->flags = get_u32(&r);
    c->events = get_u32(&r);
    c->lock_delay_ms = get_u32(&r);
    c->has_generation = codec_get_bool(&r);
    c->generation = codec_get_u64(&r);
    c->contents = codec_get_bytes(&r);
    c->principal = codec_get_bytes(&r);
    for (i = 0; i < ACL_KINDS; i++) {
        c->has_acl[i] = codec_peek(&r) != CODEC_NIL;
        if (c->has_acl[i])
            c->acl[i] = codec_get_bytes(&r);
        else
            codec_skip(&r);
    }
    skip_rest(&r, count, COMMAND_FIELDS);
    if (!codec_done(&r) || operation < CHUBBY_OP_SESSION_OPEN ||
        operation > CHUBBY_OP_RELEASE)
        return err_set(err, ERR_CORRUPT, "malformed command");
    c->operation = (enum chubby_operation)operation;
    return 0;
}

void chubby_answer_put(const struct chubby_answer *a, struct buf *out)
{
    PRE(a->code <= 0);
    const struct chubby_stat *s = &a->stat;

    codec_put_array(out, ANSWER_FIELDS);
    codec_put_i64(out, a->code);
    codec_put_str(out, a->text);
    codec_put_u64(out, a->handle);
    codec_put_bool(out, a->created);
    codec_put_u64(out, a->retry_us);
    codec_put_u64(out, s->instance);
    codec_put_u64(out, s->content_generation);
    codec_put_u64(out, s->lock_generation);
    codec_put_u64(out, s->acl_generation);
    codec_put_u64(out, s->contents_bytes);
    codec_put_u64(out, s->child_count);
    codec_put_u64(out, s->checksum);
    codec_put_bool(out, s->is_directory);
    codec_put_bool(out, s->is_ephemeral);
}

int chubby_answer_get(struct slice bytes,
                      struct chubby_answer *a,
                      struct err *err)
{
    struct codec_reader r = codec_reader_make(bytes);
    uint32_t count = codec_get_array(&r);
    int64_t code = codec_get_i64(&r);
    struct chubby_stat *s = &a->stat;

    *a = (struct chubby_answer){.text = codec_get_bytes(&r)};
    a->handle = codec_get_u64(&r);
    a->created = codec_get_bool(&r);
    a->retry_us = codec_get_u64(&r);
    s->instance = codec_get_u64(&r);
    s->content_generation = codec_get_u64(&r);
    s->lock_generation = codec_get_u64(&r);
    s->acl_generation = codec_get_u64(&r);
    s->contents_bytes = codec_get_u64(&r);
    s->child_count = get_u32(&r);
    s->checksum = get_u32(&r);
    s->is_directory = codec_get_bool(&r);
    s->is_ephemeral = codec_get_bool(&r);
    skip_rest(&r, count, ANSWER_FIELDS);
    if (!codec_done(&r) || code > 0 || code < ERR_ABORTED)
        return err_set(err, ERR_CORRUPT, "malformed answer");
    a->code = (int)code;
    return 0;
}
