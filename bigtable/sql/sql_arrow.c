/* Calls of DuckDB's functions for Arrow, which are looked up by their names.
 * Their errors are objects with a message.
 */
#include "bigtable/sql/sql_arrow.h"

#include <dlfcn.h>
#include <string.h>

#include "base/core/panic.h"

/* The types of duckdb.h, whose functions are macros in the API's table. */
typedef duckdb_error_data (*columns_fn)(duckdb_arrow_options options,
                                        duckdb_logical_type *types,
                                        const char **names,
                                        idx_t count,
                                        struct ArrowSchema *out);
typedef duckdb_error_data (*rows_fn)(duckdb_arrow_options options,
                                     duckdb_data_chunk chunk,
                                     struct ArrowArray *out);
typedef duckdb_arrow_options (*options_fn)(duckdb_result *result);
typedef void (*free_options_fn)(duckdb_arrow_options *options);
typedef const char *(*message_fn)(duckdb_error_data error);
typedef bool (*failed_fn)(duckdb_error_data error);
typedef void (*free_error_fn)(duckdb_error_data *error);

static struct {
    columns_fn columns;
    rows_fn rows;
    options_fn options;
    free_options_fn free_options;
    message_fn message;
    failed_fn failed;
    free_error_fn free_error;
} arrow_functions;

static const struct {
    const char *name;
    size_t offset;
} arrow_names[] = {
    {"duckdb_to_arrow_schema", offsetof(__typeof__(arrow_functions), columns)},
    {"duckdb_data_chunk_to_arrow", offsetof(__typeof__(arrow_functions), rows)},
    {"duckdb_result_get_arrow_options",
     offsetof(__typeof__(arrow_functions), options)},
    {"duckdb_destroy_arrow_options",
     offsetof(__typeof__(arrow_functions), free_options)},
    {"duckdb_error_data_message",
     offsetof(__typeof__(arrow_functions), message)},
    {"duckdb_error_data_has_error",
     offsetof(__typeof__(arrow_functions), failed)},
    {"duckdb_destroy_error_data",
     offsetof(__typeof__(arrow_functions), free_error)},
};

static bool arrow_loaded;

void sql_arrow_load(void *library)
{
    arrow_loaded = true;
    for (size_t i = 0; i < ARRAY_LEN(arrow_names); i++) {
        void *function = dlsym(library, arrow_names[i].name);
        arrow_loaded &= function != NULL;
        memcpy((char *)&arrow_functions + arrow_names[i].offset, &function,
               sizeof(function));
    }
}

static int check_loaded(struct err *err)
{
    if (arrow_loaded)
        return 0;
    err_set(err, ERR_UNSUPPORTED, "this DuckDB makes no columns of Arrow");
    err_hint(err, "DuckDB from 1.4 on does: scripts/deps sql fetches it");
    return ERR_UNSUPPORTED;
}

/* Destroys @error. */
static int take_error(duckdb_error_data error, struct err *err)
{
    int rc = 0;
    if (error && arrow_functions.failed(error))
        rc = err_set(err, ERR_UNSUPPORTED, "as Arrow: %s",
                     arrow_functions.message(error));
    arrow_functions.free_error(&error);
    return rc;
}

int sql_arrow_columns(duckdb_result *result,
                      struct ArrowSchema *out,
                      struct err *err)
{
    const size_t n = duckdb_column_count(result);
    duckdb_arrow_options options;
    duckdb_logical_type *types;
    const char **names;
    int rc = check_loaded(err);
    if (rc)
        return rc;
    types = mem_zalloc(n + 1, sizeof(*types));
    names = mem_zalloc(n + 1, sizeof(*names));
    for (size_t i = 0; i < n; i++) {
        types[i] = duckdb_column_logical_type(result, i);
        names[i] = duckdb_column_name(result, i);
    }
    options = arrow_functions.options(result);
    rc =
        take_error(arrow_functions.columns(options, types, names, n, out), err);
    arrow_functions.free_options(&options);
    for (size_t i = 0; i < n; i++)
        duckdb_destroy_logical_type(&types[i]);
    mem_free(names);
    mem_free(types);
    return rc;
}

int sql_arrow_rows(duckdb_result *result,
                   duckdb_data_chunk chunk,
                   struct ArrowArray *out,
                   struct err *err)
{
    duckdb_arrow_options options;
    int rc = check_loaded(err);
    if (rc)
        return rc;
    options = arrow_functions.options(result);
    rc = take_error(arrow_functions.rows(options, chunk, out), err);
    arrow_functions.free_options(&options);
    return rc;
}
