/* The code of messages that are lists of fields (call_tables.h): the kinds of
 * fields that all services have, and the put and get that a list gives. For the
 * `.c` that defines a service's messages.
 *
 * A kind is two macros, PUT_KIND and GET_KIND: `m` is the message, `out` takes
 * the bytes, `in` is the reader. A service, or one file, may have kinds of its
 * own.
 */
#ifndef BASE_RPC_MESSAGE_CODE_H
#define BASE_RPC_MESSAGE_CODE_H

#include <string.h>

#include "base/rpc/rpc_message.h"

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

/* Fields that were added to a message after its first version: what a writer of
 * before did not send is zero. */
#define MESSAGE_GET_LATER(KIND, member)                                        \
    if (in.count > in.known) {                                                 \
        GET_##KIND(member);                                                    \
        in.known++;                                                            \
    }

/* A message with such fields, LATER; peers of before skip them. */
#define MESSAGE_CODE_LATER(type, FIELDS, LATER, what)                          \
    void type##_put(const struct type *m, struct buf *out)                     \
    {                                                                          \
        codec_put_array(out, 0 FIELDS(MESSAGE_COUNT) LATER(MESSAGE_COUNT));    \
        FIELDS(MESSAGE_PUT)                                                    \
        LATER(MESSAGE_PUT)                                                     \
    }                                                                          \
                                                                               \
    int type##_get(struct slice bytes, struct type *m, struct err *err)        \
    {                                                                          \
        struct message_reader in =                                             \
            message_begin(bytes, 0 FIELDS(MESSAGE_COUNT));                     \
        memset(m, 0, sizeof(*m));                                              \
        FIELDS(MESSAGE_GET)                                                    \
        LATER(MESSAGE_GET_LATER)                                               \
        return message_end(&in, what, err);                                    \
    }

#endif /* BASE_RPC_MESSAGE_CODE_H */
