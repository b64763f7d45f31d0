/* Messages of an Arrow file: a length, the metadata, and the buffers of the
 * columns one behind another, in the order of a walk over the types. A batch is
 * put together in memory, then written.
 */
#include "cli/arrow_file.h"

#include <string.h>

#include "base/core/panic.h"
#include "cli/arrow_schema.h"
#include "cli/flat_table.h"

#define ARROW_MAGIC      SLICE_LIT("ARROW1\0\0")
#define ARROW_MAGIC_END  SLICE_LIT("ARROW1")
#define ARROW_CONTINUES  UINT32_MAX
#define ARROW_VERSION_V5 4
/* Buffers begin at multiples of it: readers want 8, and like 64. */
#define ARROW_ALIGN ((size_t)64)
#define BLOCK_BYTES ((size_t)24) /* Of the list of parts. */
#define PAIR_BYTES  ((size_t)16) /* Two numbers of 8 bytes. */

/* Kinds of messages. */
enum arrow_header {
    ARROW_HEADER_SCHEMA = 1,
    ARROW_HEADER_DICTIONARY = 2,
    ARROW_HEADER_BATCH = 3,
};

/* --- bytes --------------------------------------------------------------- */

static int
write_bytes(struct arrow_file *f, struct slice bytes, struct err *err)
{
    f->at += bytes.len;
    return bytes.len ? f->write(f->ctx, bytes, err) : 0;
}

static void pad_buf(struct buf *b, size_t align)
{
    buf_append_fill(b, '\0', (align - b->len % align) % align);
}

/* The Message around a header that follows; *@header gets where to point. */
static void begin_message(struct arrow_file *f,
                          enum arrow_header kind,
                          uint64_t body_bytes,
                          size_t *header)
{
    struct buf *b = &f->metadata;
    size_t root;
    struct flat_table t;
    buf_clear(b);
    root = flat_begin(b);
    t = flat_add_table(b, (const uint8_t[]){2, 1, 4, 8}, 4);
    flat_point(b, root, t.at);
    flat_set16(b, t.fields[0], ARROW_VERSION_V5);
    flat_set8(b, t.fields[1], (uint8_t)kind);
    flat_set64(b, t.fields[3], body_bytes);
    *header = t.fields[2];
}

/* Write the message and the body; *@part (may be NULL) gets where it is. */
static int
write_message(struct arrow_file *f, struct arrow_part *part, struct err *err)
{
    char head[8];
    int rc;
    pad_buf(&f->metadata, 8);
    put_le32(head, ARROW_CONTINUES);
    put_le32(head + 4, (uint32_t)f->metadata.len);
    if (part)
        *part = (struct arrow_part){
            .at = f->at,
            .metadata_bytes = (uint32_t)(sizeof(head) + f->metadata.len),
            .body_bytes = f->body.len};
    rc = write_bytes(f, slice_make(head, sizeof(head)), err);
    if (rc == 0)
        rc = write_bytes(f, buf_slice(&f->metadata), err);
    if (rc == 0)
        rc = write_bytes(f, buf_slice(&f->body), err);
    return rc;
}

static struct arrow_part *new_part(struct arrow_parts *parts)
{
    if (parts->count == parts->room) {
        parts->room = 2 * parts->room + 8;
        parts->list =
            mem_realloc(parts->list, parts->room * sizeof(*parts->list));
    }
    return &parts->list[parts->count++];
}

/* --- the body of a batch ------------------------------------------------- */

/* Lengths of columns, and where their buffers are: both in pairs of numbers. */
struct arrow_body {
    struct buf nodes;
    struct buf places;
    struct buf *bytes;
};

static void put_pair(struct buf *b, uint64_t first, uint64_t second)
{
    char *p = buf_extend(b, PAIR_BYTES);
    put_le64(p, first);
    put_le64(p + 8, second);
}

/* @data may be NULL where @len is 0. */
static void put_buffer(struct arrow_body *body, const void *data, size_t len)
{
    put_pair(&body->places, body->bytes->len, len);
    if (len)
        buf_append(body->bytes, data, len);
    pad_buf(body->bytes, ARROW_ALIGN);
}

/* The last of @count + 1 offsets. */
static uint64_t last_offset(const void *offsets, uint32_t bytes, size_t count)
{
    const char *p = (const char *)offsets + count * bytes;
    if (!offsets || count == 0)
        return 0;
    return bytes == 4 ? get_le32(p) : get_le64(p);
}

static int put_buffers(struct arrow_body *body,
                       const struct arrow_buffers *shape,
                       const struct ArrowArray *array,
                       struct err *err)
{
    const size_t n = (size_t)array->length;
    const size_t wanted = (size_t)shape->validity + (shape->value_bits > 0) +
                          (shape->offset_bytes > 0) + shape->data;
    size_t next = 0;
    if (array->offset != 0 || (size_t)array->n_buffers < wanted)
        return err_set(err, ERR_UNSUPPORTED,
                       "an array of Arrow with %lld buffers, from value %lld",
                       (long long)array->n_buffers, (long long)array->offset);
    if (shape->validity) {
        const void *bits = array->buffers[next++];
        const bool all = !bits || array->null_count == 0;
        put_buffer(body, bits, all ? 0 : (n + 7) / 8);
    }
    if (shape->value_bits)
        put_buffer(body, array->buffers[next++],
                   (n * shape->value_bits + 7) / 8);
    if (shape->offset_bytes) {
        const void *offsets = array->buffers[next++];
        put_buffer(body, offsets, n ? (n + 1) * shape->offset_bytes : 0);
        if (shape->data)
            put_buffer(body, array->buffers[next],
                       last_offset(offsets, shape->offset_bytes, n));
    }
    return 0;
}

static uint64_t null_count(const struct ArrowArray *array,
                           const struct arrow_buffers *shape)
{
    const unsigned char *bits = shape->validity ? array->buffers[0] : NULL;
    uint64_t nulls = 0;
    if (array->null_count >= 0 || !bits)
        return array->null_count > 0 ? (uint64_t)array->null_count : 0;
    for (size_t i = 0; i < (size_t)array->length; i++)
        nulls += !(bits[i / 8] >> i % 8 & 1);
    return nulls;
}

/* A column and its children; the values of a dictionary are elsewhere. */
static int put_column(struct arrow_body *body,
                      const struct ArrowSchema *schema,
                      const struct ArrowArray *array,
                      struct err *err)
{
    struct arrow_buffers shape;
    int rc = arrow_buffers_of(schema->format, &shape, err);
    if (rc)
        return rc;
    PRE(array->n_children == schema->n_children);
    put_pair(&body->nodes, (uint64_t)array->length, null_count(array, &shape));
    rc = put_buffers(body, &shape, array, err);
    for (size_t i = 0; rc == 0 && i < (size_t)array->n_children; i++)
        rc = put_column(body, schema->children[i], array->children[i], err);
    return rc;
}

/* --- messages ------------------------------------------------------------ */

/* The RecordBatch table of @body, of @length rows. */
static size_t
put_batch_table(struct buf *b, const struct arrow_body *body, uint64_t length)
{
    const struct flat_table t =
        flat_add_table(b, (const uint8_t[]){8, 4, 4}, 3);
    const struct buf *pairs[] = {&body->nodes, &body->places};
    flat_set64(b, t.fields[0], length);
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        size_t first;
        const size_t at =
            flat_add_vector(b, pairs[i]->len / PAIR_BYTES, PAIR_BYTES, &first);
        flat_point(b, t.fields[1 + i], at);
        if (pairs[i]->len)
            memcpy(b->data + first, pairs[i]->data, pairs[i]->len);
    }
    return t.at;
}

static void body_open(struct arrow_body *body, struct arrow_file *f)
{
    *body = (struct arrow_body){.bytes = &f->body};
    buf_clear(&f->body);
}

static void body_close(struct arrow_body *body)
{
    buf_close(&body->nodes);
    buf_close(&body->places);
}

static int write_dictionary(struct arrow_file *f,
                            const struct ArrowSchema *schema,
                            const struct ArrowArray *array,
                            struct err *err)
{
    const uint64_t number = f->dictionaries.count;
    struct arrow_body body;
    struct flat_table t;
    size_t header;
    int rc;
    body_open(&body, f);
    rc = put_column(&body, schema, array, err);
    if (rc == 0) {
        struct buf *b = &f->metadata;
        begin_message(f, ARROW_HEADER_DICTIONARY, f->body.len, &header);
        t = flat_add_table(b, (const uint8_t[]){8, 4}, 2);
        flat_point(b, header, t.at);
        flat_set64(b, t.fields[0], number);
        flat_point(b, t.fields[1],
                   put_batch_table(b, &body, (uint64_t)array->length));
        rc = write_message(f, new_part(&f->dictionaries), err);
    }
    body_close(&body);
    return rc;
}

/* INV-2: children first. */
static int write_dictionaries(struct arrow_file *f,
                              const struct ArrowSchema *schema,
                              const struct ArrowArray *array,
                              struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < (size_t)schema->n_children; i++)
        rc =
            write_dictionaries(f, schema->children[i], array->children[i], err);
    if (rc || !schema->dictionary)
        return rc;
    rc = write_dictionaries(f, schema->dictionary, array->dictionary, err);
    if (rc == 0)
        rc = write_dictionary(f, schema->dictionary, array->dictionary, err);
    return rc;
}

static int write_schema(struct arrow_file *f, struct err *err)
{
    size_t header, at;
    int rc;
    begin_message(f, ARROW_HEADER_SCHEMA, 0, &header);
    rc = arrow_put_schema(&f->metadata, f->schema, &at, err);
    if (rc)
        return rc;
    flat_point(&f->metadata, header, at);
    buf_clear(&f->body);
    return write_message(f, NULL, err);
}

/* --- the file ------------------------------------------------------------ */

int arrow_file_begin(struct arrow_file *f,
                     const struct ArrowSchema *schema,
                     struct err *err)
{
    int rc = 0;
    PRE(f->at == 0);
    PRE(strcmp(schema->format, "+s") == 0);
    f->schema = schema;
    if (!f->stream)
        rc = write_bytes(f, ARROW_MAGIC, err);
    return rc ? rc : write_schema(f, err);
}

int arrow_file_add(struct arrow_file *f,
                   const struct ArrowArray *batch,
                   struct err *err)
{
    struct arrow_body body;
    size_t header;
    int rc = 0;
    PRE(batch->n_children == f->schema->n_children);
    if (!f->has_dictionaries)
        rc = write_dictionaries(f, f->schema, batch, err);
    f->has_dictionaries = true;
    if (rc)
        return rc;
    body_open(&body, f);
    for (size_t i = 0; rc == 0 && i < (size_t)batch->n_children; i++)
        rc = put_column(&body, f->schema->children[i], batch->children[i], err);
    if (rc == 0) {
        begin_message(f, ARROW_HEADER_BATCH, f->body.len, &header);
        flat_point(
            &f->metadata, header,
            put_batch_table(&f->metadata, &body, (uint64_t)batch->length));
        rc = write_message(f, new_part(&f->batches), err);
    }
    body_close(&body);
    return rc;
}

static size_t put_parts(struct buf *b, const struct arrow_parts *parts)
{
    size_t first;
    const size_t at = flat_add_vector(b, parts->count, BLOCK_BYTES, &first);
    for (size_t i = 0; i < parts->count; i++) {
        const size_t to = first + i * BLOCK_BYTES;
        flat_set64(b, to, parts->list[i].at);
        flat_set32(b, to + 8, parts->list[i].metadata_bytes);
        flat_set64(b, to + 16, parts->list[i].body_bytes);
    }
    return at;
}

/* The schema again, and where dictionaries and batches are. */
static int put_footer(struct arrow_file *f, struct err *err)
{
    struct buf *b = &f->metadata;
    size_t root, schema;
    struct flat_table t;
    int rc;
    buf_clear(b);
    root = flat_begin(b);
    t = flat_add_table(b, (const uint8_t[]){2, 4, 4, 4}, 4);
    flat_point(b, root, t.at);
    flat_set16(b, t.fields[0], ARROW_VERSION_V5);
    rc = arrow_put_schema(b, f->schema, &schema, err);
    if (rc)
        return rc;
    flat_point(b, t.fields[1], schema);
    flat_point(b, t.fields[2], put_parts(b, &f->dictionaries));
    flat_point(b, t.fields[3], put_parts(b, &f->batches));
    return 0;
}

int arrow_file_end(struct arrow_file *f, struct err *err)
{
    char last[8];
    int rc;
    put_le32(last, ARROW_CONTINUES);
    put_le32(last + 4, 0);
    rc = write_bytes(f, slice_make(last, sizeof(last)), err);
    if (rc || f->stream)
        return rc;
    rc = put_footer(f, err);
    if (rc == 0)
        rc = write_bytes(f, buf_slice(&f->metadata), err);
    put_le32(last, (uint32_t)f->metadata.len);
    if (rc == 0)
        rc = write_bytes(f, slice_make(last, 4), err);
    return rc ? rc : write_bytes(f, ARROW_MAGIC_END, err);
}

void arrow_file_free(struct arrow_file *f)
{
    mem_free(f->dictionaries.list);
    mem_free(f->batches.list);
    buf_close(&f->metadata);
    buf_close(&f->body);
}
