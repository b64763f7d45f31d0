/* A view's query is planned twice: as it is, to learn its columns and which of
 * them are keys, and then within SELECT * … ORDER BY keys, with the reader's
 * bounds of keys as conditions, which the engine hands down to the scan of the
 * table where keys of the view are those of its rows. The bounds and the filter
 * are applied to the rows here, too, so that it does not matter what the engine
 * makes of the conditions. Of a view that is kept up to date (kept_view.h),
 * what is kept is read instead.
 */
#include "bigtable/gateway/view_scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/gateway/admin_view.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/kept_rows.h"
#include "bigtable/gateway/query_plan.h"
#include "bigtable/gateway/query_pool.h"
#include "bigtable/gateway/request_rows.h"
#include "bigtable/gateway/view_key.h"
#include "bigtable/gateway/workers.h"
#include "bigtable/googlesql/gsql_engine.h"
#include "bigtable/row/filter_run.h"

#define KEY_NAME "_key"
/* Larger keys cannot be asked for. */
#define KEY_BYTES_MAX ((size_t)64 << 10)
/* Bounds that make a longer query are not handed to the engine. */
#define BOUNDS_MAX      500
#define BOUND_BYTES_MAX ((size_t)64 << 10)
/* Rows of a kept view that are read and not wanted before others are sought. */
#define SKIP_ROWS 8

/* A column of the result, and its value in the row at hand. */
struct view_value {
    enum gsql_kind kind;
    bool is_key;
    bool null;
    struct slice family; /* These two of a cell; of the plan. */
    struct slice qualifier;
    size_t at; /* In `bytes`, */
    size_t len;
};

struct view_scan {
    struct gateway *gateway;
    const struct request_rows *wanted;
    struct slice *keys; /* Of `wanted`, in order; owned. */
    struct buf query;   /* The view's, */
    struct buf text;    /* and what is executed; */
    struct query_plan plan;
    struct buf sql;
    struct gsql_rows *rows;
    struct kept_rows *kept; /* Instead of the query. */
    bool ended;             /* No row behind is wanted. */
    unsigned unwanted;      /* Rows of it that were not. */
    bool begun;
    bool reversed;
    uint64_t limit;
    uint64_t given;
    struct view_value *values; /* In the order of the columns; owned. */
    size_t count;
    size_t key_column; /* _key's; SIZE_MAX: there is none. */
    size_t *order;     /* Columns that are cells, as a row has them; owned. */
    size_t order_count;
    size_t next;      /* Of the row: the value that comes next, */
    struct buf bytes; /* and those that came. */
    struct view_key key;
    struct buf last; /* The key of the row before. */
    bool has_last;
    struct quarry_cell *cells; /* Owned; one more than columns. */
    struct filter_run *filter; /* NULL: all cells. */
    struct quarry_row row;
    uint64_t rows_seen;
    uint64_t cells_seen;
};

/* --- columns ------------------------------------------------------------- */

static bool is_key_name(struct slice name)
{
    return slice_eq_str(name, KEY_NAME);
}

/* "default" first, as the row's mark is of it. */
static size_t family_rank(const struct view_scan *s, struct slice family)
{
    size_t i = 0;
    if (slice_eq_str(family, "default"))
        return 0;
    while (!slice_eq(s->values[i].family, family))
        i++;
    return i + 1;
}

static int compare_columns(const struct view_scan *s, size_t a, size_t b)
{
    const struct view_value *x = &s->values[a];
    const struct view_value *y = &s->values[b];
    const size_t x_rank = family_rank(s, x->family);
    const size_t y_rank = family_rank(s, y->family);
    if (x_rank != y_rank)
        return x_rank < y_rank ? -1 : 1;
    return slice_cmp(x->qualifier, y->qualifier);
}

/* Insert column @i where it belongs. ERR_INVALID: there is one of its name. */
static int order_column(struct view_scan *s, size_t i, struct err *err)
{
    size_t at = s->order_count;
    PRE(i < s->count && at < s->count);
    while (at && compare_columns(s, i, s->order[at - 1]) < 0) {
        s->order[at] = s->order[at - 1];
        at--;
    }
    if (at && compare_columns(s, i, s->order[at - 1]) == 0)
        return err_set(err, ERR_INVALID,
                       "the view's query has two columns \"%.*s\"",
                       SLICE_ARG(slice_sub(s->values[i].qualifier, 0, 80)));
    s->order[at] = i;
    s->order_count++;
    return 0;
}

static int take_column(struct view_scan *s,
                       size_t i,
                       const struct gsql_column *c,
                       struct err *err)
{
    struct view_value *v = &s->values[i];
    v->kind = c->type->kind;
    v->is_key = c->is_key;
    view_column(c->name, &v->family, &v->qualifier);
    if (c->name.len == 0)
        return err_set(err, ERR_INVALID,
                       "column %zu of the view's query has no name (AS …)",
                       i + 1);
    if (!view_type_is_stored(v->kind))
        return err_set(err, ERR_INVALID,
                       "column \"%.*s\" of the view's query is of a type "
                       "that no cell has",
                       SLICE_ARG(slice_sub(c->name, 0, 80)));
    if (is_key_name(c->name))
        s->key_column = i;
    return 0;
}

/* A key of floating numbers would be in another order than they are. */
static int check_key(const struct view_scan *s, struct err *err)
{
    size_t keys = s->key_column != SIZE_MAX;
    for (size_t i = 0; s->key_column == SIZE_MAX && i < s->count; i++) {
        const struct view_value *v = &s->values[i];
        if (v->is_key && (v->kind == GSQL_FLOAT32 || v->kind == GSQL_FLOAT64))
            return err_set(err, ERR_INVALID,
                           "\"%.*s\" of the view's query is a floating number, "
                           "which is no key (CAST it to STRING)",
                           SLICE_ARG(slice_sub(v->qualifier, 0, 80)));
        keys += v->is_key;
    }
    if (keys)
        return 0;
    return err_set(err, ERR_INVALID,
                   "the rows of the view have no keys: its query selects "
                   "neither _key nor what it is grouped or ordered by");
}

static int
take_columns(struct view_scan *s, const struct gsql_result *r, struct err *err)
{
    int rc = 0;
    s->count = r->column_count;
    s->values = mem_zalloc(s->count + 1, sizeof(*s->values));
    s->order = mem_zalloc(s->count + 1, sizeof(*s->order));
    s->cells = mem_zalloc(s->count + 1, sizeof(*s->cells));
    for (size_t i = 0; i < s->count && rc == 0; i++)
        rc = take_column(s, i, &r->columns[i], err);
    if (rc == 0)
        rc = check_key(s, err);
    for (size_t i = 0; i < s->count && rc == 0; i++)
        if (s->key_column == SIZE_MAX ? !s->values[i].is_key
                                      : i != s->key_column)
            rc = order_column(s, i, err);
    return rc;
}

/* --- the query ----------------------------------------------------------- */

static void put_literal(struct buf *out, struct slice key)
{
    buf_append_str(out, "b'");
    for (size_t i = 0; i < key.len; i++)
        buf_printf(out, "\\x%02x", (unsigned char)key.data[i]);
    buf_append_byte(out, '\'');
}

static void put_range(struct buf *out, const struct quarry_range *r)
{
    buf_append_str(out, "(TRUE");
    if (r->start.len) {
        buf_append_str(out, " AND " KEY_NAME " >= ");
        put_literal(out, r->start);
    }
    if (r->end.len) {
        buf_append_str(out, " AND " KEY_NAME " < ");
        put_literal(out, r->end);
    }
    buf_append_byte(out, ')');
}

/* The bounds of the request as a condition, if keys are bytes of a column. */
static void put_bounds(const struct view_scan *s, struct buf *out)
{
    const struct request_rows *w = s->wanted;
    const size_t begin = out->len;
    const char *between = " WHERE ";
    if (w->key_count + w->range_count == 0 ||
        w->key_count + w->range_count > BOUNDS_MAX ||
        s->key_column == SIZE_MAX ||
        s->values[s->key_column].kind != GSQL_BYTES)
        return;
    if (w->key_count) {
        buf_append_str(out, " WHERE " KEY_NAME " IN (");
        for (size_t i = 0; i < w->key_count; i++) {
            buf_append_str(out, i ? ", " : "");
            put_literal(out, w->keys[i]);
        }
        buf_append_byte(out, ')');
        between = " OR ";
    }
    for (size_t i = 0; i < w->range_count; i++) {
        buf_append_str(out, between);
        put_range(out, &w->ranges[i]);
        between = " OR ";
    }
    if (out->len - begin > BOUND_BYTES_MAX)
        buf_truncate(out, begin);
}

/* SELECT * … ORDER BY the columns of the key. */
static void put_query(const struct view_scan *s, struct buf *out)
{
    const char *between = " ORDER BY ";
    struct slice inner = buf_slice(&s->query);
    while (inner.len && strchr(" \t\r\n;", inner.data[inner.len - 1]))
        inner.len--;
    buf_printf(out, "SELECT * FROM (%.*s\n)", SLICE_ARG(inner));
    put_bounds(s, out);
    for (size_t i = 0; i < s->count; i++) {
        if (s->key_column == SIZE_MAX ? !s->values[i].is_key
                                      : i != s->key_column)
            continue;
        buf_printf(out, "%s%zu%s", between, i + 1, s->reversed ? " DESC" : "");
        between = ", ";
    }
}

/* The columns, of the view's own query. */
static int
plan_columns(struct view_scan *s, struct slice instance, struct err *err)
{
    int rc;
    query_plan_init(&s->plan, instance, buf_slice(&s->query));
    rc = query_plan_translate(&s->plan, s->gateway, NULL, err);
    if (rc == ERR_INVALID && s->plan.no_table)
        rc = ERR_NOTFOUND;
    return rc ? rc : take_columns(s, &s->plan.result, err);
}

/* Names of columns are of the first plan's arena, which stays: a translation
 * adds to it. */
static int plan_query(struct view_scan *s, struct err *err)
{
    int rc;
    put_query(s, &s->text);
    s->plan.text = buf_slice(&s->text);
    rc = query_plan_translate(&s->plan, s->gateway, NULL, err);
    if (rc == 0)
        gsql_put_cast(&s->plan.result, &s->sql);
    POST(rc || s->plan.result.column_count == s->count);
    return rc;
}

static int find_query(struct view_scan *s,
                      struct slice name,
                      struct slice *instance,
                      struct err *err)
{
    struct resource_name n;
    int rc = resource_name_parse_kind(name, "materializedViews", &n, err);
    if (rc)
        return rc;
    *instance = slice_make(
        name.data, (size_t)(n.instance.data + n.instance.len - name.data));
    return admin_materialized_view_query(s->gateway, n.instance, n.id,
                                         &s->query, err);
}

/* --- which rows ---------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

static void sort_keys(struct view_scan *s)
{
    const struct request_rows *w = s->wanted;
    s->keys = mem_alloc((w->key_count + 1) * sizeof(*s->keys));
    if (w->key_count) {
        memcpy(s->keys, w->keys, w->key_count * sizeof(*s->keys));
        qsort(s->keys, w->key_count, sizeof(*s->keys), compare_keys);
    }
}

static bool is_wanted(const struct view_scan *s, struct slice key)
{
    const struct request_rows *w = s->wanted;
    if (w->key_count + w->range_count == 0)
        return true;
    if (w->key_count &&
        bsearch(&key, s->keys, w->key_count, sizeof(key), compare_keys))
        return true;
    for (size_t i = 0; i < w->range_count; i++)
        if (slice_cmp(key, w->ranges[i].start) >= 0 &&
            (w->ranges[i].end.len == 0 || slice_cmp(key, w->ranges[i].end) < 0))
            return true;
    return false;
}

/* --- values -------------------------------------------------------------- */

static struct view_value *take_value(struct view_scan *s)
{
    struct view_value *v;
    PRE(s->next < s->count);
    v = &s->values[s->next++];
    v->null = false;
    v->at = s->bytes.len;
    v->len = 0;
    return v;
}

static void take_null(void *ctx)
{
    take_value(ctx)->null = true;
}

static void put_number(struct buf *out, uint64_t v)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        buf_append_byte(out, (char)(v >> shift));
}

static void take_integer(void *ctx, enum gsql_kind kind, int64_t n)
{
    struct view_scan *s = ctx;
    struct view_value *v = take_value(s);
    if (v->is_key || s->next - 1 == s->key_column)
        view_key_put_integer(&s->bytes, n);
    else if (kind == GSQL_BOOL)
        buf_append_byte(&s->bytes, (char)(n != 0));
    else
        put_number(&s->bytes, (uint64_t)n);
    v->len = s->bytes.len - v->at;
}

static void take_real(void *ctx, double d)
{
    struct view_scan *s = ctx;
    struct view_value *v = take_value(s);
    uint64_t bits;
    STATIC_ASSERT(sizeof(bits) == sizeof(d), "a double has 8 bytes");
    memcpy(&bits, &d, sizeof(bits));
    put_number(&s->bytes, bits);
    v->len = s->bytes.len - v->at;
}

static void take_bytes(void *ctx, enum gsql_kind kind, struct slice bytes)
{
    struct view_scan *s = ctx;
    struct view_value *v = take_value(s);
    (void)kind;
    buf_append_slice(&s->bytes, bytes);
    v->len = bytes.len;
}

/* No column is of such a type: take_column() looked. */
static void take_list(void *ctx, enum gsql_kind kind)
{
    (void)ctx;
    (void)kind;
    INVARIANT(!"an ARRAY, STRUCT or MAP in a view");
}

static struct slice value_slice(const struct view_scan *s,
                                const struct view_value *v)
{
    return slice_make(s->bytes.data + v->at, v->len);
}

/* --- rows ---------------------------------------------------------------- */

/* The key of the row at hand; empty: it has none. */
static struct slice make_key(struct view_scan *s)
{
    if (s->key_column != SIZE_MAX) {
        const struct view_value *v = &s->values[s->key_column];
        return v->null ? SLICE_EMPTY : value_slice(s, v);
    }
    view_key_clear(&s->key);
    for (size_t i = 0; i < s->count; i++) {
        const struct view_value *v = &s->values[i];
        if (v->is_key && v->null)
            return SLICE_EMPTY;
        if (v->is_key)
            view_key_add(&s->key, value_slice(s, v));
    }
    return view_key_end(&s->key);
}

static void make_row(struct view_scan *s, struct slice key)
{
    size_t count = 0;
    PRE(s->next == s->count && key.len > 0);
    s->cells[count++] = (struct quarry_cell){.family = SLICE_LIT("default"),
                                             .qualifier = SLICE_EMPTY,
                                             .value = SLICE_EMPTY,
                                             .label = SLICE_EMPTY};
    for (size_t i = 0; i < s->order_count; i++) {
        const struct view_value *v = &s->values[s->order[i]];
        if (!v->null)
            s->cells[count++] = (struct quarry_cell){.family = v->family,
                                                     .qualifier = v->qualifier,
                                                     .value = value_slice(s, v),
                                                     .label = SLICE_EMPTY};
    }
    POST(count <= s->count + 1);
    s->row = (struct quarry_row){key, s->cells, count};
}

/* Leave the cells that pass. */
static int filter_row(struct view_scan *s, struct err *err)
{
    size_t count = 0;
    bool ended = false;
    if (!s->filter)
        return 0;
    ended = !filter_run_row(s->filter, s->row.key);
    for (size_t i = 0; i < s->row.cell_count && !ended; i++) {
        struct quarry_cell cell = s->cells[i];
        const enum filter_verdict verdict = filter_run_cell(s->filter, &cell);
        if (verdict == FILTER_PASS)
            s->cells[count++] = cell;
        ended = verdict == FILTER_DROP_ROW;
    }
    s->row.cell_count = count;
    return filter_run_finish(s->filter, &s->row, err);
}

static int check_order(struct view_scan *s, struct slice key, struct err *err)
{
    if (s->has_last && slice_eq(buf_slice(&s->last), key))
        return err_set(err, ERR_INVALID,
                       "the view has several rows with the key \"%.*s\": its "
                       "query must group by _key alone",
                       SLICE_ARG(slice_sub(key, 0, 80)));
    buf_clear(&s->last);
    buf_append_slice(&s->last, key);
    s->has_last = true;
    return 0;
}

/* The first key that is wanted behind @key, or at it. False: there is none. */
static bool
next_wanted(const struct view_scan *s, struct slice key, struct slice *out)
{
    const struct request_rows *w = s->wanted;
    bool found = false;
    for (size_t i = 0; i < w->key_count && !found; i++)
        if (slice_cmp(s->keys[i], key) >= 0) {
            *out = s->keys[i];
            found = true;
        }
    for (size_t i = 0; i < w->range_count; i++)
        if (slice_cmp(w->ranges[i].start, key) >= 0 &&
            (!found || slice_cmp(w->ranges[i].start, *out) < 0)) {
            *out = w->ranges[i].start;
            found = true;
        }
    return found;
}

/* Continue at the next row that is wanted, once some were not. */
static int skip_unwanted(struct view_scan *s, struct slice key, struct err *err)
{
    struct slice next = SLICE_EMPTY;
    if (!next_wanted(s, key, &next)) {
        s->ended = true;
        return 0;
    }
    if (++s->unwanted % SKIP_ROWS)
        return 0;
    return kept_rows_seek(s->kept, next, err);
}

/* A key that no wanted row is behind; false: there is none. */
static bool last_wanted(const struct view_scan *s, struct slice *out)
{
    const struct request_rows *w = s->wanted;
    if (w->key_count)
        *out = s->keys[w->key_count - 1];
    for (size_t i = 0; i < w->range_count; i++) {
        if (w->ranges[i].end.len == 0)
            return false;
        if (slice_cmp(w->ranges[i].end, *out) > 0)
            *out = w->ranges[i].end;
    }
    return out->len > 0;
}

/* To the first row that is wanted, and up to the last. */
static int begin_kept(struct view_scan *s, struct err *err)
{
    struct slice first = SLICE_EMPTY;
    struct slice last = SLICE_EMPTY;
    int rc = 0;
    if (s->wanted->key_count + s->wanted->range_count == 0)
        return 0;
    s->ended = !next_wanted(s, SLICE_EMPTY, &first);
    if (!s->ended && last_wanted(s, &last))
        rc = kept_rows_until(s->kept, last, err);
    if (rc || s->ended || first.len == 0)
        return rc;
    return kept_rows_seek(s->kept, first, err);
}

static int begin_rows(struct view_scan *s, struct err *err)
{
    const struct gsql_engine *e = s->gateway->engine;
    s->begun = true;
    if (s->kept)
        return begin_kept(s, err);
    return e->begin(s->rows, s->gateway->quarry, buf_slice(&s->sql),
                    &s->plan.result, err);
}

/* Take the engine's next row, if any, into s->row; without cells: it is none
 * that was asked for. */
static int take_view_row(struct view_scan *s, bool *found, struct err *err)
{
    const struct gsql_engine *e = s->gateway->engine;
    const struct gsql_sink sink = {
        .ctx = s,
        .null = take_null,
        .integer = take_integer,
        .real = take_real,
        .bytes = take_bytes,
        .open = take_list,
        .close = NULL,
    };
    struct slice key = SLICE_EMPTY;
    int rc;
    s->next = 0;
    s->row.cell_count = 0;
    buf_clear(&s->bytes);
    rc = s->kept ? kept_rows_next(s->kept, &sink, found, err)
                 : e->next(s->rows, &sink, found, &key, err);
    if (rc || !*found)
        return rc;
    POST(s->next == s->count);
    key = make_key(s);
    if (key.len == 0 || key.len > KEY_BYTES_MAX)
        return 0;
    if (!is_wanted(s, key))
        return s->kept ? skip_unwanted(s, key, err) : 0;
    rc = check_order(s, key, err);
    if (rc)
        return rc;
    make_row(s, key);
    s->rows_seen++;
    s->cells_seen += s->row.cell_count;
    return filter_row(s, err);
}

int view_scan_next(struct view_scan *s,
                   const struct quarry_row **row,
                   struct err *err)
{
    bool found = s->limit == 0 || s->given < s->limit;
    int rc = found && !s->begun ? begin_rows(s, err) : 0;
    *row = NULL;
    while (rc == 0 && found && !s->ended) {
        rc = take_view_row(s, &found, err);
        if (rc == 0 && found && s->row.cell_count) {
            s->given++;
            *row = &s->row;
            return 0;
        }
    }
    return rc;
}

/* --- life ---------------------------------------------------------------- */

/* Read the kept rows, unless there are none, or they are wanted in the reverse
 * order, which they have not. */
static int open_kept(struct view_scan *s,
                     const struct view_scan_options *o,
                     struct err *err)
{
    struct resource_name n;
    int rc = resource_name_parse_kind(o->name, "materializedViews", &n, err);
    if (rc == 0)
        rc = o->reversed
                 ? ERR_NOTFOUND
                 : kept_rows_open(s->gateway, n.instance, n.id, &s->kept, err);
    return rc ? rc : take_columns(s, kept_rows_result(s->kept), err);
}

static int open_query(struct view_scan *s,
                      const struct view_scan_options *opts,
                      struct slice instance,
                      struct err *err)
{
    int rc = query_engine_check(s->gateway, opts->call, err);
    if (rc == 0)
        rc = plan_columns(s, instance, err);
    if (rc == 0)
        rc = plan_query(s, err);
    if (rc == 0)
        rc = query_pool_enter(s->gateway->queries, err);
    if (rc == 0)
        s->rows = s->gateway->engine->open(s->gateway->engine->ctx);
    return rc;
}

static int prepare_scan(struct view_scan *s,
                        const struct view_scan_options *opts,
                        struct err *err)
{
    struct slice instance = SLICE_EMPTY;
    int rc = find_query(s, opts->name, &instance, err);
    if (rc)
        return rc;
    rc = open_kept(s, opts, err);
    if (rc == ERR_NOTFOUND) {
        *err = ERR_INIT;
        rc = open_query(s, opts, instance, err);
    }
    if (rc == 0 && opts->filter)
        rc = filter_run_new(opts->filter, &s->filter, err);
    return rc;
}

int view_scan_open(struct gateway *g,
                   const struct view_scan_options *opts,
                   struct view_scan **out,
                   struct err *err)
{
    struct view_scan *s = mem_zalloc(1, sizeof(*s));
    int rc;
    s->gateway = g;
    s->wanted = opts->rows;
    s->limit = opts->limit;
    s->reversed = opts->reversed;
    s->key_column = SIZE_MAX;
    query_plan_init(&s->plan, SLICE_EMPTY, SLICE_EMPTY);
    sort_keys(s);
    rc = prepare_scan(s, opts, err);
    if (rc) {
        view_scan_close(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

void view_scan_interrupt(struct view_scan *s)
{
    if (s->rows)
        s->gateway->engine->interrupt(s->rows);
}

void view_scan_run(struct view_scan *s,
                   void (*fn)(void *arg),
                   void (*interrupt)(void *arg),
                   void *arg)
{
    if (s->kept)
        workers_run(s->gateway->workers, fn, arg);
    else
        query_pool_run(s->gateway->queries, fn, interrupt, arg);
}

void view_scan_seen(const struct view_scan *s, uint64_t *rows, uint64_t *cells)
{
    *rows = s->rows_seen;
    *cells = s->cells_seen;
}

static void end_scan(void *arg)
{
    struct view_scan *s = arg;
    s->gateway->engine->end(s->rows);
}

void view_scan_close(struct view_scan *s)
{
    if (!s)
        return;
    if (s->rows) {
        query_pool_run(s->gateway->queries, end_scan, NULL, s);
        query_pool_leave(s->gateway->queries);
    }
    kept_rows_close(s->kept);
    filter_run_free(s->filter);
    query_plan_close(&s->plan);
    mem_free(s->keys);
    mem_free(s->values);
    mem_free(s->order);
    mem_free(s->cells);
    buf_close(&s->query);
    buf_close(&s->text);
    buf_close(&s->sql);
    buf_close(&s->bytes);
    buf_close(&s->key.out);
    buf_close(&s->last);
    mem_free(s);
}
