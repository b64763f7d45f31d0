/* The life of a statement: what kind it is, what is pushed, its execution, its
 * rows.
 */
#include "bigtable/sql/sql_session.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/sql/duckdb_api.h"
#include "bigtable/sql/duckdb_load.h"
#include "bigtable/sql/sql_arrow.h"
#include "bigtable/sql/sql_batch_of.h"
#include "bigtable/sql/sql_functions.h"
#include "bigtable/sql/sql_google.h"
#include "bigtable/sql/sql_lexer.h"
#include "bigtable/sql/sql_push.h"
#include "bigtable/sql/sql_statement.h"
#include "bigtable/sql/sql_store_first.h"
#include "bigtable/sql/sql_streaming.h"
#include "bigtable/sql/sql_views.h"
#include "bigtable/sql/sql_write.h"

struct sql_session {
    struct sql_session_options options;
    struct sql_stores *stores; /* Owned. */
    struct sql_views views;
    duckdb_database database;
    duckdb_connection connection;
    duckdb_prepared_statement parser; /* json_serialize_sql(?). */
    bool own_objects; /* A statement may have made tables that hide Quarry's, */
    bool no_push;     /* or changed how texts compare. */
    bool explaining;  /* Of the statement at hand. */
    atomic_bool interrupted; /* Likewise; any thread sets it. */
};

const char *sql_session_version(void)
{
    return duckdb_library_version();
}

void sql_session_interrupt(struct sql_session *s)
{
    atomic_store(&s->interrupted, true);
    duckdb_interrupt(s->connection);
}

/* --- DuckDB -------------------------------------------------------------- */

/* An interrupted statement fails while it is planned or while it runs, and
 * DuckDB tells the type of the error only of the latter. */
static int
sql_session_fail(struct sql_session *s, struct err *err, const char *text)
{
    const char *shown = text ? text : "DuckDB failed without a message";
    if (atomic_load(&s->interrupted))
        return err_set(err, ERR_CANCELLED, "the statement was interrupted");
    return err_set(err, ERR_INVALID, "%s", shown);
}

static int sql_session_prepare(struct sql_session *s,
                               const char *sql,
                               duckdb_prepared_statement *out,
                               struct err *err)
{
    int rc = 0;
    if (duckdb_prepare(s->connection, sql, out) != DuckDBSuccess) {
        rc = sql_session_fail(s, err, duckdb_prepare_error(*out));
        duckdb_destroy_prepare(out);
    }
    return rc;
}

/* Run @sql for its effect. */
static int
sql_session_execute(struct sql_session *s, const char *sql, struct err *err)
{
    duckdb_result result;
    int rc = 0;
    if (duckdb_query(s->connection, sql, &result) != DuckDBSuccess)
        rc = sql_session_fail(s, err, duckdb_result_error(&result));
    duckdb_destroy_result(&result);
    return rc;
}

/* --- names --------------------------------------------------------------- */

/* The only value of the only row, if it is a text. */
static bool take_text(duckdb_result *result, struct buf *out)
{
    duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
    struct sql_batch batch;
    struct slice text;
    bool ok;
    if (!chunk)
        return false;
    sql_batch_open(&batch, chunk);
    ok = batch.row_count == 1 && sql_batch_bytes(&batch, 0, 0, &text);
    if (ok)
        buf_append_slice(out, text);
    sql_batch_close(&batch);
    duckdb_destroy_data_chunk(&chunk);
    return ok;
}

static bool parse_select(void *ctx, struct slice sql, struct buf *json)
{
    struct sql_session *s = ctx;
    duckdb_result result;
    bool ok;
    if (memchr(sql.data, '\0', sql.len))
        return false;
    duckdb_bind_varchar_length(s->parser, 1, sql.data, sql.len);
    ok = duckdb_execute_prepared(s->parser, &result) == DuckDBSuccess &&
         take_text(&result, json);
    duckdb_destroy_result(&result);
    return ok;
}

/* Has DuckDB a table or view of the name, which hides Quarry's? */
static bool is_hidden(struct sql_session *s, const char *name)
{
    struct buf sql = BUF_INIT;
    struct buf found = BUF_INIT;
    duckdb_result result;
    bool hidden;
    if (!s->own_objects)
        return false;
    buf_append_str(&sql, "SELECT 'yes' FROM (SELECT table_name AS n FROM "
                         "duckdb_tables() UNION ALL SELECT view_name FROM "
                         "duckdb_views()) WHERE lower(n) = lower(");
    sql_put_string(&sql, slice_str(name));
    buf_append_str(&sql, ") LIMIT 1");
    hidden =
        duckdb_query(s->connection, buf_cstr(&sql), &result) != DuckDBSuccess ||
        take_text(&result, &found);
    duckdb_destroy_result(&result);
    buf_close(&sql);
    buf_close(&found);
    return hidden;
}

static bool is_table(void *ctx, const char *name)
{
    struct sql_session *s = ctx;
    struct quarry *q;
    struct quarry_table *t;
    if (s->options.store(s->options.ctx, &q, NULL) ||
        quarry_table_open(q, name, &t, NULL))
        return false;
    quarry_table_close(t);
    return !is_hidden(s, name);
}

static bool has_family(void *ctx, const char *table, const char *family)
{
    struct sql_session *s = ctx;
    struct quarry_table_info *info;
    struct quarry *q;
    bool found = false;
    if (s->options.store(s->options.ctx, &q, NULL) ||
        quarry_table_describe(q, table, &info, NULL))
        return false;
    for (size_t i = 0; i < info->family_count; i++)
        found |= strcmp(info->families[i].name, family) == 0;
    quarry_table_info_free(info);
    return found;
}

static const char *view_select(void *ctx, const char *name)
{
    struct sql_session *s = ctx;
    const struct sql_view *view = sql_views_find(&s->views, name);
    return view ? view->select : NULL;
}

/* --- rows ---------------------------------------------------------------- */

static enum sql_shape shape_of(duckdb_type type)
{
    if (type == DUCKDB_TYPE_BLOB)
        return SQL_SHAPE_BYTES;
    if ((type >= DUCKDB_TYPE_TINYINT && type <= DUCKDB_TYPE_DOUBLE) ||
        type == DUCKDB_TYPE_HUGEINT || type == DUCKDB_TYPE_UHUGEINT ||
        type == DUCKDB_TYPE_DECIMAL)
        return SQL_SHAPE_NUMBER;
    return SQL_SHAPE_TEXT;
}

static int
begin_sink(duckdb_result *result, const struct sql_sink *sink, struct err *err)
{
    const size_t n = duckdb_column_count(result);
    const char **names = mem_zalloc(n + 1, sizeof(*names));
    enum sql_shape *shapes = mem_zalloc(n + 1, sizeof(*shapes));
    const struct sql_header h = {
        .names = names,
        .shapes = shapes,
        .count = n,
        .has_rows = duckdb_result_return_type(*result) ==
                    DUCKDB_RESULT_TYPE_QUERY_RESULT,
    };
    int rc;
    for (size_t i = 0; i < n; i++) {
        names[i] = duckdb_column_name(result, i);
        shapes[i] = shape_of(duckdb_column_type(result, i));
    }
    rc = sink->begin ? sink->begin(sink->ctx, &h, err) : 0;
    mem_free(names);
    mem_free(shapes);
    return rc;
}

static int pass_arrays(duckdb_result *result,
                       duckdb_data_chunk chunk,
                       const struct sql_sink *sink,
                       struct err *err)
{
    struct ArrowArray arrays;
    int rc = sql_arrow_rows(result, chunk, &arrays, err);
    if (rc)
        return rc;
    rc = sink->arrays(sink->ctx, &arrays, err);
    arrays.release(&arrays);
    return rc;
}

static int pass_chunk(duckdb_result *result,
                      duckdb_data_chunk chunk,
                      const struct sql_sink *sink,
                      struct err *err)
{
    struct sql_batch batch;
    int rc;
    if (sink->arrays)
        return pass_arrays(result, chunk, sink, err);
    if (!sink->rows)
        return 0;
    sql_batch_open(&batch, chunk);
    rc = sink->rows(sink->ctx, &batch, err);
    sql_batch_close(&batch);
    return rc;
}

static int pass_chunks(struct sql_session *s,
                       duckdb_result *result,
                       const struct sql_sink *sink,
                       struct err *err)
{
    int rc = 0;
    while (rc == 0) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
        const char *text = chunk ? NULL : duckdb_result_error(result);
        if (!chunk)
            return text ? sql_session_fail(s, err, text) : 0;
        rc = pass_chunk(result, chunk, sink, err);
        duckdb_destroy_data_chunk(&chunk);
    }
    return rc;
}

static int pass_rows(struct sql_session *s,
                     duckdb_result *result,
                     const struct sql_sink *sink,
                     struct err *err)
{
    const struct sql_sink nobody = {.ctx = NULL};
    struct ArrowSchema types;
    int rc = begin_sink(result, sink, err);
    if (rc || !sink->arrays)
        return rc ? rc : pass_chunks(s, result, sink, err);
    if (duckdb_result_return_type(*result) != DUCKDB_RESULT_TYPE_QUERY_RESULT)
        return pass_chunks(s, result, &nobody, err);
    rc = sql_arrow_columns(result, &types, err);
    if (rc)
        return rc;
    rc = sink->columns(sink->ctx, &types, err);
    if (rc == 0)
        rc = pass_chunks(s, result, sink, err);
    if (rc == 0)
        rc = sink->arrays_end(sink->ctx, err);
    types.release(&types);
    return rc;
}

static int run_pending(struct sql_session *s,
                       duckdb_pending_result pending,
                       const struct sql_sink *sink,
                       struct err *err)
{
    duckdb_result result;
    int rc;
    if (duckdb_execute_pending(pending, &result) == DuckDBSuccess)
        rc = pass_rows(s, &result, sink, err);
    else
        rc = sql_session_fail(s, err, duckdb_result_error(&result));
    duckdb_destroy_result(&result);
    return rc;
}

static int run_prepared(struct sql_session *s,
                        duckdb_prepared_statement statement,
                        const struct sql_sink *sink,
                        struct err *err)
{
    duckdb_pending_result pending = NULL;
    int rc;
    if (sql_streaming(statement, &pending) == DuckDBSuccess)
        rc = run_pending(s, pending, sink, err);
    else
        rc = sql_session_fail(s, err, duckdb_pending_error(pending));
    duckdb_destroy_pending(&pending);
    return rc;
}

/* --- a statement of DuckDB ----------------------------------------------- */

/* Its text with what can be pushed, prepared; the text as it is where that does
 * not do, so that errors are about what was typed. */
static int prepare_pushed(struct sql_session *s,
                          struct slice text,
                          duckdb_prepared_statement *out,
                          struct err *err)
{
    const struct sql_names names = {.ctx = s,
                                    .parse = parse_select,
                                    .is_table = is_table,
                                    .has_family = has_family,
                                    .view = view_select};
    struct buf pushed = BUF_INIT;
    int rc = ERR_INVALID;
    if (!s->no_push && sql_push(&names, text, &pushed))
        rc = sql_session_prepare(s, buf_cstr(&pushed), out, NULL);
    if (rc) {
        buf_clear(&pushed);
        buf_append_slice(&pushed, text);
        sql_stores_want_notes(s->stores, s->explaining);
        rc = sql_session_prepare(s, buf_cstr(&pushed), out, err);
    }
    buf_close(&pushed);
    return rc;
}

static int run_duckdb(struct sql_session *s,
                      struct slice text,
                      const struct sql_sink *sink,
                      struct err *err)
{
    duckdb_prepared_statement statement;
    int rc = prepare_pushed(s, text, &statement, err);
    if (rc)
        return rc;
    if (duckdb_nparams(statement) > 0)
        rc = err_set(err, ERR_INVALID, "a statement here has no parameters");
    else
        rc = run_prepared(s, statement, sink, err);
    duckdb_destroy_prepare(&statement);
    return rc;
}

/* A query in GoogleSQL; its bounds are pushed by the translation. */
static int run_google(struct sql_session *s,
                      struct slice text,
                      const struct sql_sink *sink,
                      struct err *err)
{
    struct buf sql = BUF_INIT;
    struct quarry *q;
    duckdb_prepared_statement statement;
    int rc = s->options.store(s->options.ctx, &q, err);
    if (rc == 0)
        rc = sql_google_translate(q, text, &sql, err);
    if (rc == 0)
        rc = sql_session_prepare(s, buf_cstr(&sql), &statement, err);
    buf_close(&sql);
    if (rc)
        return rc;
    rc = run_prepared(s, statement, sink, err);
    duckdb_destroy_prepare(&statement);
    return rc;
}

/* --- statements that change Quarry --------------------------------------- */

static int run_write(struct sql_session *s,
                     const struct sql_statement *st,
                     uint64_t *changed,
                     struct err *err)
{
    struct quarry *q;
    struct sql_writer *w;
    struct sql_sink sink;
    int rc = s->options.writable(s->options.ctx, &q, err);
    if (rc == 0)
        rc = sql_writer_open(q, st->name, st->kind == SQL_STATEMENT_DELETE,
                             st->columns, st->column_count, &w, err);
    if (rc)
        return rc;
    sink = sql_writer_sink(w);
    rc = run_duckdb(s, st->select, &sink, err);
    rc = sql_writer_close(w, rc, changed, err);
    if (rc && *changed)
        err_hint(err, "%llu rows were written before",
                 (unsigned long long)*changed);
    return rc;
}

static int create_view(struct sql_session *s,
                       const struct sql_statement *st,
                       struct slice text,
                       struct err *err)
{
    struct quarry *q;
    struct buf sql = BUF_INIT;
    int rc;
    if (is_table(s, st->name))
        return err_set(err, ERR_EXISTS, "there is a table %s", st->name);
    buf_append_slice(&sql, text);
    rc = sql_session_execute(s, buf_cstr(&sql), err);
    buf_clear(&sql);
    buf_append_str(&sql, "CREATE OR REPLACE VIEW ");
    sql_put_name(&sql, st->name);
    buf_append_slice(&sql, st->rest);
    if (rc == 0 && !(st->if_not_exists && sql_views_find(&s->views, st->name)))
        rc = s->options.writable(s->options.ctx, &q, err);
    else
        q = NULL;
    if (rc == 0 && q)
        rc = sql_views_keep(&s->views, q, st->name, buf_slice(&sql), st->select,
                            err);
    buf_close(&sql);
    return rc;
}

static int drop_view(struct sql_session *s,
                     const struct sql_statement *st,
                     struct slice text,
                     struct err *err)
{
    struct buf sql = BUF_INIT;
    struct quarry *q;
    int rc;
    buf_append_slice(&sql, text);
    rc = sql_session_execute(s, buf_cstr(&sql), err);
    buf_close(&sql);
    if (rc || !sql_views_find(&s->views, st->name))
        return rc;
    rc = s->options.writable(s->options.ctx, &q, err);
    return rc ? rc : sql_views_drop(&s->views, q, st->name, err);
}

/* --- a statement --------------------------------------------------------- */

static int run_statement(struct sql_session *s,
                         struct slice text,
                         const struct sql_sink *sink,
                         uint64_t *changed,
                         struct err *err)
{
    struct sql_statement st;
    struct buf notes = BUF_INIT;
    uint64_t rows = UINT64_MAX;
    int rc;
    sql_statement_open(&st, text);
    s->no_push |= st.collates;
    s->explaining = st.kind == SQL_STATEMENT_EXPLAIN;
    sql_stores_want_notes(s->stores, s->explaining);
    if ((st.kind == SQL_STATEMENT_INSERT || st.kind == SQL_STATEMENT_DELETE) &&
        is_table(s, st.name)) {
        rc = run_write(s, &st, &rows, err);
    } else if (st.kind == SQL_STATEMENT_CREATE_VIEW) {
        rc = create_view(s, &st, text, err);
    } else if (st.kind == SQL_STATEMENT_DROP_VIEW) {
        rc = drop_view(s, &st, text, err);
    } else {
        rc = run_duckdb(s, text, sink, err);
        s->own_objects |= st.kind == SQL_STATEMENT_OTHER;
    }
    sql_stores_take_notes(s->stores, &notes);
    if (rc == 0 && notes.len && sink->note)
        sink->note(sink->ctx, buf_slice(&notes));
    buf_close(&notes);
    sql_statement_close(&st);
    if (changed)
        *changed = rows;
    return rc;
}

int sql_session_run(struct sql_session *s,
                    struct slice text,
                    const struct sql_sink *sink,
                    uint64_t *changed,
                    struct err *err)
{
    struct buf form = BUF_INIT;
    int rc;
    if (memchr(text.data, '\0', text.len))
        return err_set(err, ERR_INVALID, "a NUL in the statement");
    atomic_store(&s->interrupted, false);
    if (s->options.google) {
        if (changed)
            *changed = UINT64_MAX;
        return run_google(s, text, sink, err);
    }
    if (sql_store_first(text, &form))
        text = buf_slice(&form);
    rc = run_statement(s, text, sink, changed, err);
    buf_close(&form);
    return rc;
}

/* --- open ---------------------------------------------------------------- */

static int open_database(struct sql_session *s, struct err *err)
{
    if (duckdb_open(NULL, &s->database) != DuckDBSuccess ||
        duckdb_connect(s->database, &s->connection) != DuckDBSuccess)
        return err_set(err, ERR_NOMEM, "DuckDB does not start");
    return 0;
}

/* Make the views that DuckDB does not know yet; how many there are now. */
static size_t make_views(struct sql_session *s, bool *made, struct buf *remarks)
{
    size_t count = 0;
    for (size_t i = 0; i < s->views.count; i++) {
        struct err why = ERR_INIT;
        if (!made[i])
            made[i] = sql_session_execute(s, s->views.list[i].sql, &why) == 0;
        count += made[i];
        if (!made[i] && remarks)
            buf_printf(remarks, "view %s is left out: %s\n",
                       s->views.list[i].name, why.text);
    }
    return count;
}

/* A view may need others: they are tried until no more can be made. A target
 * without a store has none. */
static int
open_views(struct sql_session *s, struct buf *remarks, struct err *err)
{
    struct quarry *q;
    size_t before, count = 0;
    bool *made;
    int rc = s->options.store(s->options.ctx, &q, err);
    if (rc == 0)
        rc = sql_views_read(&s->views, q, err);
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    made = mem_zalloc(s->views.count + 1, sizeof(*made));
    do {
        before = count;
        count = make_views(s, made, NULL);
    } while (count > before && count < s->views.count);
    if (count < s->views.count)
        (void)make_views(s, made, remarks);
    mem_free(made);
    return 0;
}

int sql_session_open(const struct sql_session_options *opts,
                     struct sql_session **out,
                     struct buf *remarks,
                     struct err *err)
{
    struct sql_session *s;
    int rc = duckdb_load(opts->library, err);
    if (rc)
        return rc;
    s = mem_zalloc(1, sizeof(*s));
    s->options = *opts;
    s->stores = sql_stores_new(opts->store, opts->ctx);
    rc = open_database(s, err);
    if (rc == 0)
        rc = sql_functions_register(s->connection, s->stores, false, err);
    if (rc == 0) {
        sql_functions_replace(s->database, s->stores);
        rc = sql_session_prepare(
            s, "SELECT json_serialize_sql(?::VARCHAR)::VARCHAR", &s->parser,
            err);
    }
    if (rc == 0)
        rc = open_views(s, remarks, err);
    if (rc)
        sql_session_close(s);
    else
        *out = s;
    return rc;
}

void sql_session_close(struct sql_session *s)
{
    if (!s)
        return;
    duckdb_destroy_prepare(&s->parser);
    duckdb_disconnect(&s->connection);
    duckdb_close(&s->database);
    sql_views_close(&s->views);
    sql_stores_free(s->stores);
    mem_free(s);
}
