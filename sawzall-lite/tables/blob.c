/* Byte strings owned by the state of a table, counted in its budget. Every
 * change of size goes through saw_table__resize(), so the count is exact. */
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/tables/impl.h"

#define BLOB_BYTES_MIN 16

static void blob_reserve(struct saw_table *t, struct saw_blob *b, size_t want)
{
    size_t cap = b->cap ? b->cap : BLOB_BYTES_MIN;
    if (want <= b->cap)
        return;
    while (cap < want)
        cap += cap / 2;
    b->data = saw_table__resize(t, b->data, b->cap, cap);
    b->cap = cap;
    POST(b->cap >= want);
}

void saw_blob_set(struct saw_table *t, struct saw_blob *b, struct slice s)
{
    /* Most values never grow: the first gets exactly the room it needs. */
    if (b->cap == 0 && s.len > 0) {
        b->data = saw_table__resize(t, NULL, 0, s.len);
        b->cap = s.len;
    }
    blob_reserve(t, b, s.len);
    if (s.len)
        memcpy(b->data, s.data, s.len);
    b->len = s.len;
}

void saw_blob_append(struct saw_table *t, struct saw_blob *b, struct slice s)
{
    INVARIANT(b->len <= b->cap);
    blob_reserve(t, b, b->len + s.len);
    if (s.len)
        memcpy(b->data + b->len, s.data, s.len);
    b->len += s.len;
}

void saw_blob_close(struct saw_table *t, struct saw_blob *b)
{
    saw_table__resize(t, b->data, b->cap, 0);
    *b = (struct saw_blob){0};
}
