/* Tables, vectors and strings of FlatBuffers. A table's own description, where
 * its fields are, is written before each table; equal ones are not shared,
 * which costs some bytes a message.
 */
#include "cli/flat_table.h"

#include <string.h>

#include "base/core/panic.h"

/* The largest alignment of a field; of tables, too. */
#define FLAT_ALIGN ((size_t)8)

static void pad_to(struct buf *b, size_t align, size_t ahead)
{
    while ((b->len + ahead) % align)
        buf_append_byte(b, '\0');
}

size_t flat_begin(struct buf *b)
{
    PRE(b->len == 0);
    buf_append_fill(b, '\0', sizeof(uint32_t));
    return 0;
}

/* Places of the fields within the table, into @within; its size. */
static size_t place_fields(const uint8_t *bytes, size_t count, size_t *within)
{
    size_t size = sizeof(int32_t);
    for (size_t i = 0; i < count; i++) {
        within[i] = 0;
        if (!bytes[i])
            continue;
        size = (size + bytes[i] - 1) / bytes[i] * bytes[i];
        within[i] = size;
        size += bytes[i];
    }
    return size;
}

struct flat_table
flat_add_table(struct buf *b, const uint8_t *bytes, size_t count)
{
    struct flat_table t = {.at = 0};
    size_t within[FLAT_FIELDS_MAX];
    const size_t size = place_fields(bytes, count, within);
    const size_t about_bytes = (2 + count) * sizeof(uint16_t);
    size_t about;
    PRE(count <= FLAT_FIELDS_MAX);
    pad_to(b, FLAT_ALIGN, about_bytes);
    about = b->len;
    buf_append_fill(b, '\0', about_bytes + size);
    put_le16(b->data + about, (uint16_t)about_bytes);
    put_le16(b->data + about + 2, (uint16_t)size);
    t.at = about + about_bytes;
    put_le32(b->data + t.at, (uint32_t)about_bytes);
    for (size_t i = 0; i < count; i++) {
        put_le16(b->data + about + 4 + 2 * i, (uint16_t)within[i]);
        t.fields[i] = within[i] ? t.at + within[i] : 0;
    }
    return t;
}

size_t flat_add_vector(struct buf *b, size_t count, size_t bytes, size_t *first)
{
    size_t at;
    pad_to(b, bytes > 4 ? FLAT_ALIGN : 4, sizeof(uint32_t));
    at = b->len;
    buf_append_fill(b, '\0', sizeof(uint32_t) + count * bytes);
    put_le32(b->data + at, (uint32_t)count);
    *first = at + sizeof(uint32_t);
    return at;
}

size_t flat_add_string(struct buf *b, struct slice text)
{
    size_t first;
    const size_t at = flat_add_vector(b, text.len + 1, 1, &first);
    put_le32(b->data + at, (uint32_t)text.len); /* The NUL does not count. */
    if (text.len)
        memcpy(b->data + first, text.data, text.len);
    return at;
}

void flat_point(struct buf *b, size_t from, size_t to)
{
    PRE(to > from);
    put_le32(b->data + from, (uint32_t)(to - from));
}
