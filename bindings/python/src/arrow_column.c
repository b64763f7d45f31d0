/* Columns of an Arrow table: appending values, and handing batches over.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/text.h"
#include "bindings/python/src/arrow.h"

/* Offsets are int32_t. */
#define COLUMN_BYTES_MAX ((size_t)INT32_MAX)
#define BUFFER_BYTES_MIN ((size_t)16 << 10)

/* --- buffers ------------------------------------------------------------- */

static bool buffer_grow(struct arrow_buffer *b, size_t more)
{
    size_t cap = b->cap ? b->cap : MAX_OF(b->first, BUFFER_BYTES_MIN);
    char *data;
    while (cap - b->len < more)
        cap *= 2;
    data = realloc(b->data, cap);
    if (!data)
        return false;
    b->data = data;
    b->cap = cap;
    return true;
}

/* Room for @more bytes. */
static inline bool buffer_reserve(struct arrow_buffer *b, size_t more)
{
    return b->cap - b->len >= more || buffer_grow(b, more);
}

/* PRE: reserved. */
static inline void
buffer_put(struct arrow_buffer *b, const void *data, size_t len)
{
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len += len;
}

static inline bool
buffer_add(struct arrow_buffer *b, const void *data, size_t len)
{
    if (!buffer_reserve(b, len))
        return false;
    buffer_put(b, data, len);
    return true;
}

static void buffer_close(struct arrow_buffer *b)
{
    free(b->data);
    *b = (struct arrow_buffer){.data = NULL};
}

/* Append the end of what @data holds; the first offset, 0, before it. */
static inline bool add_offset(struct arrow_buffer *offsets, size_t end)
{
    const int32_t zero = 0, at = (int32_t)end;
    if (offsets->len == 0 && !buffer_add(offsets, &zero, sizeof(zero)))
        return false;
    return buffer_add(offsets, &at, sizeof(at));
}

static inline bool add_bytes(struct arrow_buffer *offsets,
                             struct arrow_buffer *data,
                             struct slice s)
{
    return buffer_add(data, s.data, s.len) && add_offset(offsets, data->len);
}

/* Bits of @count values, all valid so far. */
static bool begin_validity(struct arrow_buffer *b, size_t count)
{
    size_t bytes = count / 8 + 1;
    if (!buffer_reserve(b, bytes))
        return false;
    memset(b->data, 0xff, bytes);
    b->len = bytes;
    return true;
}

/* Count a value. Bits are kept from the first null on: most columns have none.
 */
static bool add_validity(struct arrow_column *c, bool valid)
{
    size_t at = c->length++;
    const char all = (char)0xff;
    if (valid && c->null_count == 0)
        return true;
    if (c->null_count == 0 && !begin_validity(&c->validity, at))
        return false;
    if (at / 8 >= c->validity.len && !buffer_add(&c->validity, &all, 1))
        return false;
    if (!valid) {
        c->validity.data[at / 8] &= (char)~(1 << at % 8);
        c->null_count++;
    }
    return true;
}

/* --- values -------------------------------------------------------------- */

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "no memory for a batch of Arrow");
}

static int bad_value(const struct arrow_column *c,
                     const struct quarry_row *row,
                     const char *what,
                     struct err *err)
{
    const struct slice key = slice_sub(row->key, 0, 200);
    err_set(err, ERR_INVALID, "row %.*s, column %s: %s", SLICE_ARG(key),
            c->name, what);
    err_hint(err, "read the column as binary");
    return ERR_INVALID;
}

static uint64_t big_endian(struct slice s)
{
    uint64_t n = 0;
    for (size_t i = 0; i < 8; i++)
        n = n << 8 | (unsigned char)s.data[i];
    return n;
}

/* A value of bytes, as the column's type. */
static int add_value(struct arrow_column *c,
                     const struct quarry_row *row,
                     struct slice s,
                     struct err *err)
{
    uint64_t n;
    if (c->data.len + s.len > COLUMN_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "column %s: more than 2 GiB in one row",
                       c->name);
    switch (c->type) {
    case ARROW_UTF8:
        if (!utf8_valid(s))
            return bad_value(c, row, "not UTF-8", err);
        break;
    case ARROW_BINARY: break;
    case ARROW_INT64:
    case ARROW_FLOAT64:
        if (s.len != 8)
            return bad_value(c, row, "a number has 8 bytes", err);
        n = big_endian(s);
        if (!buffer_add(&c->data, &n, sizeof(n)) || !add_validity(c, true))
            return no_memory(err);
        return 0;
    case ARROW_TIMESTAMP:
    case ARROW_MAP: return err_set(err, ERR_INVALID, "not a type of values");
    }
    if (!add_bytes(&c->offsets, &c->data, s) || !add_validity(c, true))
        return no_memory(err);
    return 0;
}

static int add_null(struct arrow_column *c, struct err *err)
{
    const uint64_t zero = 0;
    bool ok = c->type == ARROW_INT64 || c->type == ARROW_FLOAT64
                  ? buffer_add(&c->data, &zero, sizeof(zero))
                  : add_offset(&c->offsets, c->data.len);
    return ok && add_validity(c, false) ? 0 : no_memory(err);
}

/* Where the bytes of a cell's value for the column are; SIZE_MAX: they are the
 * row's key. */
static size_t cell_member(const struct arrow_column *c)
{
    switch (c->source) {
    case ARROW_CELL_FAMILY: return offsetof(struct quarry_cell, family);
    case ARROW_CELL_QUALIFIER: return offsetof(struct quarry_cell, qualifier);
    case ARROW_CELL_VALUE: return offsetof(struct quarry_cell, value);
    case ARROW_ROW_KEY:
    case ARROW_CELL_TIMESTAMP:
    case ARROW_COLUMN:
    case ARROW_FAMILY: break;
    }
    return SIZE_MAX;
}

static inline struct slice
cell_slice(const struct quarry_row *row, size_t i, size_t member)
{
    struct slice s;
    if (member == SIZE_MAX)
        return row->key;
    memcpy(&s, (const char *)&row->cells[i] + member, sizeof(s));
    return s;
}

/* A value of bytes for each cell: room for all of them is made at once. */
static int
add_cells(struct arrow_column *c, const struct quarry_row *row, struct err *err)
{
    const size_t member = cell_member(c), n = row->cell_count;
    const int32_t zero = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += cell_slice(row, i, member).len;
    if (c->data.len + bytes > COLUMN_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "column %s: more than 2 GiB in one row",
                       c->name);
    if (!buffer_reserve(&c->data, bytes) ||
        !buffer_reserve(&c->offsets, (n + 1) * sizeof(int32_t)))
        return no_memory(err);
    if (c->offsets.len == 0)
        buffer_put(&c->offsets, &zero, sizeof(zero));
    for (size_t i = 0; i < n; i++) {
        const struct slice s = cell_slice(row, i, member);
        int32_t end;
        if (c->type == ARROW_UTF8 && c->source != ARROW_CELL_FAMILY &&
            !utf8_valid(s))
            return bad_value(c, row, "not UTF-8", err);
        buffer_put(&c->data, s.data, s.len);
        end = (int32_t)c->data.len;
        buffer_put(&c->offsets, &end, sizeof(end));
    }
    c->length += n;
    return 0;
}

static int add_timestamps(struct arrow_column *c,
                          const struct quarry_row *row,
                          struct err *err)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (!buffer_add(&c->data, &row->cells[i].timestamp_us, sizeof(int64_t)))
            return no_memory(err);
    c->length += row->cell_count;
    return 0;
}

static bool is_of_column(const struct arrow_column *c,
                         const struct quarry_cell *cell)
{
    return slice_eq(cell->qualifier,
                    slice_make(c->qualifier, c->qualifier_len)) &&
           slice_eq(cell->family, slice_make(c->family, c->family_len));
}

/* The newest value of its column, or null. Rows are much alike: the place of
 * the cell in the last one is tried first, unless an older version may be
 * there. */
static int add_column(struct arrow_column *c,
                      const struct quarry_row *row,
                      struct err *err)
{
    size_t at = c->place < row->cell_count ? c->place : 0;
    if (at && (!is_of_column(c, &row->cells[at]) ||
               is_of_column(c, &row->cells[at - 1])))
        at = 0;
    for (; at < row->cell_count; at++)
        if (is_of_column(c, &row->cells[at])) {
            c->place = at;
            return add_value(c, row, row->cells[at].value, err);
        }
    return add_null(c, err);
}

/* All columns of a family, with their newest values. */
static int add_family(struct arrow_column *c,
                      const struct quarry_row *row,
                      struct err *err)
{
    const struct slice family = slice_str(c->family);
    const struct quarry_cell *last = NULL;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        if (!slice_eq(cell->family, family) ||
            (last && slice_eq(last->qualifier, cell->qualifier)))
            continue;
        last = cell;
        if (c->map_keys.len + cell->qualifier.len > COLUMN_BYTES_MAX ||
            c->map_values.len + cell->value.len > COLUMN_BYTES_MAX)
            return err_set(err, ERR_TOOBIG,
                           "column %s: more than 2 GiB in one row", c->name);
        if (!add_bytes(&c->map_key_offsets, &c->map_keys, cell->qualifier) ||
            !add_bytes(&c->map_value_offsets, &c->map_values, cell->value))
            return no_memory(err);
        c->map_length++;
    }
    return add_offset(&c->offsets, c->map_length) && add_validity(c, true)
               ? 0
               : no_memory(err);
}

int arrow_column_add(struct arrow_column *c,
                     const struct quarry_row *row,
                     bool by_cells,
                     struct err *err)
{
    if (by_cells && c->type == ARROW_TIMESTAMP)
        return add_timestamps(c, row, err);
    if (by_cells)
        return add_cells(c, row, err);
    switch (c->source) {
    case ARROW_ROW_KEY: return add_value(c, row, row->key, err);
    case ARROW_COLUMN: return add_column(c, row, err);
    case ARROW_FAMILY: return add_family(c, row, err);
    case ARROW_CELL_FAMILY:
    case ARROW_CELL_QUALIFIER:
    case ARROW_CELL_TIMESTAMP:
    case ARROW_CELL_VALUE: break;
    }
    return err_set(err, ERR_INVALID, "column %s is of cells", c->name);
}

size_t arrow_column_bytes(const struct arrow_column *c)
{
    return c->data.len + c->map_keys.len + c->map_values.len + c->offsets.len;
}

/* --- arrays -------------------------------------------------------------- */

static void release_array(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_buffers; i++)
        free((void *)(uintptr_t)a->buffers[i]);
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i] && a->children[i]->release)
            a->children[i]->release(a->children[i]);
        free(a->children[i]);
    }
    free((void *)a->buffers);
    free((void *)a->children);
    a->release = NULL;
}

/* An array with room for @buffers and @children. */
static int make_array(struct ArrowArray *out,
                      size_t buffers,
                      size_t children,
                      struct err *err)
{
    *out = (struct ArrowArray){
        .n_buffers = (int64_t)buffers,
        .n_children = (int64_t)children,
        .buffers = calloc(buffers + 1, sizeof(void *)),
        .children = calloc(children + 1, sizeof(struct ArrowArray *)),
        .release = release_array,
    };
    for (size_t i = 0; out->children && i < children; i++) {
        out->children[i] = calloc(1, sizeof(struct ArrowArray));
        if (!out->children[i])
            goto fail;
    }
    if (out->buffers && out->children)
        return 0;
fail:
    if (!out->children)
        out->n_children = 0;
    if (!out->buffers)
        out->n_buffers = 0;
    release_array(out);
    return no_memory(err);
}

int arrow_struct_array(struct ArrowArray *out,
                       size_t count,
                       size_t length,
                       struct err *err)
{
    int rc = make_array(out, 1, count, err);
    if (rc == 0)
        out->length = (int64_t)length;
    return rc;
}

/* Give the memory of @b away. An empty one has 8 zeros, which are also the one
 * offset of no values: some readers do not expect NULL. */
static void *buffer_take(struct arrow_buffer *b)
{
    void *data = b->data ? b->data : calloc(1, 8);
    *b = (struct arrow_buffer){.first = b->len + b->len / 8};
    return data;
}

static int
take_map(struct arrow_column *c, struct ArrowArray *out, struct err *err)
{
    struct ArrowArray *entries;
    int rc = make_array(out, 2, 1, err);
    if (rc)
        return rc;
    out->buffers[1] = buffer_take(&c->offsets);
    entries = out->children[0];
    rc = arrow_struct_array(entries, 2, c->map_length, err);
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        struct ArrowArray *side = entries->children[i];
        rc = make_array(side, 3, 0, err);
        if (rc)
            break;
        side->length = (int64_t)c->map_length;
        side->buffers[1] =
            buffer_take(i ? &c->map_value_offsets : &c->map_key_offsets);
        side->buffers[2] = buffer_take(i ? &c->map_values : &c->map_keys);
    }
    if (rc)
        release_array(out);
    return rc;
}

int arrow_column_take(struct arrow_column *c,
                      struct ArrowArray *out,
                      struct err *err)
{
    bool fixed = c->type == ARROW_INT64 || c->type == ARROW_FLOAT64 ||
                 c->type == ARROW_TIMESTAMP;
    int rc = 0;
    if (c->type == ARROW_MAP) {
        rc = take_map(c, out, err);
    } else {
        rc = make_array(out, fixed ? 2 : 3, 0, err);
        if (rc == 0) {
            out->buffers[0] = c->null_count ? buffer_take(&c->validity) : NULL;
            if (!fixed)
                out->buffers[1] = buffer_take(&c->offsets);
            out->buffers[fixed ? 1 : 2] = buffer_take(&c->data);
        }
    }
    if (rc)
        return rc;
    out->length = (int64_t)c->length;
    out->null_count = (int64_t)c->null_count;
    c->length = 0;
    c->null_count = 0;
    c->map_length = 0;
    return 0;
}

/* --- schemas ------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i] && s->children[i]->release)
            s->children[i]->release(s->children[i]);
        free(s->children[i]);
    }
    free((void *)s->children);
    free((void *)(uintptr_t)s->name);
    s->release = NULL;
}

int arrow_struct_schema(struct ArrowSchema *out,
                        const char *format,
                        const char *name,
                        int64_t flags,
                        size_t count,
                        struct err *err)
{
    *out = (struct ArrowSchema){
        .format = format,
        .name = strdup(name),
        .flags = flags,
        .children = calloc(count + 1, sizeof(struct ArrowSchema *)),
        .release = release_schema,
    };
    for (size_t i = 0; out->children && i < count; i++) {
        out->children[i] = calloc(1, sizeof(struct ArrowSchema));
        if (!out->children[i])
            break;
        out->n_children++;
    }
    if (out->name && out->children && (size_t)out->n_children == count)
        return 0;
    release_schema(out);
    return no_memory(err);
}

int arrow_column_schema(const struct arrow_column *c,
                        struct ArrowSchema *out,
                        struct err *err)
{
    static const char *const formats[] = {
        [ARROW_BINARY] = "z",          [ARROW_UTF8] = "u",
        [ARROW_INT64] = "l",           [ARROW_FLOAT64] = "g",
        [ARROW_TIMESTAMP] = "tsu:UTC", [ARROW_MAP] = "+m",
    };
    struct ArrowSchema *entries;
    int64_t flags = c->source == ARROW_COLUMN ? ARROW_FLAG_NULLABLE : 0;
    int rc = arrow_struct_schema(out, formats[c->type], c->name, flags,
                                 c->type == ARROW_MAP, err);
    if (rc || c->type != ARROW_MAP)
        return rc;
    entries = out->children[0];
    rc = arrow_struct_schema(entries, "+s", "entries", 0, 2, err);
    if (rc == 0)
        rc = arrow_struct_schema(entries->children[0], "z", "key", 0, 0, err);
    if (rc == 0)
        rc = arrow_struct_schema(entries->children[1], "z", "value",
                                 ARROW_FLAG_NULLABLE, 0, err);
    if (rc)
        release_schema(out);
    return rc;
}

void arrow_column_close(struct arrow_column *c)
{
    buffer_close(&c->validity);
    buffer_close(&c->offsets);
    buffer_close(&c->data);
    buffer_close(&c->map_key_offsets);
    buffer_close(&c->map_keys);
    buffer_close(&c->map_value_offsets);
    buffer_close(&c->map_values);
    free(c->name);
    free(c->family);
    free(c->qualifier);
}
