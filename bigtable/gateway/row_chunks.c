/* Cells into the chunks of a ReadRowsResponse. This writes most bytes that the
 * gateway sends, so a chunk is sized first and then written with its tags as
 * constants into one piece of the buffer.
 *
 * Key, family and qualifier are left out where they equal those of the previous
 * chunk; a new family comes with its qualifier, even an empty one. Of a value
 * in parts, every part but the last carries the whole size.
 */
#include "bigtable/gateway/row_chunks.h"

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"

/* Tags: number and wire type. */
enum chunk_tag {
    TAG_CHUNKS = PB_ReadRowsResponse_chunks << 3 | PB_BYTES,
    TAG_ROW_KEY = PB_CellChunk_row_key << 3 | PB_BYTES,
    TAG_FAMILY = PB_CellChunk_family_name << 3 | PB_BYTES,
    TAG_QUALIFIER = PB_CellChunk_qualifier << 3 | PB_BYTES,
    TAG_TIMESTAMP = PB_CellChunk_timestamp_micros << 3 | PB_VARINT,
    TAG_LABELS = PB_CellChunk_labels << 3 | PB_BYTES,
    TAG_VALUE = PB_CellChunk_value << 3 | PB_BYTES,
    TAG_VALUE_SIZE = PB_CellChunk_value_size << 3 | PB_VARINT,
    TAG_COMMIT = PB_CellChunk_commit_row << 3 | PB_VARINT,
    /* Of StringValue, too. */
    TAG_WRAPPED = PB_BytesValue_value << 3 | PB_BYTES,
};

/* The next chunk. */
struct chunk {
    struct slice key; /* data NULL: left out. So for the next two. */
    struct slice family;
    struct slice qualifier;
    uint64_t timestamp;
    struct slice label;
    struct slice value;
    size_t value_size; /* 0: none. */
    bool commit;
    size_t bytes; /* Of the whole message. */
};

void row_chunks_begin(struct row_chunks *c, const struct quarry_row *row)
{
    PRE(row->cell_count > 0);
    *c = (struct row_chunks){.row = row};
}

/* Bytes of a wrapped text (BytesValue); an empty one is an empty message. */
static size_t wrapped_size(struct slice s)
{
    return s.len ? pb_bytes_size(s.len) : 0;
}

static size_t chunk_size(const struct chunk *k)
{
    size_t n = 0;
    if (k->key.data)
        n += pb_bytes_size(k->key.len);
    if (k->family.data)
        n += pb_bytes_size(wrapped_size(k->family));
    if (k->qualifier.data)
        n += pb_bytes_size(wrapped_size(k->qualifier));
    if (k->timestamp)
        n += 1 + varint_bytes(k->timestamp);
    if (k->label.len)
        n += pb_bytes_size(k->label.len);
    if (k->value.len)
        n += pb_bytes_size(k->value.len);
    if (k->value_size)
        n += 1 + varint_bytes(k->value_size);
    return n + (k->commit ? 2 : 0);
}

static char *put_text(char *p, enum chunk_tag tag, struct slice s)
{
    *p++ = (char)tag;
    p = put_varint(p, s.len);
    if (s.len)
        memcpy(p, s.data, s.len);
    return p + s.len;
}

static char *put_wrapped(char *p, enum chunk_tag tag, struct slice s)
{
    *p++ = (char)tag;
    p = put_varint(p, wrapped_size(s));
    return s.len ? put_text(p, TAG_WRAPPED, s) : p;
}

static void put_chunk(struct buf *out, const struct chunk *k)
{
    size_t size = chunk_size(k);
    char *p = buf_extend(out, pb_bytes_size(size));
    *p++ = (char)TAG_CHUNKS;
    p = put_varint(p, size);
    if (k->key.data)
        p = put_text(p, TAG_ROW_KEY, k->key);
    if (k->family.data)
        p = put_wrapped(p, TAG_FAMILY, k->family);
    if (k->qualifier.data)
        p = put_wrapped(p, TAG_QUALIFIER, k->qualifier);
    if (k->timestamp) {
        *p++ = (char)TAG_TIMESTAMP;
        p = put_varint(p, k->timestamp);
    }
    if (k->label.len)
        p = put_text(p, TAG_LABELS, k->label);
    if (k->value.len)
        p = put_text(p, TAG_VALUE, k->value);
    if (k->value_size) {
        *p++ = (char)TAG_VALUE_SIZE;
        p = put_varint(p, k->value_size);
    }
    if (k->commit) {
        *p++ = (char)TAG_COMMIT;
        *p++ = 1;
    }
    INVARIANT(p == out->data + out->len);
}

static struct slice row_chunks_present(struct slice s)
{
    return s.data ? s : SLICE_EMPTY;
}

/* Fill in what the first chunk of a cell says and the others leave out. */
static void
put_names(struct row_chunks *c, const struct quarry_cell *cell, struct chunk *k)
{
    bool new_family = !c->family.data || !slice_eq(c->family, cell->family);
    if (c->cell == 0)
        k->key = row_chunks_present(c->row->key);
    if (new_family)
        k->family = row_chunks_present(cell->family);
    if (new_family || !slice_eq(c->qualifier, cell->qualifier))
        k->qualifier = row_chunks_present(cell->qualifier);
    k->timestamp = (uint64_t)cell->timestamp_us;
    k->label = cell->label;
    c->family = row_chunks_present(cell->family);
    c->qualifier = row_chunks_present(cell->qualifier);
}

static void put_next(struct row_chunks *c, struct buf *out)
{
    const struct quarry_cell *cell = &c->row->cells[c->cell];
    size_t left = cell->value.len - c->offset;
    size_t part = MIN_OF(left, ROW_CHUNKS_VALUE_BYTES_MAX);
    struct chunk k = {.key = {NULL, 0}};
    INVARIANT(c->offset <= cell->value.len); /* INV-1. */
    if (c->offset == 0)
        put_names(c, cell, &k);
    k.value = slice_sub(cell->value, c->offset, c->offset + part);
    c->offset += part;
    if (part < left) {
        k.value_size = cell->value.len;
    } else {
        c->cell++;
        c->offset = 0;
        k.commit = c->cell == c->row->cell_count;
    }
    put_chunk(out, &k);
}

bool row_chunks_put(struct row_chunks *c, struct buf *out, size_t limit)
{
    PRE(c->row != NULL);
    while (c->cell < c->row->cell_count && out->len < limit)
        put_next(c, out);
    if (c->cell < c->row->cell_count)
        return false;
    c->row = NULL;
    return true;
}
