/* From batches of a result to batches of mutations. Mutations are kept and used
 * again, so that a long INSERT allocates once.
 */
#include "bigtable/sql/sql_write.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"

/* Of one call; whichever comes first. */
#define WRITE_ROWS_MAX  ((size_t)512)
#define WRITE_BYTES_MAX ((size_t)1 << 20)

enum write_target {
    WRITE_KEY,
    WRITE_FAMILY, /* A MAP. */
    WRITE_COLUMN,
    WRITE_CELL_FAMILY, /* These four: of a row a cell. */
    WRITE_CELL_QUALIFIER,
    WRITE_CELL_TIME,
    WRITE_CELL_VALUE,
};

struct write_column {
    enum write_target target;
    char *family;           /* Owned; NULL: none. */
    struct slice qualifier; /* Owned bytes. */
};

struct sql_writer {
    struct quarry_table *table;
    struct quarry_table_info *info;
    bool delete;
    const char *const *names;
    size_t name_count;
    struct write_column *columns;
    size_t column_count;
    bool by_cells;
    size_t key_column;
    struct quarry_mutation *rows[WRITE_ROWS_MAX];
    size_t row_count; /* Of which are in use, */
    size_t made;      /* and exist. */
    size_t bytes;
    uint64_t written;
    struct buf text; /* Of one value. */
    struct buf name; /* Of the cell's family, */
    struct buf key;  /* of the row. */
};

int sql_writer_open(struct quarry *q,
                    const char *name,
                    bool delete,
                    const char *const *columns,
                    size_t column_count,
                    struct sql_writer **out,
                    struct err *err)
{
    struct sql_writer *w = mem_zalloc(1, sizeof(*w));
    int rc = quarry_table_describe(q, name, &w->info, err);
    if (rc == 0)
        rc = quarry_table_open(q, name, &w->table, err);
    if (rc) {
        if (w->info)
            quarry_table_info_free(w->info);
        mem_free(w);
        return rc;
    }
    w->delete = delete;
    w->names = columns;
    w->name_count = column_count;
    *out = w;
    return 0;
}

/* --- columns ------------------------------------------------------------- */

static bool has_family(const struct sql_writer *w, struct slice name)
{
    for (size_t i = 0; i < w->info->family_count; i++)
        if (slice_eq(name, slice_str(w->info->families[i].name)))
            return true;
    return false;
}

static int name_target(struct sql_writer *w,
                       struct write_column *c,
                       const char *name,
                       struct err *err)
{
    const struct slice s = slice_str(name);
    const size_t colon = slice_find_byte(s, ':');
    const struct slice family = slice_sub(s, 0, colon);
    if (strcmp(name, "key") == 0) {
        c->target = WRITE_KEY;
        return 0;
    }
    if (!has_family(w, family)) {
        err_set(err, ERR_NOTFOUND, "column %s: table %s has no family %.*s",
                name, w->info->name, SLICE_ARG(family));
        err_hint(err, "columns are key, \"family:qualifier\", or a family of "
                      "which a MAP is given");
        return ERR_NOTFOUND;
    }
    c->target = colon == s.len ? WRITE_FAMILY : WRITE_COLUMN;
    c->family = mem_strndup(family.data, family.len);
    if (colon < s.len)
        c->qualifier =
            slice_make(mem_strndup(s.data + colon + 1, s.len - colon - 1),
                       s.len - colon - 1);
    return 0;
}

/* Are @names those of a row a cell? Then so are the targets. */
static bool names_cells(struct sql_writer *w, const char *const *names)
{
    static const struct {
        const char *name;
        enum write_target target;
    } cells[] = {
        {"key", WRITE_KEY},
        {"family", WRITE_CELL_FAMILY},
        {"qualifier", WRITE_CELL_QUALIFIER},
        {"value", WRITE_CELL_VALUE},
        {"timestamp", WRITE_CELL_TIME},
    };

    size_t needed = 0;
    for (size_t i = 0; i < w->column_count; i++) {
        size_t k = 0;
        while (k < ARRAY_LEN(cells) && strcmp(cells[k].name, names[i]) != 0)
            k++;
        if (k == ARRAY_LEN(cells))
            return false;
        w->columns[i].target = cells[k].target;
        needed += k < 4;
    }
    return needed == 4;
}

static int writer_begin(void *ctx, const struct sql_header *h, struct err *err)
{
    struct sql_writer *w = ctx;
    const char *const *names = w->names ? w->names : h->names;
    int rc = 0;
    if (w->names && w->name_count != h->count)
        return err_set(err, ERR_INVALID, "%zu columns are named and %zu given",
                       w->name_count, h->count);
    w->column_count = h->count;
    w->columns = mem_zalloc(h->count + 1, sizeof(*w->columns));
    w->key_column = SIZE_MAX;
    w->by_cells = !w->delete &&names_cells(w, names);
    for (size_t i = 0; rc == 0 && i < h->count; i++) {
        if (!w->by_cells && !w->delete)
            rc = name_target(w, &w->columns[i], names[i], err);
        if (w->columns[i].target == WRITE_KEY)
            w->key_column = i;
    }
    if (rc == 0 && w->key_column == SIZE_MAX) {
        rc = err_set(err, ERR_INVALID, "no column is named key");
        err_hint(err, "as in INSERT INTO t SELECT id AS key, …");
    }
    return rc;
}

/* --- rows ---------------------------------------------------------------- */

static int write_flush(struct sql_writer *w, struct err *err)
{
    size_t failed = 0;
    int rc;
    if (w->row_count == 0)
        return 0;
    rc =
        quarry_apply_batch(w->table, w->rows, w->row_count, NULL, &failed, err);
    w->written += rc ? failed : w->row_count;
    w->row_count = 0;
    w->bytes = 0;
    return rc;
}

/* The bytes that a value is written as, in @to. */
static struct slice
value_of(const struct sql_batch *b, size_t column, size_t row, struct buf *to)
{
    struct slice s;
    if (sql_batch_bytes(b, column, row, &s))
        return s;
    buf_clear(to);
    sql_batch_text(b, column, row, to);
    return buf_slice(to);
}

static int add_map(const struct sql_batch *b,
                   struct quarry_mutation *m,
                   const struct write_column *c,
                   size_t column,
                   size_t row,
                   struct err *err)
{
    const size_t n = sql_batch_map_size(b, column, row);
    if (n == SIZE_MAX) {
        err_set(err, ERR_INVALID, "column %s: a family takes a MAP of texts",
                c->family);
        err_hint(err, "one column is named \"%s:qualifier\"", c->family);
        return ERR_INVALID;
    }
    for (size_t i = 0; i < n; i++) {
        struct slice key, value;
        bool null;
        sql_batch_map_entry(b, column, row, i, &key, &value, &null);
        if (!null)
            quarry_mutation_set(m, c->family, key, QUARRY_NOW, value);
    }
    return 0;
}

/* One cell, of a row a cell. */
static int add_cell(struct sql_writer *w,
                    const struct sql_batch *b,
                    struct quarry_mutation *m,
                    size_t row,
                    struct err *err)
{
    struct buf qualifier = BUF_INIT, value = BUF_INIT;
    struct slice name = SLICE_EMPTY, q = SLICE_EMPTY, v = SLICE_EMPTY;
    int64_t time = QUARRY_NOW;
    int rc = 0;
    buf_clear(&w->name);
    for (size_t i = 0; rc == 0 && i < w->column_count; i++) {
        const enum write_target target = w->columns[i].target;
        if (sql_batch_is_null(b, i, row)) {
            if (target != WRITE_CELL_TIME)
                rc = err_set(err, ERR_INVALID, "a cell's %s is NULL",
                             target == WRITE_CELL_VALUE ? "value" : "name");
            continue;
        }
        if (target == WRITE_CELL_FAMILY)
            name = value_of(b, i, row, &w->text);
        if (target == WRITE_CELL_FAMILY)
            buf_append_slice(&w->name, name);
        if (target == WRITE_CELL_QUALIFIER)
            q = value_of(b, i, row, &qualifier);
        if (target == WRITE_CELL_VALUE)
            v = value_of(b, i, row, &value);
        if (target == WRITE_CELL_TIME) {
            buf_clear(&w->text);
            sql_batch_text(b, i, row, &w->text);
            if (!memchr(w->text.data, '+', w->text.len))
                buf_append_byte(&w->text, 'Z');
            rc = text_parse_time(buf_slice(&w->text), &time, err);
        }
    }
    if (rc == 0)
        quarry_mutation_set(m, buf_cstr(&w->name), q, time, v);
    buf_close(&qualifier);
    buf_close(&value);
    return rc;
}

static int add_columns(struct sql_writer *w,
                       const struct sql_batch *b,
                       struct quarry_mutation *m,
                       size_t row,
                       struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < w->column_count; i++) {
        const struct write_column *c = &w->columns[i];
        if (sql_batch_is_null(b, i, row))
            continue;
        if (c->target == WRITE_COLUMN)
            quarry_mutation_set(m, c->family, c->qualifier, QUARRY_NOW,
                                value_of(b, i, row, &w->text));
        else if (c->target == WRITE_FAMILY)
            rc = add_map(b, m, c, i, row, err);
    }
    return rc;
}

/* The next mutation, of the row @key. */
static struct quarry_mutation *next_mutation(struct sql_writer *w,
                                             struct slice key)
{
    if (w->row_count == w->made)
        w->rows[w->made++] = quarry_mutation_new(key);
    else
        quarry_mutation_reset(w->rows[w->row_count], key);
    return w->rows[w->row_count];
}

static int write_row(struct sql_writer *w,
                     const struct sql_batch *b,
                     size_t row,
                     struct err *err)
{
    struct quarry_mutation *m;
    int rc = 0;
    if (sql_batch_is_null(b, w->key_column, row))
        return err_set(err, ERR_INVALID, "row %llu: key is NULL",
                       (unsigned long long)(w->written + w->row_count + 1));
    m = next_mutation(w, value_of(b, w->key_column, row, &w->key));
    if (w->delete)
        quarry_mutation_delete_row(m);
    else
        rc = w->by_cells ? add_cell(w, b, m, row, err)
                         : add_columns(w, b, m, row, err);
    if (rc || quarry_mutation_count(m) == 0)
        return rc;
    w->bytes += quarry_mutation_bytes(m);
    w->row_count++;
    return w->row_count == WRITE_ROWS_MAX || w->bytes >= WRITE_BYTES_MAX
               ? write_flush(w, err)
               : 0;
}

static int writer_rows(void *ctx, const struct sql_batch *b, struct err *err)
{
    struct sql_writer *w = ctx;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sql_batch_row_count(b); i++)
        rc = write_row(w, b, i, err);
    return rc;
}

struct sql_sink sql_writer_sink(struct sql_writer *w)
{
    return (struct sql_sink){
        .ctx = w, .begin = writer_begin, .rows = writer_rows};
}

int sql_writer_close(struct sql_writer *w,
                     int code,
                     uint64_t *rows,
                     struct err *err)
{
    if (code == 0)
        code = write_flush(w, err);
    *rows = w->written;
    for (size_t i = 0; i < w->made; i++)
        quarry_mutation_free(w->rows[i]);
    for (size_t i = 0; i < w->column_count; i++) {
        mem_free(w->columns[i].family);
        mem_free((void *)(uintptr_t)w->columns[i].qualifier.data);
    }
    mem_free(w->columns);
    quarry_table_info_free(w->info);
    quarry_table_close(w->table);
    buf_close(&w->text);
    buf_close(&w->name);
    buf_close(&w->key);
    mem_free(w);
    return code;
}
