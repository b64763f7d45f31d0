/* Changes of rows as bytes, and their application in large batches. A cell
 * applies a batch in one call per server; a change at a time would be a round
 * trip each. */
#include "mapreduce/output/table_changes.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/records/record_reader.h"

/* A batch is applied when it has this many rows or bytes. */
#define BATCH_ROWS  256
#define BATCH_BYTES ((size_t)4 << 20)

void table_change_encode(const struct table_change *c, struct buf *out)
{
    PRE(c->kind <= TABLE_DELETE_ROW);
    buf_put_u8(out, (uint8_t)c->kind);
    buf_put_lslice(out, c->family);
    buf_put_lslice(out, c->qualifier);
    buf_put_zigzag(out, c->timestamp_us);
    buf_append_slice(out, c->value);
}

int table_change_decode(struct slice bytes,
                        struct table_change *c,
                        struct err *err)
{
    struct cursor in = cursor_make(bytes);
    uint8_t kind = cursor_u8(&in);
    c->family = cursor_lslice(&in);
    c->qualifier = cursor_lslice(&in);
    c->timestamp_us = cursor_zigzag(&in);
    c->value = cursor_bytes(&in, cursor_left(&in));
    if (in.bad || kind < TABLE_PUT || kind > TABLE_DELETE_ROW)
        return err_set(err, ERR_CORRUPT, "malformed change of a row");
    c->kind = (enum table_change_kind)kind;
    return 0;
}

struct batch {
    struct quarry_table *table;
    struct quarry_mutation *rows[BATCH_ROWS]; /* Kept between batches. */
    size_t count;
    size_t bytes;
    struct buf row;    /* Name of the last one. */
    struct buf family; /* NUL-terminated for the client. */
    uint64_t rows_applied;
};

static int batch_apply(struct batch *b, struct err *err)
{
    struct quarry_write_options opts = {.durability = QUARRY_DEFERRED};
    int rc = 0;
    if (b->count > 0)
        rc = quarry_apply_batch(b->table, b->rows, b->count, &opts, NULL, err);
    b->rows_applied += b->count;
    b->count = 0;
    b->bytes = 0;
    return rc;
}

/* The mutation of @row: the last one if it is of the same row. */
static int batch_row(struct batch *b,
                     struct slice row,
                     struct quarry_mutation **out,
                     struct err *err)
{
    bool same = b->count > 0 && slice_eq(row, buf_slice(&b->row));
    int rc = 0;
    if (!same && (b->count == BATCH_ROWS || b->bytes > BATCH_BYTES))
        rc = batch_apply(b, err);
    if (rc)
        return rc;
    if (!same) {
        struct quarry_mutation **m = &b->rows[b->count++];
        if (*m)
            quarry_mutation_reset(*m, row);
        else
            *m = quarry_mutation_new(row);
        buf_clear(&b->row);
        buf_append_slice(&b->row, row);
    }
    *out = b->rows[b->count - 1];
    return 0;
}

static void change_add(struct batch *b,
                       struct quarry_mutation *m,
                       const struct table_change *c)
{
    const char *family;
    buf_clear(&b->family);
    buf_append_slice(&b->family, c->family);
    family = buf_cstr(&b->family);
    b->bytes += c->value.len + c->qualifier.len + 64;
    switch (c->kind) {
    case TABLE_PUT:
        quarry_mutation_set(m, family, c->qualifier, c->timestamp_us, c->value);
        break;
    case TABLE_DELETE_COLUMN:
        quarry_mutation_delete_cells(m, family, c->qualifier, 0, 0);
        break;
    case TABLE_DELETE_FAMILY: quarry_mutation_delete_family(m, family); break;
    case TABLE_DELETE_ROW: quarry_mutation_delete_row(m); break;
    }
}

static int apply_all(struct batch *b, struct record_reader *r, struct err *err)
{
    for (;;) {
        struct quarry_mutation *m = NULL;
        struct table_change c;
        struct slice row;
        struct slice value;
        bool more;
        int rc = record_reader_next(r, &row, &value, &more, err);
        if (rc == 0 && !more)
            return batch_apply(b, err);
        if (rc == 0)
            rc = table_change_decode(value, &c, err);
        if (rc == 0)
            rc = batch_row(b, row, &m, err);
        if (rc)
            return rc;
        change_add(b, m, &c);
    }
}

int table_changes_apply(const struct job_files *files,
                        const char *path,
                        struct keyring *keys,
                        struct quarry *store,
                        const char *table,
                        uint64_t *rows,
                        struct err *err)
{
    struct batch *b = mem_zalloc(1, sizeof(*b));
    struct record_reader r;
    int rc = record_reader_open(&r, files, path, err);
    if (rc)
        goto fail_batch;
    if (keys)
        rc = block_codec_encrypt(&r.codec, keys, err);
    if (rc == 0)
        rc = quarry_table_open(store, table, &b->table, err);
    if (rc)
        goto fail_reader;
    rc = apply_all(b, &r, err);
    *rows += b->rows_applied;
    quarry_table_close(b->table);
fail_reader:
    record_reader_close(&r);
fail_batch:
    for (size_t i = 0; i < BATCH_ROWS; i++)
        if (b->rows[i])
            quarry_mutation_free(b->rows[i]);
    buf_close(&b->row);
    buf_close(&b->family);
    mem_free(b);
    if (rc)
        err_wrap(err, "table %s", table);
    return rc;
}
