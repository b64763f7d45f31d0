/* The query casts every column to its type (gsql_put_cast()), so a vector of
 * another one is a fault of ours, and is said instead of read.
 */
#include "bigtable/sql/sql_values.h"

#include "bigtable/googlesql/gsql_engine.h"
#include "bigtable/sql/sql_batch_of.h"

/* DuckDB's type of each kind. */
static const duckdb_type duckdb_types[GSQL_KIND_COUNT] = {
    [GSQL_BOOL] = DUCKDB_TYPE_BOOLEAN,
    [GSQL_INT64] = DUCKDB_TYPE_BIGINT,
    [GSQL_FLOAT32] = DUCKDB_TYPE_FLOAT,
    [GSQL_FLOAT64] = DUCKDB_TYPE_DOUBLE,
    [GSQL_STRING] = DUCKDB_TYPE_VARCHAR,
    [GSQL_BYTES] = DUCKDB_TYPE_BLOB,
    [GSQL_DATE] = DUCKDB_TYPE_DATE,
    [GSQL_TIMESTAMP] = DUCKDB_TYPE_TIMESTAMP,
    [GSQL_ARRAY] = DUCKDB_TYPE_LIST,
    [GSQL_STRUCT] = DUCKDB_TYPE_STRUCT,
    [GSQL_MAP] = DUCKDB_TYPE_MAP,
};

static bool value_is_null(const struct sql_vector *v, size_t row)
{
    return v->validity && !duckdb_validity_row_is_valid(v->validity, row);
}

/* PRE: a scalar, not NULL. */
static void put_scalar(const struct sql_vector *v,
                       size_t row,
                       enum gsql_kind kind,
                       const struct gsql_sink *sink)
{
    if (kind == GSQL_BOOL) {
        sink->integer(sink->ctx, kind, ((const bool *)v->data)[row]);
    } else if (kind == GSQL_INT64 || kind == GSQL_TIMESTAMP) {
        sink->integer(sink->ctx, kind, ((const int64_t *)v->data)[row]);
    } else if (kind == GSQL_DATE) {
        sink->integer(sink->ctx, kind, ((const int32_t *)v->data)[row]);
    } else if (kind == GSQL_FLOAT32) {
        sink->real(sink->ctx, (double)((const float *)v->data)[row]);
    } else if (kind == GSQL_FLOAT64) {
        sink->real(sink->ctx, ((const double *)v->data)[row]);
    } else {
        duckdb_string_t *s = &((duckdb_string_t *)v->data)[row];
        sink->bytes(
            sink->ctx, kind,
            slice_make(duckdb_string_t_data(s), duckdb_string_t_length(*s)));
    }
}

static int put_fields(const struct sql_vector *v,
                      size_t row,
                      const struct gsql_type *type,
                      const struct gsql_sink *sink,
                      struct err *err)
{
    int rc = 0;
    if (v->child_count != type->field_count)
        return err_set(err, ERR_INVALID, "a STRUCT with %zu fields, not %zu",
                       v->child_count, type->field_count);
    for (size_t i = 0; rc == 0 && i < type->field_count; i++)
        rc = sql_values_put(&v->children[i], row, type->fields[i].type, sink,
                            err);
    return rc;
}

/* Entries of a MAP are STRUCTs of DuckDB, too. */
static int put_entry(const struct sql_vector *entries,
                     size_t row,
                     const struct gsql_type *map,
                     const struct gsql_sink *sink,
                     struct err *err)
{
    const struct gsql_field fields[2] = {{SLICE_LIT("key"), map->key},
                                         {SLICE_LIT("value"), map->element}};
    const struct gsql_type entry = {
        .kind = GSQL_STRUCT, .fields = fields, .field_count = 2};
    int rc;
    sink->open(sink->ctx, GSQL_STRUCT);
    rc = put_fields(entries, row, &entry, sink, err);
    sink->close(sink->ctx);
    return rc;
}

static int put_list(const struct sql_vector *v,
                    size_t row,
                    const struct gsql_type *type,
                    const struct gsql_sink *sink,
                    struct err *err)
{
    const duckdb_list_entry e = ((const duckdb_list_entry *)v->data)[row];
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < e.length; i++)
        rc = type->kind == GSQL_MAP
                 ? put_entry(v->children, e.offset + i, type, sink, err)
                 : sql_values_put(v->children, e.offset + i, type->element,
                                  sink, err);
    return rc;
}

/* Bounded: types have at most GSQL_TYPE_DEPTH_MAX levels. */
int sql_values_put(const struct sql_vector *v,
                   size_t row,
                   const struct gsql_type *type,
                   const struct gsql_sink *sink,
                   struct err *err)
{
    int rc;
    if (v->id != duckdb_types[type->kind])
        return err_set(err, ERR_INVALID,
                       "DuckDB's type %d where another was expected",
                       (int)v->id);
    if (value_is_null(v, row)) {
        sink->null(sink->ctx);
        return 0;
    }
    if (type->kind < GSQL_ARRAY) {
        put_scalar(v, row, type->kind, sink);
        return 0;
    }
    sink->open(sink->ctx, type->kind);
    rc = type->kind == GSQL_STRUCT ? put_fields(v, row, type, sink, err)
                                   : put_list(v, row, type, sink, err);
    sink->close(sink->ctx);
    return rc;
}
