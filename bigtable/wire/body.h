/* Kinds of fields that only the calls of rows have, beside those of message.h:
 * fields that may be absent, small numbers, and text for C. Private to
 * bigtable/wire. */
#ifndef BIGTABLE_WIRE_BODY_H
#define BIGTABLE_WIRE_BODY_H

#include "bigtable/wire/message.h"

static inline uint8_t message_u8(struct codec_reader *r)
{
    uint64_t v = codec_get_u64(r);
    r->bad |= v > UINT8_MAX;
    return (uint8_t)v;
}

/* Bytes, or nothing: absent is not the same as empty. */
static inline void
message_put_maybe(struct buf *out, bool there, struct slice s)
{
    if (there)
        codec_put_bin(out, s);
    else
        codec_put_nil(out);
}

static inline struct slice message_maybe(struct codec_reader *r, bool *there)
{
    *there = codec_peek(r) != CODEC_NIL;
    if (*there)
        return codec_get_bytes(r);
    codec_skip(r);
    return SLICE_EMPTY;
}

static inline bool has_nul(struct slice s)
{
    return slice_find_byte(s, '\0') != s.len;
}

/* Text that C code will read: without a NUL inside. */
static inline struct slice message_text(struct codec_reader *r)
{
    struct slice s = codec_get_bytes(r);
    r->bad |= has_nul(s);
    return s;
}

#define PUT_U8(member) codec_put_u64(out, m->member);
#define GET_U8(member) m->member = message_u8(&in.r);

/* The member has_MEMBER says whether it is there. */
#define PUT_MAYBE(member) message_put_maybe(out, m->has_##member, m->member);
#define GET_MAYBE(member) m->member = message_maybe(&in.r, &m->has_##member);

/* The output of a program's tables, in struct run_settings @member. */
#define PUT_OUTPUT(member)                                                     \
    message_put_maybe(out, m->member.has_table_output, m->member.table_output);
#define GET_OUTPUT(member)                                                     \
    m->member.table_output =                                                   \
        message_maybe(&in.r, &m->member.has_table_output);                     \
    in.r.bad |= has_nul(m->member.table_output);

#endif /* BIGTABLE_WIRE_BODY_H */
