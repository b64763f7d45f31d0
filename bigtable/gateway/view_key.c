/* The encoding of keys is that of the message Type.Struct, whose description
 * is public, and of the variable-length integers that it names.
 */
#include "bigtable/gateway/view_key.h"

#include "base/core/macros.h"
#include "base/core/panic.h"

#define INTEGER_BYTES_MAX 10

/* The bytes that @magnitude needs: n of them hold 7n - 1 bits. */
static unsigned integer_bytes(uint64_t magnitude)
{
    unsigned n = 1;
    while (7 * n - 1 < 64 && magnitude >> (7 * n - 1))
        n++;
    POST(n <= INTEGER_BYTES_MAX);
    return n;
}

void view_key_put_integer(struct buf *out, int64_t v)
{
    const bool negative = v < 0;
    const uint64_t magnitude = negative ? ~(uint64_t)v : (uint64_t)v;
    const unsigned n = integer_bytes(magnitude);
    unsigned char bytes[INTEGER_BYTES_MAX] = {0};
    for (unsigned i = 0; i < n && i < 8; i++)
        bytes[n - 1 - i] = (unsigned char)(magnitude >> (8 * i));
    for (unsigned i = 0; i < n; i++)
        bytes[i / 8] |= (unsigned char)(0x80 >> (i % 8));
    for (unsigned i = 0; i < n; i++)
        buf_append_byte(out, (char)(negative ? ~bytes[i] : bytes[i]));
}

void view_key_clear(struct view_key *k)
{
    buf_clear(&k->out);
    k->empty = k->fields = 0;
}

void view_key_add(struct view_key *k, struct slice field)
{
    PRE(k->fields > 0 || k->out.len == 0);
    if (field.len == 0) {
        k->empty++;
        return;
    }
    for (size_t i = 0; i < k->empty; i++) {
        if (k->fields++)
            buf_append(&k->out, "\0\1", 2);
        buf_append(&k->out, "\0\0", 2);
    }
    k->empty = 0;
    if (k->fields++)
        buf_append(&k->out, "\0\1", 2);
    for (size_t i = 0; i < field.len; i++) {
        buf_append_byte(&k->out, field.data[i]);
        if (field.data[i] == '\0')
            buf_append_byte(&k->out, '\xff');
    }
}

struct slice view_key_end(struct view_key *k)
{
    if (k->out.len == 0)
        buf_append(&k->out, "\0\0", 2);
    POST(k->out.len > 0);
    return buf_slice(&k->out);
}

bool view_key_get_integer(struct slice bytes, int64_t *v)
{
    const bool negative = bytes.len && !((unsigned char)bytes.data[0] & 0x80);
    struct buf again = BUF_INIT;
    uint64_t magnitude = 0;
    bool same;
    if (bytes.len == 0 || bytes.len > INTEGER_BYTES_MAX)
        return false;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned byte = (unsigned char)bytes.data[i];
        byte = negative ? ~byte & 0xff : byte;
        if (i == bytes.len / 8)
            byte &= (unsigned)(0xff >> (bytes.len % 8));
        else if (i < bytes.len / 8)
            byte = 0;
        magnitude = magnitude << 8 | byte;
    }
    *v = (int64_t)(negative ? ~magnitude : magnitude);
    view_key_put_integer(&again, *v);
    same = slice_eq(buf_slice(&again), bytes);
    buf_close(&again);
    return same;
}

/* A zero in a field is followed by ff; 00 00 is an empty field, 00 01 stands
 * between two. */
size_t view_key_split(struct slice key,
                      struct buf *bytes,
                      struct slice *fields,
                      size_t max)
{
    size_t begins[64] = {0};
    size_t count = 1;
    PRE(max <= ARRAY_LEN(begins));
    buf_clear(bytes);
    for (size_t i = 0; i < key.len; i++) {
        const bool mark = key.data[i] == '\0';
        const unsigned char next =
            i + 1 < key.len ? (unsigned char)key.data[i + 1] : 0;
        i += mark;
        if (mark && next == 1 && count < max)
            begins[count++] = bytes->len;
        else if (mark && next == 0)
            continue;
        else
            buf_append_byte(bytes, mark ? '\0' : key.data[i]);
    }
    for (size_t n = 0; n < count && n < max; n++)
        fields[n] = slice_make(bytes->data + begins[n],
                               (n + 1 < count ? begins[n + 1] : bytes->len) -
                                   begins[n]);
    return count < max ? count : max;
}

void view_column(struct slice name,
                 struct slice *family,
                 struct slice *qualifier)
{
    const size_t dot = slice_find_byte(name, '.');
    *family = SLICE_LIT("default");
    *qualifier = name;
    if (dot == 0 || dot == name.len)
        return;
    *family = slice_sub(name, 0, dot);
    *qualifier = slice_sub(name, dot + 1, name.len);
}

bool view_type_is_stored(enum gsql_kind kind)
{
    return kind == GSQL_BOOL || kind == GSQL_INT64 || kind == GSQL_FLOAT32 ||
           kind == GSQL_FLOAT64 || kind == GSQL_STRING || kind == GSQL_BYTES ||
           kind == GSQL_DATE || kind == GSQL_TIMESTAMP;
}
