/* The binds of quarry() and quarry_cells(): parameters of DuckDB become those
 * of a relation. The scan itself is in sql_scan.c.
 */
#include "bigtable/sql/sql_functions.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/sql/sql_kept.h"
#include "bigtable/sql/sql_relation.h"
#include "bigtable/sql/sql_scalars.h"
#include "bigtable/sql/sql_scan.h"
#include "bigtable/sql/sql_stores.h"

/* --- parameters ---------------------------------------------------------- */

/* Bytes of a VARCHAR or BLOB; any other value as DuckDB writes it. */
static struct slice value_bytes(struct arena *arena, duckdb_value value)
{
    struct slice out;
    if (duckdb_get_type_id(duckdb_get_value_type(value)) == DUCKDB_TYPE_BLOB) {
        duckdb_blob blob = duckdb_get_blob(value);
        out = arena_dup(arena, slice_make(blob.data, blob.size));
        duckdb_free(blob.data);
    } else {
        char *text = duckdb_get_varchar(value);
        out = arena_dup(arena, slice_str(text ? text : ""));
        duckdb_free(text);
    }
    return out;
}

/* The named parameter; NULL if it was not given, or is NULL. The caller
 * destroys it. */
static duckdb_value named_value(duckdb_bind_info info, const char *name)
{
    duckdb_value value = duckdb_bind_get_named_parameter(info, name);
    if (value && duckdb_is_null_value(value))
        duckdb_destroy_value(&value);
    return value;
}

static struct slice
named_bytes(duckdb_bind_info info, struct arena *arena, const char *name)
{
    duckdb_value value = named_value(info, name);
    struct slice out = {.data = NULL}; /* Not given. */
    if (value)
        out = value_bytes(arena, value);
    duckdb_destroy_value(&value);
    return out;
}

static const char *
named_text(duckdb_bind_info info, struct arena *arena, const char *name)
{
    struct slice s = named_bytes(info, arena, name);
    return s.data;
}

static bool named_flag(duckdb_bind_info info, const char *name)
{
    duckdb_value value = named_value(info, name);
    bool out = value && duckdb_get_bool(value);
    duckdb_destroy_value(&value);
    return out;
}

static uint64_t named_number(duckdb_bind_info info, const char *name)
{
    duckdb_value value = named_value(info, name);
    uint64_t out = value ? duckdb_get_uint64(value) : 0;
    duckdb_destroy_value(&value);
    return out;
}

static int64_t named_time(duckdb_bind_info info, const char *name)
{
    duckdb_value value = named_value(info, name);
    int64_t out = value ? duckdb_get_timestamp(value).micros : 0;
    duckdb_destroy_value(&value);
    return out;
}

/* The elements of a list; *@given tells whether there is one. */
static struct slice *named_list(duckdb_bind_info info,
                                struct arena *arena,
                                const char *name,
                                size_t *count,
                                bool *given)
{
    duckdb_value list = named_value(info, name);
    struct slice *out = NULL;
    *given = list != NULL;
    *count = list ? duckdb_get_list_size(list) : 0;
    out = arena_alloc(arena, (*count + 1) * sizeof(*out));
    for (size_t i = 0; i < *count; i++) {
        duckdb_value element = duckdb_get_list_child(list, i);
        out[i] = duckdb_is_null_value(element) ? SLICE_EMPTY
                                               : value_bytes(arena, element);
        duckdb_destroy_value(&element);
    }
    duckdb_destroy_value(&list);
    return out;
}

static void take_families(duckdb_bind_info info,
                          struct arena *arena,
                          struct sql_parameters *p)
{
    bool given;
    struct slice *list =
        named_list(info, arena, "families", &p->family_count, &given);
    const char **names =
        arena_alloc(arena, (p->family_count + 1) * sizeof(char *));
    for (size_t i = 0; i < p->family_count; i++)
        names[i] = list[i].data ? list[i].data : "";
    p->families = p->family_count ? names : NULL;
}

/* columns := {'name': 'family:qualifier', …} */
static int take_columns(duckdb_bind_info info,
                        struct arena *arena,
                        struct sql_parameters *p,
                        struct err *err)
{
    duckdb_value value = named_value(info, "columns");
    duckdb_logical_type type = value ? duckdb_get_value_type(value) : NULL;
    const char **pairs;
    int rc = 0;
    if (!value)
        return 0;
    if (duckdb_get_type_id(type) != DUCKDB_TYPE_STRUCT) {
        rc = err_set(err, ERR_INVALID, "columns: not a struct");
        err_hint(err, "as in columns := {'title': 'contents:title'}");
        goto out;
    }
    p->column_pair_count = duckdb_struct_type_child_count(type);
    pairs = arena_alloc(arena, 2 * p->column_pair_count * sizeof(char *));
    for (size_t i = 0; i < p->column_pair_count; i++) {
        char *name = duckdb_struct_type_child_name(type, i);
        duckdb_value child = duckdb_get_struct_child(value, i);
        pairs[2 * i] = arena_strdup(arena, name);
        pairs[2 * i + 1] =
            duckdb_is_null_value(child) ? "" : value_bytes(arena, child).data;
        duckdb_free(name);
        duckdb_destroy_value(&child);
    }
    p->columns = pairs;
out:
    duckdb_destroy_value(&value);
    return rc;
}

static int take_parameters(duckdb_bind_info info,
                           struct arena *arena,
                           struct sql_parameters *p,
                           struct err *err)
{
    *p = (struct sql_parameters){
        .target = named_text(info, arena, "target"),
        .key_file = named_text(info, arena, "key_file"),
        .binary = named_flag(info, "binary"),
        .text = named_flag(info, "text"),
        .history = named_flag(info, "history"),
        .ordered = named_flag(info, "ordered"),
        .missing = named_text(info, arena, "missing"),
        .key_from = named_bytes(info, arena, "key_from"),
        .key_to = named_bytes(info, arena, "key_to"),
        .key_last = named_bytes(info, arena, "key_last"),
        .key_prefix = named_bytes(info, arena, "key_prefix"),
        .column_regex = named_text(info, arena, "column_regex"),
        .program = named_text(info, arena, "program"),
        .versions = named_number(info, "versions"),
        .time_from_us = named_time(info, "time_from"),
        .time_to_us = named_time(info, "time_to"),
        .row_limit = named_number(info, "row_limit"),
    };
    p->keys = named_list(info, arena, "keys", &p->key_count, &p->has_keys);
    take_families(info, arena, p);
    return take_columns(info, arena, p, err);
}

/* --- bind ---------------------------------------------------------------- */

static duckdb_logical_type scalar_type(enum sql_type type)
{
    static const duckdb_type types[] = {
        [SQL_TEXT] = DUCKDB_TYPE_VARCHAR,   [SQL_BYTES] = DUCKDB_TYPE_BLOB,
        [SQL_BIGINT] = DUCKDB_TYPE_BIGINT,  [SQL_DOUBLE] = DUCKDB_TYPE_DOUBLE,
        [SQL_INT64] = DUCKDB_TYPE_BIGINT,   [SQL_FLOAT64] = DUCKDB_TYPE_DOUBLE,
        [SQL_TIME] = DUCKDB_TYPE_TIMESTAMP, [SQL_MAP] = DUCKDB_TYPE_INVALID,
    };
    return duckdb_create_logical_type(types[type]);
}

/* A list of timestamps and values, in place of @value, which it destroys. */
static duckdb_logical_type history_type(duckdb_logical_type value)
{
    const char *names[] = {"timestamp", "value"};
    duckdb_logical_type members[] = {scalar_type(SQL_TIME), value};
    duckdb_logical_type version = duckdb_create_struct_type(members, names, 2);
    duckdb_logical_type out = duckdb_create_list_type(version);
    duckdb_destroy_logical_type(&members[0]);
    duckdb_destroy_logical_type(&members[1]);
    duckdb_destroy_logical_type(&version);
    return out;
}

static void add_result_column(duckdb_bind_info info,
                              const struct sql_relation *r,
                              const struct sql_column *c)
{
    duckdb_logical_type type, key, value;
    if (c->type != SQL_MAP) {
        type = scalar_type(c->type);
        duckdb_bind_add_result_column(info, c->name, type);
        duckdb_destroy_logical_type(&type);
        return;
    }
    key = scalar_type(r->binary ? SQL_BYTES : SQL_TEXT);
    value = scalar_type(r->text ? SQL_TEXT : SQL_BYTES);
    if (r->history)
        value = history_type(value);
    type = duckdb_create_map_type(key, value);
    duckdb_bind_add_result_column(info, c->name, type);
    duckdb_destroy_logical_type(&type);
    duckdb_destroy_logical_type(&key);
    duckdb_destroy_logical_type(&value);
}

static void free_relation(void *relation)
{
    sql_relation_free(relation);
}

static void note_relation(struct sql_stores *stores,
                          const struct sql_relation *r)
{
    struct buf line = BUF_INIT;
    sql_relation_describe(r, &line);
    sql_stores_note(stores, buf_slice(&line));
    buf_close(&line);
}

/* Parameter @i without a name; empty for NULL. */
static const char *
placed_text(duckdb_bind_info info, struct arena *arena, uint64_t i)
{
    duckdb_value value = duckdb_bind_get_parameter(info, i);
    struct slice name = SLICE_LIT("");
    if (value && !duckdb_is_null_value(value))
        name = value_bytes(arena, value);
    duckdb_destroy_value(&value);
    return name.data;
}

/* The table's name is the last of the parameters without a name; the one before
 * it, if there are two, is the store. */
static void take_names(duckdb_bind_info info,
                       struct arena *arena,
                       struct sql_parameters *p,
                       const char **table)
{
    const uint64_t count = duckdb_bind_get_parameter_count(info);
    *table = placed_text(info, arena, count - 1);
    if (count > 1)
        p->target = placed_text(info, arena, 0);
}

static void bind_relation(duckdb_bind_info info, bool by_cells)
{
    struct sql_stores *stores = duckdb_bind_get_extra_info(info);
    struct sql_relation *r = sql_relation_new(stores, by_cells);
    struct err err = ERR_INIT;
    struct sql_parameters p;
    const char *name;
    int rc = take_parameters(info, &r->arena, &p, &err);
    take_names(info, &r->arena, &p, &name);
    if (rc == 0)
        rc = sql_relation_open(r, name, &p, &err);
    if (rc) {
        sql_stores_note_failure(stores, &err);
        sql_scan_fail_text(&err, &r->arena, &name);
        duckdb_bind_set_error(info, name);
        sql_relation_free(r);
        return;
    }
    if (r->kept) {
        sql_kept_bind(r->kept, info);
        duckdb_bind_set_bind_data(info, r, free_relation);
        return;
    }
    for (size_t i = 0; i < r->column_count; i++)
        add_result_column(info, r, &r->columns[i]);
    duckdb_bind_set_cardinality(
        info, r->has_keys ? r->key_count : r->row_estimate, false);
    note_relation(stores, r);
    duckdb_bind_set_bind_data(info, r, free_relation);
}

static void bind_rows(duckdb_bind_info info)
{
    bind_relation(info, false);
}

static void bind_cells(duckdb_bind_info info)
{
    bind_relation(info, true);
}

/* --- registration -------------------------------------------------------- */

static void add_named(duckdb_table_function f, const char *name, duckdb_type id)
{
    duckdb_logical_type type = duckdb_create_logical_type(id);
    duckdb_table_function_add_named_parameter(f, name, type);
    duckdb_destroy_logical_type(&type);
}

static void add_list(duckdb_table_function f, const char *name, duckdb_type id)
{
    duckdb_logical_type child = duckdb_create_logical_type(id);
    duckdb_logical_type type = duckdb_create_list_type(child);
    duckdb_table_function_add_named_parameter(f, name, type);
    duckdb_destroy_logical_type(&type);
    duckdb_destroy_logical_type(&child);
}

static const struct {
    const char *name;
    duckdb_type type;
} sql_named_parameters[] = {
    {"key_file", DUCKDB_TYPE_VARCHAR},
    {"binary", DUCKDB_TYPE_BOOLEAN},
    {"text", DUCKDB_TYPE_BOOLEAN},
    {"history", DUCKDB_TYPE_BOOLEAN},
    {"missing", DUCKDB_TYPE_VARCHAR},
    {"key_from", DUCKDB_TYPE_ANY},
    {"key_to", DUCKDB_TYPE_ANY},
    {"key_last", DUCKDB_TYPE_ANY},
    {"key_prefix", DUCKDB_TYPE_ANY},
    {"column_regex", DUCKDB_TYPE_VARCHAR},
    {"program", DUCKDB_TYPE_VARCHAR},
    {"versions", DUCKDB_TYPE_UBIGINT},
    {"time_from", DUCKDB_TYPE_TIMESTAMP},
    {"time_to", DUCKDB_TYPE_TIMESTAMP},
    {"row_limit", DUCKDB_TYPE_UBIGINT},
    {"columns", DUCKDB_TYPE_ANY},
    {"keys", DUCKDB_TYPE_ANY},
    {"ordered", DUCKDB_TYPE_BOOLEAN},
};

/* DuckDB takes one form of a function by its C API: with the store before the
 * table, if @store_first, or without. */
static int register_function(duckdb_connection connection,
                             struct sql_stores *stores,
                             bool store_first,
                             const char *name,
                             duckdb_table_function_bind_t bind,
                             struct err *err)
{
    duckdb_table_function f = duckdb_create_table_function();
    duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
    duckdb_state state;
    duckdb_table_function_set_name(f, name);
    duckdb_table_function_add_parameter(f, text);
    if (store_first)
        duckdb_table_function_add_parameter(f, text);
    else
        add_named(f, "target", DUCKDB_TYPE_VARCHAR);
    for (size_t i = 0; i < ARRAY_LEN(sql_named_parameters); i++)
        add_named(f, sql_named_parameters[i].name,
                  sql_named_parameters[i].type);
    add_list(f, "families", DUCKDB_TYPE_VARCHAR);
    duckdb_table_function_set_extra_info(f, stores, NULL);
    duckdb_table_function_set_bind(f, bind);
    duckdb_table_function_set_init(f, sql_scan_begin);
    duckdb_table_function_set_local_init(f, sql_scan_begin_thread);
    duckdb_table_function_set_function(f, sql_scan_rows);
    duckdb_table_function_supports_projection_pushdown(f, true);
    state = duckdb_register_table_function(connection, f);
    duckdb_destroy_logical_type(&text);
    duckdb_destroy_table_function(&f);
    if (state == DuckDBSuccess)
        return 0;
    return err_set(err, ERR_INVALID, "DuckDB does not take the function %s()",
                   name);
}

int sql_functions_register(duckdb_connection connection,
                           struct sql_stores *stores,
                           bool store_first,
                           struct err *err)
{
    int rc = register_function(connection, stores, store_first, "quarry",
                               bind_rows, err);
    if (rc == 0)
        rc = register_function(connection, stores, store_first, "quarry_cells",
                               bind_cells, err);
    if (rc == 0)
        rc = sql_scalars_register(connection, err);
    return rc;
}

/* --- names --------------------------------------------------------------- */

static bool is_table(struct sql_stores *stores, const char *name)
{
    struct quarry *q;
    struct quarry_table *t;
    if (sql_stores_find(stores, NULL, NULL, &q, NULL))
        return false;
    if (quarry_table_open(q, name, &t, NULL))
        return sql_kept_is(q, name);
    quarry_table_close(t);
    return true;
}

static void
replace_name(duckdb_replacement_scan_info info, const char *name, void *stores)
{
    duckdb_value value;
    if (!is_table(stores, name))
        return;
    value = duckdb_create_varchar(name);
    duckdb_replacement_scan_set_function_name(info, "quarry");
    duckdb_replacement_scan_add_parameter(info, value);
    duckdb_destroy_value(&value);
}

void sql_functions_replace(duckdb_database database, struct sql_stores *stores)
{
    duckdb_add_replacement_scan(database, replace_name, stores, NULL);
}
