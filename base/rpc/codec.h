/* Message bodies: MessagePack, written by msgpack-c, read by our own cursor.
 *
 * Reading never trusts a length: msgpack-c's unpacker reserves 8 GB for six
 * hostile bytes; this cursor reserves nothing. Every value read is bounded by
 * the bytes that are left, nesting by CODEC_DEPTH_MAX.
 *
 * Convention for messages: an array of fields in a fixed order. A reader reads
 * the fields it knows and skips the rest (codec_get_array() returns their
 * number), so that a newer writer may append fields.
 *
 * Threads: none of its own; one thread per writer or reader.
 */
#ifndef BASE_RPC_CODEC_H
#define BASE_RPC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Deepest nesting of arrays and maps that is read or skipped. */
#define CODEC_DEPTH_MAX 32

/* --- writing: appends one value to @out ---------------------------------- */

/* One value of each type. */
void codec_put_nil(struct buf *out);
void codec_put_bool(struct buf *out, bool v);
void codec_put_u64(struct buf *out, uint64_t v);
void codec_put_i64(struct buf *out, int64_t v);
/* Bytes (bin) and text (str). PRE: s.len < 2^32. */
void codec_put_bin(struct buf *out, struct slice s);
void codec_put_str(struct buf *out, struct slice s);
/* The header of an array: @count values follow. */
void codec_put_array(struct buf *out, uint32_t count);

/* --- reading ------------------------------------------------------------- */

enum codec_type {
    CODEC_NIL,
    CODEC_BOOL,
    CODEC_UINT,
    CODEC_INT, /* Negative. */
    CODEC_FLOAT,
    CODEC_STR,
    CODEC_BIN,
    CODEC_ARRAY,
    CODEC_MAP,
    CODEC_BAD, /* The end, an extension type, or the reader is bad. */
};

struct codec_reader {
    const char *p;   /* Next byte. */
    const char *end; /* One past the last. */
    bool bad;        /* Sticky: cut short, another type, too deep. */
};

static inline struct codec_reader codec_reader_make(struct slice s)
{
    return (struct codec_reader){s.data, s.data + s.len, false};
}

/* Type of the next value; does not advance. */
enum codec_type codec_peek(const struct codec_reader *r);

/* Read the next value. A value of another type, or cut short, makes the
 * reader bad; it then gives zeros and empty slices. Test `bad` at the end. */
bool codec_get_bool(struct codec_reader *r);
uint64_t codec_get_u64(struct codec_reader *r);
int64_t codec_get_i64(struct codec_reader *r);
/* A float or an integer. */
double codec_get_double(struct codec_reader *r);
/* str or bin, borrowed from the reader's bytes. */
struct slice codec_get_bytes(struct codec_reader *r);
/* Count of values (of pairs) that follow; never more than there are bytes. */
uint32_t codec_get_array(struct codec_reader *r);
uint32_t codec_get_map(struct codec_reader *r);
/* Skip one value and everything inside it. */
void codec_skip(struct codec_reader *r);
/* True if all bytes were read and the reader is not bad. */
bool codec_done(const struct codec_reader *r);

#endif /* BASE_RPC_CODEC_H */
