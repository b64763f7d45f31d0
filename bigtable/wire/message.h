/* Bounds of texts in messages of tables. They are looser than those that the
 * lock service, the file system and schemas set. Private to bigtable/wire.
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

static inline bool message_has_nul(struct slice s)
{
    return slice_find_byte(s, '\0') != s.len;
}

/* Text that C code will read: without a NUL inside. */
static inline struct slice message_text(struct codec_reader *r)
{
    struct slice s = codec_get_bytes(r);
    r->bad |= message_has_nul(s);
    return s;
}

#endif /* BIGTABLE_WIRE_MESSAGE_H */
