/* What the readers of this directory share beyond base/rpc/message.h.
 * Private to bigtable/wire. */
#ifndef BIGTABLE_WIRE_MESSAGE_H
#define BIGTABLE_WIRE_MESSAGE_H

#include "base/rpc/message.h"

/* Rows of tables, and those of METADATA that name their ends. */
#define MESSAGE_ROW_BYTES_MAX ((size_t)64 << 10)

static inline struct slice message_row(struct codec_reader *r)
{
    return message_bytes(r, MESSAGE_ROW_BYTES_MAX);
}

#endif /* BIGTABLE_WIRE_MESSAGE_H */
