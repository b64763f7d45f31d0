/* Flat messages are coded field by field, each by the functions of its kind. A
 * reader believes no length: texts are borrowed from the message, and a field
 * that breaks a rule makes the whole message corrupt.
 */
#include "base/rpc/message_fields.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/rpc_message.h"

/* --- numbers ------------------------------------------------------------- */

static void
put_u64(const struct message_field *f, const void *m, struct buf *out)
{
    codec_put_u64(out, *(const uint64_t *)field_of(f, m));
}

static void
get_u64(const struct message_field *f, struct codec_reader *r, void *m)
{
    *(uint64_t *)field_in(f, m) = codec_get_u64(r);
}

static void
put_u32(const struct message_field *f, const void *m, struct buf *out)
{
    codec_put_u64(out, *(const uint32_t *)field_of(f, m));
}

static void
get_u32(const struct message_field *f, struct codec_reader *r, void *m)
{
    *(uint32_t *)field_in(f, m) = message_u32(r);
}

static void
put_u8(const struct message_field *f, const void *m, struct buf *out)
{
    codec_put_u64(out, *(const uint8_t *)field_of(f, m));
}

static void
get_u8(const struct message_field *f, struct codec_reader *r, void *m)
{
    *(uint8_t *)field_in(f, m) = message_u8(r);
}

static void
put_flag(const struct message_field *f, const void *m, struct buf *out)
{
    codec_put_bool(out, *(const bool *)field_of(f, m));
}

static void
get_flag(const struct message_field *f, struct codec_reader *r, void *m)
{
    *(bool *)field_in(f, m) = codec_get_bool(r);
}

const struct message_kind field_u64 = {put_u64, get_u64, sizeof(uint64_t), 0};
const struct message_kind field_u32 = {put_u32, get_u32, sizeof(uint32_t), 0};
const struct message_kind field_u8 = {put_u8, get_u8, sizeof(uint8_t), 0};
const struct message_kind field_flag = {put_flag, get_flag, sizeof(bool), 0};

/* --- bytes and texts ----------------------------------------------------- */

void field_put_bytes(const struct message_field *f,
                     const void *m,
                     struct buf *out)
{
    codec_put_bin(out, *(const struct slice *)field_of(f, m));
}

void field_put_text(const struct message_field *f,
                    const void *m,
                    struct buf *out)
{
    codec_put_str(out, *(const struct slice *)field_of(f, m));
}

void field_get_bounded(const struct message_field *f,
                       struct codec_reader *r,
                       void *m)
{
    *(struct slice *)field_in(f, m) = message_bytes(r, f->kind->bytes_max);
}

static void
get_bytes(const struct message_field *f, struct codec_reader *r, void *m)
{
    *(struct slice *)field_in(f, m) = codec_get_bytes(r);
}

void field_put_maybe(const struct message_field *f,
                     const void *m,
                     struct buf *out)
{
    bool there = *(const bool *)((const char *)m + f->there_at);
    message_put_maybe(out, there, *(const struct slice *)field_of(f, m));
}

void field_get_maybe(const struct message_field *f,
                     struct codec_reader *r,
                     void *m)
{
    bool *there = (bool *)((char *)m + f->there_at);
    *(struct slice *)field_in(f, m) = message_maybe(r, there);
}

const struct message_kind field_bytes = {
    .put = field_put_bytes,
    .get = get_bytes,
    .member_bytes = sizeof(struct slice),
};
const struct message_kind field_maybe = {
    .put = field_put_maybe,
    .get = field_get_maybe,
    .member_bytes = sizeof(struct slice),
};

/* --- messages ------------------------------------------------------------ */

void message_put(const struct message_field *fields,
                 size_t count,
                 const void *m,
                 struct buf *out)
{
    codec_put_array(out, (uint32_t)count);
    for (const struct message_field *f = fields; f < fields + count; f++) {
        PRE(f->member_bytes == f->kind->member_bytes);
        f->kind->put(f, m, out);
    }
}

int message_get(const struct message_field *fields,
                size_t count,
                const char *what,
                struct slice bytes,
                void *m,
                struct err *err)
{
    struct message_reader in = message_begin(bytes, 0);
    for (const struct message_field *f = fields; f < fields + count; f++) {
        PRE(f->member_bytes == f->kind->member_bytes);
        if (in.known < in.count) {
            in.known++;
            f->kind->get(f, &in.r, m);
        } else {
            memset(field_in(f, m), 0, f->member_bytes);
            in.r.bad |= !f->is_later;
        }
    }
    return message_end(&in, what, err);
}
