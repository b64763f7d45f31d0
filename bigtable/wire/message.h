/* The kinds of fields that messages of tables have, beyond those of
 * message_code.h. Private to bigtable/wire. Bounds are looser than those that
 * the lock service, the file system and schemas set.
 */
#ifndef BIGTABLE_WIRE_MESSAGE_H
#define BIGTABLE_WIRE_MESSAGE_H

#include "base/rpc/message_code.h"

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

#endif /* BIGTABLE_WIRE_MESSAGE_H */
