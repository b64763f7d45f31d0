/* Rows of a view to batches of DuckDB. The view is opened when a statement is
 * bound, for its columns, and again when it runs: it may run more than once.
 */
#include "bigtable/sql/sql_kept.h"

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_view.h"
#include "bigtable/sql/sql_scan.h"
#include "bigtable/sql/sql_stores.h"

struct sql_kept {
    struct arena arena;
    struct quarry *q; /* These two borrowed. */
    struct sql_stores *stores;
    const char *view; /* Of the arena, as the next. */
    struct quarry_view_column *columns;
    size_t count;
    uint64_t size;
};

/* A statement's scan of it. */
struct kept_scan {
    const struct sql_kept *kept;
    struct quarry_view_scan *scan;
    size_t *columns; /* Of the result; owned; SIZE_MAX: none. */
    size_t count;
};

/* --- which view ---------------------------------------------------------- */

static void take_columns(struct sql_kept *k, const struct quarry_view_scan *s)
{
    const struct quarry_view_column *columns;
    k->count = quarry_view_scan_columns(s, &columns);
    k->columns = arena_alloc(&k->arena, (k->count + 1) * sizeof(*k->columns));
    for (size_t i = 0; i < k->count; i++) {
        k->columns[i] = columns[i];
        k->columns[i].name = arena_strdup(&k->arena, columns[i].name);
    }
    k->size = quarry_view_scan_size(s);
}

int sql_kept_open(struct quarry *q,
                  struct sql_stores *stores,
                  const char *name,
                  struct sql_kept **out,
                  struct err *err)
{
    struct sql_kept *k = mem_zalloc(1, sizeof(*k));
    struct quarry_view_scan *s = NULL;
    int rc;
    arena_init(&k->arena);
    k->q = q;
    k->stores = stores;
    k->view = arena_strdup(&k->arena, name);
    rc = quarry_view_scan_open(q, name, NULL, &s, err);
    if (rc == 0)
        take_columns(k, s);
    quarry_view_scan_close(s);
    if (rc) {
        sql_kept_free(k);
        k = NULL;
    }
    *out = k;
    return rc;
}

void sql_kept_free(struct sql_kept *k)
{
    if (!k)
        return;
    arena_close(&k->arena);
    mem_free(k);
}

bool sql_kept_is(struct quarry *q, const char *name)
{
    struct sql_kept *k = NULL;
    struct err err = ERR_INIT;
    const int rc = sql_kept_open(q, NULL, name, &k, &err);
    sql_kept_free(k);
    /* One that cannot be read says so when it is. */
    return rc != ERR_NOTFOUND;
}

/* --- bind ---------------------------------------------------------------- */

static duckdb_type type_of(enum quarry_view_type type)
{
    switch (type) {
    case QUARRY_VIEW_TEXT: return DUCKDB_TYPE_VARCHAR;
    case QUARRY_VIEW_BYTES: return DUCKDB_TYPE_BLOB;
    case QUARRY_VIEW_INT: return DUCKDB_TYPE_BIGINT;
    case QUARRY_VIEW_FLOAT: return DUCKDB_TYPE_DOUBLE;
    case QUARRY_VIEW_BOOL: return DUCKDB_TYPE_BOOLEAN;
    case QUARRY_VIEW_TIME: return DUCKDB_TYPE_TIMESTAMP;
    }
    return DUCKDB_TYPE_VARCHAR;
}

void sql_kept_bind(const struct sql_kept *k, duckdb_bind_info info)
{
    struct buf line = BUF_INIT;
    for (size_t i = 0; i < k->count; i++) {
        duckdb_logical_type type =
            duckdb_create_logical_type(type_of(k->columns[i].type));
        duckdb_bind_add_result_column(info, k->columns[i].name, type);
        duckdb_destroy_logical_type(&type);
    }
    duckdb_bind_set_cardinality(info, k->size, false);
    buf_printf(&line, "view %s: kept up to date, about %llu rows", k->view,
               (unsigned long long)k->size);
    sql_stores_note(k->stores, buf_slice(&line));
    buf_close(&line);
}

/* --- the scan ------------------------------------------------------------ */

static void free_scan(void *scan)
{
    struct kept_scan *s = scan;
    quarry_view_scan_close(s->scan);
    mem_free(s->columns);
    mem_free(s);
}

void sql_kept_begin(const struct sql_kept *k, duckdb_init_info info)
{
    struct kept_scan *s = mem_zalloc(1, sizeof(*s));
    struct err err = ERR_INIT;
    s->kept = k;
    s->count = duckdb_init_get_column_count(info);
    s->columns = mem_alloc((s->count + 1) * sizeof(*s->columns));
    for (size_t i = 0; i < s->count; i++) {
        const idx_t at = duckdb_init_get_column_index(info, i);
        s->columns[i] = at < k->count ? (size_t)at : SIZE_MAX;
    }
    if (quarry_view_scan_open(k->q, k->view, NULL, &s->scan, &err)) {
        struct arena arena;
        const char *text;
        arena_init(&arena);
        sql_stores_note_failure(k->stores, &err);
        sql_scan_fail_text(&err, &arena, &text);
        duckdb_init_set_error(info, text);
        arena_close(&arena);
        free_scan(s);
        return;
    }
    duckdb_init_set_max_threads(info, 1);
    duckdb_init_set_init_data(info, s, free_scan);
}

static void put_value(duckdb_vector vector,
                      idx_t row,
                      const struct quarry_view_value *v,
                      enum quarry_view_type type)
{
    void *data = duckdb_vector_get_data(vector);
    if (v->null) {
        duckdb_vector_ensure_validity_writable(vector);
        duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vector),
                                        row);
        return;
    }
    switch (type) {
    case QUARRY_VIEW_TEXT:
    case QUARRY_VIEW_BYTES:
        duckdb_vector_assign_string_element_len(
            vector, row, v->bytes.data ? v->bytes.data : "", v->bytes.len);
        break;
    case QUARRY_VIEW_FLOAT: ((double *)data)[row] = v->real; break;
    case QUARRY_VIEW_BOOL: ((bool *)data)[row] = v->integer != 0; break;
    case QUARRY_VIEW_INT:
    case QUARRY_VIEW_TIME: ((int64_t *)data)[row] = v->integer; break;
    }
}

static int fill_rows(struct kept_scan *s,
                     duckdb_data_chunk out,
                     idx_t *length,
                     struct err *err)
{
    const idx_t room = duckdb_vector_size();
    const struct quarry_view_value *values;
    while (*length < room) {
        int rc = quarry_view_scan_next(s->scan, &values, err);
        if (rc || !values)
            return rc;
        for (size_t i = 0; i < s->count; i++)
            if (s->columns[i] != SIZE_MAX)
                put_value(duckdb_data_chunk_get_vector(out, i), *length,
                          &values[s->columns[i]],
                          s->kept->columns[s->columns[i]].type);
        ++*length;
    }
    return 0;
}

void sql_kept_rows(duckdb_function_info info, duckdb_data_chunk out)
{
    struct kept_scan *s = duckdb_function_get_init_data(info);
    struct err err = ERR_INIT;
    idx_t length = 0;
    if (fill_rows(s, out, &length, &err)) {
        struct arena arena;
        const char *text;
        arena_init(&arena);
        sql_stores_note_failure(s->kept->stores, &err);
        sql_scan_fail_text(&err, &arena, &text);
        duckdb_function_set_error(info, text);
        arena_close(&arena);
        return;
    }
    duckdb_data_chunk_set_size(out, length);
}
