/* Properties: counting them entry by entry, and their form in the file. Tags
 * are part of the file format. Each value has its length before it, so that a
 * reader skips a tag that a later version wrote.
 */
#include "bigtable/sstable/properties.h"

#include "base/core/coding.h"
#include "base/core/panic.h"

/* tag, field: the unsigned ones. */
#define NUMBER_TAGS(X)                                                         \
    X(1, entry_count)                                                          \
    X(2, tombstone_count)                                                      \
    X(3, scope_count)                                                          \
    X(4, block_count)                                                          \
    X(5, key_bytes)                                                            \
    X(6, value_bytes)                                                          \
    X(7, sequence_min)                                                         \
    X(8, sequence_max)                                                         \
    X(9, dictionary_tried)                                                     \
    X(15, bloom)

enum {
    TAG_TIME_MIN = 10,
    TAG_TIME_MAX = 11,
    TAG_FIRST_KEY = 12,
    TAG_LAST_KEY = 13,
    TAG_FAMILY = 14, /* One each: id varint, bytes varint. */
    TAG_CHANGES = 16,
};

void sstable_properties_init(struct sstable_properties *p)
{
    *p = (struct sstable_properties){
        .sequence_min = UINT64_MAX,
        .time_min_us = INT64_MAX,
        .time_max_us = INT64_MIN,
    };
}

void sstable_properties_close(struct sstable_properties *p)
{
    buf_close(&p->first_key);
    buf_close(&p->last_key);
    mem_free(p->families);
    sstable_properties_init(p);
}

static struct family_bytes *family_of(struct sstable_properties *p,
                                      family_id id)
{
    size_t i = p->family_count;
    PRE(p->families || p->family_count == 0);

    while (i > 0 && p->families[i - 1].id != id)
        i--;
    if (i > 0)
        return &p->families[i - 1];
    p->families =
        mem_realloc(p->families, (p->family_count + 1) * sizeof(*p->families));
    p->families[p->family_count] = (struct family_bytes){.id = id};
    return &p->families[p->family_count++];
}

void sstable_properties_count(struct sstable_properties *p,
                              struct slice key,
                              size_t value_len,
                              family_id family,
                              bool has_time)
{
    enum entry_kind kind = cell_key_kind(key);
    uint64_t sequence = cell_key_sequence(key);

    PRE(key.len > sizeof(sequence));
    p->entry_count++;
    p->key_bytes += key.len;
    p->value_bytes += value_len;
    p->sequence_min = MIN_OF(p->sequence_min, sequence);
    p->sequence_max = MAX_OF(p->sequence_max, sequence);
    family_of(p, family)->bytes += key.len + value_len;
    if (kind != ENTRY_PUT && !entry_kind_is_operand(kind)) {
        p->tombstone_count++;
        if (kind == ENTRY_DELETE_FAMILY || kind == ENTRY_DELETE_ROW)
            p->scope_count++;
    } else if (has_time) {
        int64_t time = cell_key_timestamp(key);
        p->time_min_us = MIN_OF(p->time_min_us, time);
        p->time_max_us = MAX_OF(p->time_max_us, time);
    }
}

static void append_number(struct buf *out, uint64_t tag, uint64_t value)
{
    buf_put_varint(out, tag);
    buf_put_varint(out, varint_bytes(value));
    buf_put_varint(out, value);
}

static void append_bytes(struct buf *out, uint64_t tag, struct slice bytes)
{
    buf_put_varint(out, tag);
    buf_put_lslice(out, bytes);
}

static void properties_check(const struct sstable_properties *p)
{
    INVARIANT(p->entry_count > 0); /* INV-1 */
    INVARIANT(p->first_key.len > 0);
    INVARIANT(p->last_key.len > 0);
    INVARIANT(p->scope_count <= p->tombstone_count); /* INV-2 */
    INVARIANT(p->tombstone_count <= p->entry_count);
    INVARIANT(p->block_count <= p->entry_count);
    INVARIANT(p->sequence_min <= p->sequence_max); /* INV-3 */
}

static void append_changes(struct buf *out, const struct sstable_properties *p)
{
    char handle[BLOCK_HANDLE_BYTES_MAX];
    struct buf body = BUF_INIT;
    size_t bytes = (size_t)(block_handle_put(handle, &p->marks) - handle);
    PRE(p->changes.end_sequence >= p->sequence_max);
    PRE(p->sequence_min <= p->sequence_max); /* INV-3 */

    buf_put_varint(&body, p->changes.end_sequence);
    buf_put_zigzag(&body, p->changes.first_us);
    buf_put_zigzag(&body, p->changes.last_us);
    buf_append(&body, handle, bytes);
    append_bytes(out, TAG_CHANGES, buf_slice(&body));
    buf_close(&body);
}

void sstable_properties_append(struct buf *out,
                               const struct sstable_properties *p)
{
    PRE(p->entry_count > 0); /* INV-1 */
    PRE(p->block_count > 0);
    PRE(p->block_count <= p->entry_count);
    properties_check(p);
#define X(tag, field) append_number(out, tag, p->field);
    NUMBER_TAGS(X)
#undef X
    append_number(out, TAG_TIME_MIN, zigzag_encode(p->time_min_us));
    append_number(out, TAG_TIME_MAX, zigzag_encode(p->time_max_us));
    append_bytes(out, TAG_FIRST_KEY, buf_slice(&p->first_key));
    append_bytes(out, TAG_LAST_KEY, buf_slice(&p->last_key));
    for (size_t i = 0; i < p->family_count; i++) {
        const struct family_bytes *f = &p->families[i];
        buf_put_varint(out, TAG_FAMILY);
        buf_put_varint(out, varint_bytes(f->id) + varint_bytes(f->bytes));
        buf_put_varint(out, f->id);
        buf_put_varint(out, f->bytes);
    }
    if (p->changes.end_sequence)
        append_changes(out, p);
}

static void parse_changes(struct sstable_properties *p, struct cursor *c)
{
    p->changes.end_sequence = cursor_varint(c);
    p->changes.first_us = cursor_zigzag(c);
    p->changes.last_us = cursor_zigzag(c);
    block_handle_get(c, SSTABLE_BYTES_MAX, &p->marks);
    c->bad |= p->changes.end_sequence < p->sequence_max;
}

static void parse_family(struct sstable_properties *p, struct cursor *c)
{
    uint64_t id = cursor_varint(c);
    uint64_t bytes = cursor_varint(c);

    if (id > UINT16_MAX || c->bad)
        c->bad = true;
    else
        family_of(p, (family_id)id)->bytes = bytes;
}

static void
parse_one(struct sstable_properties *p, uint64_t tag, struct cursor *c)
{
    switch (tag) {
#define X(number, field)                                                       \
    case number: p->field = cursor_varint(c); break;
        NUMBER_TAGS(X)
#undef X
    case TAG_TIME_MIN: p->time_min_us = cursor_zigzag(c); break;
    case TAG_TIME_MAX: p->time_max_us = cursor_zigzag(c); break;
    case TAG_FIRST_KEY:
        buf_clear(&p->first_key);
        buf_append(&p->first_key, c->p, cursor_left(c));
        break;
    case TAG_LAST_KEY:
        buf_clear(&p->last_key);
        buf_append(&p->last_key, c->p, cursor_left(c));
        break;
    case TAG_FAMILY: parse_family(p, c); break;
    case TAG_CHANGES: parse_changes(p, c); break;
    default: break; /* Written by a later version. */
    }
}

int sstable_properties_parse(struct slice bytes,
                             struct sstable_properties *p,
                             struct err *err)
{
    struct cursor c = cursor_make(bytes);

    while (cursor_left(&c) > 0 && !c.bad) {
        uint64_t tag = cursor_varint(&c);
        struct cursor one = cursor_make(cursor_lslice(&c));
        if (!c.bad)
            parse_one(p, tag, &one);
        c.bad |= one.bad;
    }
    if (c.bad || p->entry_count == 0 || p->block_count == 0 ||
        p->tombstone_count > p->entry_count || p->block_count > p->entry_count)
        return err_set(err, ERR_CORRUPT, "malformed properties");
    return 0;
}
