/* Encoding of cell keys: the layout described in cell_key.h, and its reader.
 *
 * Names rarely hold zero bytes, so both directions look for the first one with
 * memchr and copy or borrow everything before it at once.
 */
#include "bigtable/row/cell_key.h"

#include "base/core/coding.h"
#include "base/core/panic.h"

#define TRAILER_BYTES CELL_KEY_TRAILER_BYTES
#define TIME_BYTES    ((size_t)8)
#define FAMILY_BYTES  CELL_KEY_FAMILY_BYTES /* Id and marker. */
#define BORDER_BYTES  CELL_KEY_BORDER_BYTES /* 00 01. */
#define SEQUENCE_MAX  ((UINT64_C(1) << 56) - 1)
#define MARKER_FAMILY '\x00'
#define MARKER_COLUMN '\x01'
#define ESCAPED_ZERO  '\xff'
#define BORDER_SECOND '\x01'

STATIC_ASSERT(CELL_KEY_VERSION_BYTES == TIME_BYTES + TRAILER_BYTES,
              "what follows the column part");

static void append_name(struct buf *out, struct slice name)
{
    char *p;
    size_t n = slice_find_byte(name, '\0');
    while (UNLIKELY(n < name.len)) {
        p = buf_extend(out, n + 2);
        if (n)
            memcpy(p, name.data, n);
        p[n] = '\0';
        p[n + 1] = ESCAPED_ZERO;
        name = slice_sub(name, n + 1, name.len);
        n = slice_find_byte(name, '\0');
    }
    p = buf_extend(out, n + BORDER_BYTES);
    if (n)
        memcpy(p, name.data, n);
    p[n] = '\0';
    p[n + 1] = BORDER_SECOND;
}

static void append_family(struct buf *out, family_id family, char marker)
{
    char *p = buf_extend(out, FAMILY_BYTES);
    p[0] = (char)(unsigned char)(family >> 8);
    p[1] = (char)(unsigned char)family;
    p[2] = marker;
}

void cell_key_append_row(struct buf *out, struct slice row)
{
    append_name(out, row);
}

void cell_key_append_column(struct buf *out,
                            struct slice row,
                            family_id family,
                            struct slice qualifier)
{
    append_name(out, row);
    cell_key_append_family_column(out, family, qualifier);
}

void cell_key_append_family_column(struct buf *out,
                                   family_id family,
                                   struct slice qualifier)
{
    append_family(out, family, MARKER_COLUMN);
    append_name(out, qualifier);
}

void cell_key_append_time(struct buf *out, int64_t timestamp_us)
{
    uint64_t biased = (uint64_t)timestamp_us + (UINT64_C(1) << 63);
    put_be64(buf_extend(out, TIME_BYTES), ~biased);
}

static void
append_trailer(struct buf *out, uint64_t sequence, enum entry_kind kind)
{
    PRE(sequence <= SEQUENCE_MAX);
    put_be64(buf_extend(out, TRAILER_BYTES), ~(sequence << 8 | (uint64_t)kind));
}

void cell_key_append_numbered(struct buf *out,
                              struct slice key,
                              uint64_t sequence)
{
    PRE(key.len >= TRAILER_BYTES);
    buf_append(out, key.data, key.len - TRAILER_BYTES);
    append_trailer(out, sequence, cell_key_kind(key));
}

void cell_key_append_rest(struct buf *out, const struct cell_key *k)
{
    if (entry_kind_has_column(k->kind)) {
        cell_key_append_family_column(out, k->family, k->qualifier);
        cell_key_append_time(out, k->timestamp_us);
    } else {
        append_family(out, k->family, MARKER_FAMILY);
    }
    append_trailer(out, k->sequence, k->kind);
}

void cell_key_append(struct buf *out, const struct cell_key *k)
{
    append_name(out, k->row);
    cell_key_append_rest(out, k);
}

bool cell_key_prefix_successor(struct buf *out, size_t at)
{
    PRE(at <= out->len);
    while (out->len > at && (unsigned char)out->data[out->len - 1] == 0xff)
        out->len--;
    if (out->len == at)
        return false;
    out->data[out->len - 1]++;
    return true;
}

/* Length of the escaped name at the start of @s, border included; 0 when it
 * does not end, or holds a zero byte that means nothing. *@escaped is set when
 * it must be unescaped to be read. */
static size_t name_length(struct slice s, bool *escaped)
{
    size_t at = 0;
    for (;;) {
        const char *z = s.len - at >= BORDER_BYTES
                            ? memchr(s.data + at, 0, s.len - at - 1)
                            : NULL;
        if (UNLIKELY(!z))
            return 0;
        at = (size_t)(z - s.data) + BORDER_BYTES;
        if (LIKELY(z[1] == BORDER_SECOND))
            return at;
        if (z[1] != ESCAPED_ZERO)
            return 0;
        *escaped = true;
    }
}

size_t cell_key_row_parse(struct slice key, bool *escaped)
{
    *escaped = false;
    return name_length(key, escaped);
}

size_t cell_key_row_length(struct slice key)
{
    bool escaped;
    return cell_key_row_parse(key, &escaped);
}

size_t cell_key_column_parse(struct slice key, size_t row_length, bool *escaped)
{
    size_t at = row_length + FAMILY_BYTES;
    size_t n;
    *escaped = false;
    if (row_length == 0 || key.len < at)
        return 0;
    if (key.data[at - 1] == MARKER_FAMILY)
        return at;
    if (key.data[at - 1] != MARKER_COLUMN)
        return 0;
    n = name_length((struct slice){key.data + at, key.len - at}, escaped);
    return n ? at + n : 0;
}

size_t cell_key_column_length(struct slice key)
{
    bool escaped;
    return cell_key_column_parse(key, cell_key_row_length(key), &escaped);
}

/* The plain name behind the @len escaped bytes at @p, border included. */
static struct slice
plain_name(const char *p, size_t len, bool escaped, struct buf *scratch)
{
    const char *end = p + len - BORDER_BYTES;
    size_t start = scratch->len;
    if (!escaped)
        return slice_make(p, len - BORDER_BYTES);
    while (p < end) {
        const char *z = memchr(p, 0, (size_t)(end - p));
        size_t n = z ? (size_t)(z - p) + 1 : (size_t)(end - p);
        buf_append(scratch, p, n);
        p += n + (z ? 1 : 0);
    }
    return slice_make(scratch->data + start, scratch->len - start);
}

struct slice cell_key_plain_row(struct slice encoded, struct buf *scratch)
{
    bool escaped = false;
    size_t n = name_length(encoded, &escaped);
    PRE(n > 0);
    buf_clear(scratch);
    return plain_name(encoded.data, n, escaped, scratch);
}

bool cell_key_decode_column(struct slice key,
                            size_t row_length,
                            family_id *family,
                            struct slice *qualifier,
                            struct buf *scratch)
{
    bool escaped = false;
    const char *p = key.data + row_length;
    size_t n;
    if (key.len < row_length + FAMILY_BYTES || p[2] != MARKER_COLUMN)
        return false;
    *family = (family_id)((unsigned char)p[0] << 8 | (unsigned char)p[1]);
    n = name_length(slice_sub(key, row_length + FAMILY_BYTES, key.len),
                    &escaped);
    if (n == 0)
        return false;
    buf_clear(scratch);
    *qualifier = plain_name(p + FAMILY_BYTES, n, escaped, scratch);
    return true;
}

void cell_key_set_kind(struct buf *key, enum entry_kind kind)
{
    PRE(key->len >= TRAILER_BYTES);
    key->data[key->len - 1] = (char)(unsigned char)~(unsigned)kind;
}

static bool kind_is_known(enum entry_kind kind)
{
    return kind >= ENTRY_PUT && kind <= ENTRY_MERGE;
}

/* Do the lengths of the parts and the kind of @key agree? */
static bool shape_is_valid(struct slice key,
                           size_t column_end,
                           char marker,
                           enum entry_kind kind,
                           family_id family)
{
    bool column = marker == MARKER_COLUMN;
    size_t rest = TRAILER_BYTES + (column ? TIME_BYTES : 0);
    return (column || marker == MARKER_FAMILY) && kind_is_known(kind) &&
           key.len == column_end + rest &&
           entry_kind_has_column(kind) == column &&
           (family == 0) == entry_kind_is_of_row(kind);
}

bool cell_key_decode(struct slice key,
                     struct cell_key *out,
                     struct buf *scratch)
{
    bool row_escaped = false;
    bool column_escaped = false;
    size_t row = name_length(key, &row_escaped);
    size_t at = row + FAMILY_BYTES;
    size_t column = 0;
    const char *f = key.data + row;

    if (row == 0 || key.len < at + TRAILER_BYTES)
        return false;
    if (f[2] == MARKER_COLUMN)
        column = name_length(slice_sub(key, at, key.len), &column_escaped);
    out->kind = cell_key_kind(key);
    out->family = (family_id)((unsigned char)f[0] << 8 | (unsigned char)f[1]);
    if ((f[2] == MARKER_COLUMN && column == 0) ||
        !shape_is_valid(key, at + column, f[2], out->kind, out->family))
        return false;
    out->sequence = cell_key_sequence(key);
    out->timestamp_us = column ? cell_key_timestamp(key) : INT64_MAX;
    buf_clear(scratch);
    /* Reserved at once: the second name must not move the first. */
    if (row_escaped || column_escaped)
        buf_reserve(scratch, key.len);
    out->row = plain_name(key.data, row, row_escaped, scratch);
    out->qualifier =
        column ? plain_name(key.data + at, column, column_escaped, scratch)
               : SLICE_EMPTY;
    return true;
}
