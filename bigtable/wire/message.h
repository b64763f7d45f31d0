/* The code of messages that are lists of fields (call_tables.h): the kinds of
 * fields, and the put and get that a list gives. Private to bigtable/wire.
 *
 * A kind is two macros, PUT_KIND and GET_KIND: `m` is the message, `out` takes
 * the bytes, `in` is the reader. A file may have kinds of its own. Bounds are
 * looser than those that the lock service, the file system and schemas set.
 */
#ifndef BIGTABLE_WIRE_MESSAGE_H
#define BIGTABLE_WIRE_MESSAGE_H

#include "base/rpc/rpc_message.h"

/* Rows of tables, and those of METADATA that name their ends. */
#define MESSAGE_ROW_BYTES_MAX       ((size_t)64 << 10)
#define MESSAGE_SEQUENCER_BYTES_MAX 2048
#define MESSAGE_NAME_BYTES_MAX      1024
#define MESSAGE_SCHEMA_BYTES_MAX    ((size_t)256 << 10)

static inline struct slice message_row(struct codec_reader *r)
{
    return message_bytes(r, MESSAGE_ROW_BYTES_MAX);
}

/* --- kinds --------------------------------------------------------------- */

#define PUT_U64(member) codec_put_u64(out, m->member);
#define GET_U64(member) m->member = codec_get_u64(&in.r);

#define PUT_U32(member) codec_put_u64(out, m->member);
#define GET_U32(member) m->member = message_u32(&in.r);

#define PUT_FLAG(member) codec_put_bool(out, m->member);
#define GET_FLAG(member) m->member = codec_get_bool(&in.r);

/* Bounded by the frame alone. */
#define PUT_BYTES(member) codec_put_bin(out, m->member);
#define GET_BYTES(member) m->member = codec_get_bytes(&in.r);

#define PUT_ROW(member) codec_put_bin(out, m->member);
#define GET_ROW(member) m->member = message_row(&in.r);

#define PUT_SCHEMA(member) codec_put_bin(out, m->member);
#define GET_SCHEMA(member)                                                     \
    m->member = message_bytes(&in.r, MESSAGE_SCHEMA_BYTES_MAX);

#define PUT_SEQUENCER(member) codec_put_bin(out, m->member);
#define GET_SEQUENCER(member)                                                  \
    m->member = message_bytes(&in.r, MESSAGE_SEQUENCER_BYTES_MAX);

#define PUT_NAME(member) codec_put_str(out, m->member);
#define GET_NAME(member)                                                       \
    m->member = message_bytes(&in.r, MESSAGE_NAME_BYTES_MAX);

#define PUT_FILE_NAME(member) codec_put_bin(out, m->member);
#define GET_FILE_NAME(member)                                                  \
    m->member = message_bytes(&in.r, MESSAGE_NAME_BYTES_MAX);

#define PUT_ADDRESS(member) codec_put_str(out, m->member);
#define GET_ADDRESS(member) m->member = message_bytes(&in.r, ADDRESS_BYTES_MAX);

#define PUT_HOLDERS(member) codec_put_bin(out, m->member);
#define GET_HOLDERS(member)                                                    \
    m->member = message_bytes(&in.r, LOG_HOLDERS_BYTES_MAX);

/* --- messages ------------------------------------------------------------ */

#define MESSAGE_PUT(KIND, member)   PUT_##KIND(member)
#define MESSAGE_GET(KIND, member)   GET_##KIND(member)
#define MESSAGE_COUNT(KIND, member) +1

/* Both directions of a message; a reader skips fields that newer writers have
 * appended. */
#define MESSAGE_CODE(type, FIELDS, what)                                       \
    void type##_put(const struct type *m, struct buf *out)                     \
    {                                                                          \
        codec_put_array(out, 0 FIELDS(MESSAGE_COUNT));                         \
        FIELDS(MESSAGE_PUT)                                                    \
    }                                                                          \
                                                                               \
    int type##_get(struct slice bytes, struct type *m, struct err *err)        \
    {                                                                          \
        struct message_reader in =                                             \
            message_begin(bytes, 0 FIELDS(MESSAGE_COUNT));                     \
        FIELDS(MESSAGE_GET)                                                    \
        return message_end(&in, what, err);                                    \
    }

#endif /* BIGTABLE_WIRE_MESSAGE_H */
