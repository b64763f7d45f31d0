/* Tokens of change streams, as clients keep them: a place in the changes of one
 * table, and what the stream had promised there.
 *
 *     token   = base64(version:u8 table:varint watermark:zigzag end:zigzag
 *                      place crc:le32)
 *     place   = a token of quarry_changes_token()
 *
 * The checksum is over all before it and the table's name: a token that was
 * garbled, cut off or taken from another table is none. It grants nothing: who
 * presents one needs the right to read the table.
 *
 * Pure; any thread.
 */
#ifndef BIGTABLE_GATEWAY_STREAM_TOKEN_H
#define BIGTABLE_GATEWAY_STREAM_TOKEN_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* The table that a token is of. */
struct stream_table {
    uint64_t number; /* quarry_table_number() */
    struct slice name;
};

struct stream_token {
    int64_t
        watermark_us; /* All commits up to this time were told; 0: unknown. */
    int64_t end_us;   /* Commits after this time were left out; 0: none were. */
    struct slice place;
};

/* Longest text of a token that is looked at. */
#define STREAM_TOKEN_BYTES_MAX ((size_t)8 << 20)

/* Append @token of @table as text. */
void stream_token_put(struct buf *out,
                      const struct stream_table *table,
                      const struct stream_token *token);
/* @out->place is in @room, empty at first. ERR_INVALID: no token, or not of
 * @table. */
MUST_CHECK int stream_token_get(struct slice text,
                                const struct stream_table *table,
                                struct buf *room,
                                struct stream_token *out,
                                struct err *err);

#endif /* BIGTABLE_GATEWAY_STREAM_TOKEN_H */
