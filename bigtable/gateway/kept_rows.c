/* Values of a kept view to the sink of results, and keys of the API back to
 * values, so that a reader's bounds become places in the view. */
#include "bigtable/gateway/kept_rows.h"

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/gateway/kept_view.h"
#include "bigtable/gateway/view_key.h"
#include "bigtable/quarry_view.h"

/* More keys than a program of a kept view has. */
#define KEYS_MAX 32

struct kept_rows {
    struct quarry_view_scan *scan;
    struct gsql_column *columns; /* Owned. */
    struct gsql_result result;
    enum quarry_view_type keys[KEYS_MAX]; /* In the order of columns. */
    size_t key_count;
    bool is_raw; /* The key is the column _key. */
};

static enum gsql_kind kind_of(enum quarry_view_type type)
{
    switch (type) {
    case QUARRY_VIEW_TEXT: return GSQL_STRING;
    case QUARRY_VIEW_BYTES: return GSQL_BYTES;
    case QUARRY_VIEW_INT: return GSQL_INT64;
    case QUARRY_VIEW_FLOAT: return GSQL_FLOAT64;
    case QUARRY_VIEW_BOOL: return GSQL_BOOL;
    case QUARRY_VIEW_TIME: return GSQL_TIMESTAMP;
    }
    return GSQL_BYTES;
}

static void take_key(struct kept_rows *k, const struct quarry_view_column *c)
{
    const bool is_raw = slice_eq_str(slice_str(c->name), "_key");
    if (is_raw) {
        k->is_raw = true;
        k->keys[0] = c->type;
        k->key_count = 1;
    } else if (!k->is_raw && k->key_count < KEYS_MAX) {
        k->keys[k->key_count++] = c->type;
    }
}

static void take_columns(struct kept_rows *k)
{
    const struct quarry_view_column *columns;
    const size_t count = quarry_view_scan_columns(k->scan, &columns);
    k->columns = mem_zalloc(count + 1, sizeof(*k->columns));
    for (size_t i = 0; i < count; i++) {
        k->columns[i] =
            (struct gsql_column){.name = slice_str(columns[i].name),
                                 .type = gsql_scalar(kind_of(columns[i].type)),
                                 .is_key = columns[i].is_key};
        if (columns[i].is_key)
            take_key(k, &columns[i]);
    }
    k->result =
        (struct gsql_result){.columns = k->columns, .column_count = count};
}

int kept_rows_open(struct gateway *g,
                   struct slice instance,
                   struct slice id,
                   struct kept_rows **out,
                   struct err *err)
{
    struct kept_rows *k = mem_zalloc(1, sizeof(*k));
    int rc = kept_view_open(g, instance, id, &k->scan, err);
    if (rc) {
        mem_free(k);
        k = NULL;
    } else {
        take_columns(k);
    }
    *out = k;
    return rc;
}

void kept_rows_close(struct kept_rows *k)
{
    if (!k)
        return;
    quarry_view_scan_close(k->scan);
    mem_free(k->columns);
    mem_free(k);
}

const struct gsql_result *kept_rows_result(const struct kept_rows *k)
{
    return &k->result;
}

/* --- seeking ------------------------------------------------------------- */

/* The value that a whole or, of a text, begun field is; false: of neither. */
static bool read_field(struct slice field,
                       enum quarry_view_type type,
                       struct quarry_view_value *out)
{
    *out = (struct quarry_view_value){.bytes = field};
    if (type == QUARRY_VIEW_TEXT || type == QUARRY_VIEW_BYTES)
        return true;
    return type != QUARRY_VIEW_FLOAT &&
           view_key_get_integer(field, &out->integer);
}

/* The values that @key is of, as many as can be read; *@count of them. */
static bool read_key(const struct kept_rows *k,
                     struct slice key,
                     struct buf *bytes,
                     struct quarry_view_value values[KEYS_MAX],
                     size_t *count)
{
    struct slice fields[KEYS_MAX];
    size_t n = 1;
    fields[0] = key;
    *count = 0;
    if (!k->is_raw)
        n = view_key_split(key, bytes, fields, k->key_count);
    while (*count < n && *count < k->key_count &&
           read_field(fields[*count], k->keys[*count], &values[*count]))
        ++*count;
    return *count == n && n == k->key_count;
}

int kept_rows_seek(struct kept_rows *k, struct slice key, struct err *err)
{
    struct quarry_view_value values[KEYS_MAX];
    struct buf bytes = BUF_INIT;
    size_t count;
    int rc;
    (void)read_key(k, key, &bytes, values, &count);
    rc = quarry_view_scan_seek(k->scan, values, count, err);
    buf_close(&bytes);
    return rc;
}

int kept_rows_until(struct kept_rows *k, struct slice key, struct err *err)
{
    struct quarry_view_value values[KEYS_MAX];
    struct buf bytes = BUF_INIT;
    size_t count;
    int rc = 0;
    if (read_key(k, key, &bytes, values, &count))
        rc = quarry_view_scan_until(k->scan, values, count, true, err);
    buf_close(&bytes);
    return rc;
}

/* --- rows ---------------------------------------------------------------- */

static void give_value(const struct quarry_view_value *v,
                       enum gsql_kind kind,
                       const struct gsql_sink *sink)
{
    if (v->null)
        sink->null(sink->ctx);
    else if (kind == GSQL_FLOAT64)
        sink->real(sink->ctx, v->real);
    else if (kind == GSQL_STRING || kind == GSQL_BYTES)
        sink->bytes(sink->ctx, kind, v->bytes);
    else
        sink->integer(sink->ctx, kind, v->integer);
}

int kept_rows_next(struct kept_rows *k,
                   const struct gsql_sink *sink,
                   bool *found,
                   struct err *err)
{
    const struct quarry_view_value *values = NULL;
    int rc = quarry_view_scan_next(k->scan, &values, err);
    *found = rc == 0 && values;
    for (size_t i = 0; *found && i < k->result.column_count; i++)
        give_value(&values[i], k->columns[i].type->kind, sink);
    return rc;
}
