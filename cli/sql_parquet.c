/* Statements that write and read files of Parquet: DuckDB does both. A
 * statement runs in a task and lends its batches to the reader one at a time,
 * so that a large file needs the memory of one batch. */
#include "cli/sql_parquet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry.h"
#include "bigtable/sql/sql_batch.h"
#include "bigtable/sql/sql_lexer.h"
#include "bigtable/sql/sql_session.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/sql_library.h"

#define FAMILY_BYTES 128

static int parquet_store(void *ctx, struct quarry **out, struct err *err)
{
    return cli_store(ctx, CLI_READ, out, err);
}

static int
open_session(struct cli *cli, struct sql_session **out, struct err *e)
{
    struct buf path = BUF_INIT;
    struct sql_session_options opts = {
        .store = parquet_store, .writable = parquet_store, .ctx = cli};
    int rc;
    PRE(cli);
    sql_library_find(&path);
    opts.library = buf_cstr(&path);
    rc = sql_session_open(&opts, out, NULL, e);
    if (rc)
        err_wrap(e, "Parquet needs DuckDB");
    buf_close(&path);
    return rc;
}

/* --- writing ------------------------------------------------------------- */

/* Bytes as a constant: '\x61…'::BLOB. */
static void put_blob(struct buf *out, struct slice s)
{
    buf_append_byte(out, '\'');
    for (size_t i = 0; i < s.len; i++)
        buf_printf(out, "\\x%02X", (unsigned char)s.data[i]);
    buf_append_str(out, "'::BLOB");
}

static void put_keys(struct buf *out, const struct quarry_read_options *o)
{
    buf_append_str(out, ", keys := [");
    for (size_t i = 0; i < o->key_count; i++) {
        buf_append_str(out, i ? ", " : "");
        put_blob(out, o->keys[i]);
    }
    buf_append_byte(out, ']');
}

static void put_cells_options(struct buf *out,
                              const struct quarry_read_options *o)
{
    if (o->range_count && o->ranges[0].start.len) {
        buf_append_str(out, ", key_from := ");
        put_blob(out, o->ranges[0].start);
    }
    if (o->range_count && o->ranges[0].end.len) {
        buf_append_str(out, ", key_to := ");
        put_blob(out, o->ranges[0].end);
    }
    if (o->key_count)
        put_keys(out, o);
    for (size_t i = 0; i < o->family_count; i++) {
        buf_append_str(out, i ? ", " : ", families := [");
        sql_put_string(out, slice_str(o->families[i]));
    }
    buf_append_str(out, o->family_count ? "]" : "");
    if (o->column_regex) {
        buf_append_str(out, ", column_regex := ");
        sql_put_string(out, slice_str(o->column_regex));
    }
    if (o->versions)
        buf_printf(out, ", versions := %" PRIu32, o->versions);
    if (o->time_min_us)
        buf_printf(out, ", time_from := make_timestamp(%" PRId64 ")",
                   o->time_min_us);
    if (o->time_max_us)
        buf_printf(out, ", time_to := make_timestamp(%" PRId64 ")",
                   o->time_max_us);
    if (o->row_limit)
        buf_printf(out, ", row_limit := %" PRIu64, o->row_limit);
}

static int check_options(const struct quarry_read_options *o, struct err *err)
{
    if (o->range_count <= 1 && !(o->range_count && o->key_count) &&
        !o->filter && !o->program_len)
        return ERR_OK;
    err_set(err, ERR_UNSUPPORTED,
            "export: Parquet takes one range or single keys, families, "
            "columns, versions and times");
    err_hint(err, "quarry sql has all conditions: COPY (SELECT …) TO "
                  "'x.parquet'");
    return ERR_UNSUPPORTED;
}

int sql_parquet_write(struct cli *cli,
                      const char *table,
                      const struct quarry_read_options *opts,
                      const char *path,
                      uint64_t *cells,
                      struct err *err)
{
    struct sql_session *session;
    struct buf text = BUF_INIT;
    const struct sql_sink sink = {.ctx = NULL};
    int rc = check_options(opts, err);
    if (!rc)
        rc = open_session(cli, &session, err);
    if (rc)
        return rc;
    buf_append_str(&text, "COPY (SELECT key AS \"row\", family, qualifier, "
                          "epoch_us(timestamp) AS timestamp_us, value "
                          "FROM quarry_cells(");
    sql_put_string(&text, slice_str(table));
    buf_append_str(&text, ", binary := true");
    put_cells_options(&text, opts);
    buf_append_str(&text, ")) TO ");
    sql_put_string(&text, slice_str(path));
    buf_append_str(&text, " (FORMAT parquet, COMPRESSION zstd)");
    rc = sql_session_run(session, buf_slice(&text), &sink, cells, err);
    sql_session_close(session);
    buf_close(&text);
    if (!rc && interrupted())
        rc = err_set(err, ERR_CANCELLED, "export: interrupted");
    return rc;
}

/* --- reading: the statement ---------------------------------------------- */

/* Columns of a file, as DESCRIBE tells them. */
struct columns {
    char **names;
    bool *is_bytes;
    size_t count;
};

static int
take_columns(void *ctx, const struct sql_batch *batch, struct err *err)
{
    struct columns *c = ctx;
    size_t more = sql_batch_row_count(batch);
    (void)err;
    c->names = mem_realloc(c->names, (c->count + more) * sizeof(char *));
    c->is_bytes =
        mem_realloc(c->is_bytes, (c->count + more) * sizeof(*c->is_bytes));
    for (size_t i = 0; i < more; i++) {
        struct buf name = BUF_INIT;
        struct buf type = BUF_INIT;
        sql_batch_text(batch, 0, i, &name);
        sql_batch_text(batch, 1, i, &type);
        c->is_bytes[c->count] = slice_eq_str(buf_slice(&type), "BLOB");
        c->names[c->count++] = buf_take(&name);
        buf_close(&type);
    }
    return ERR_OK;
}

static void columns_close(struct columns *c)
{
    for (size_t i = 0; i < c->count; i++)
        mem_free(c->names[i]);
    mem_free(c->names);
    mem_free(c->is_bytes);
}

static bool has_column(const struct columns *c, const char *name, size_t *at)
{
    for (*at = 0; *at < c->count; (*at)++)
        if (strcmp(c->names[*at], name) == 0)
            return true;
    return false;
}

static bool is_export(const struct columns *c)
{
    static const char *const names[] = {"row", "family", "qualifier",
                                        "timestamp_us", "value"};
    size_t at;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!has_column(c, names[i], &at))
            return false;
    return true;
}

static void put_from(struct buf *out, const char *path)
{
    buf_append_str(out, " FROM read_parquet(");
    sql_put_string(out, slice_str(path));
    buf_append_byte(out, ')');
}

/* Column @i as bytes. */
static void put_bytes(struct buf *out, const struct columns *c, size_t i)
{
    buf_append_str(out, c->is_bytes[i] ? "" : "encode(CAST(");
    sql_put_name(out, c->names[i]);
    buf_append_str(out, c->is_bytes[i] ? "" : " AS VARCHAR))");
}

static int no_column(const char *option, const char *name, struct err *err)
{
    err_set(err, ERR_INVALID, "--%s: the file has no column \"%s\"", option,
            name);
    return ERR_INVALID;
}

/* SELECT of the cells of @path: row, family, qualifier, time, value. */
static int put_select(struct buf *out,
                      const struct columns *c,
                      const struct sql_parquet_columns *how,
                      const char *path,
                      struct err *err)
{
    size_t key = 0;
    size_t time = SIZE_MAX;
    if (is_export(c) && !how->key) {
        buf_append_str(out, "SELECT \"row\", family, qualifier, "
                            "timestamp_us, value");
        put_from(out, path);
        return ERR_OK;
    }
    if (how->key && !has_column(c, how->key, &key))
        return no_column("key", how->key, err);
    if (how->time && !has_column(c, how->time, &time))
        return no_column("time", how->time, err);
    if (c->count < 2)
        return err_set(err, ERR_INVALID, "a file of one column has no cells");
    buf_append_str(out, "SELECT quarry_key, ");
    sql_put_string(out, slice_str(how->family));
    buf_append_str(out, ", quarry_name, quarry_time, quarry_value FROM "
                        "(UNPIVOT (SELECT ");
    put_bytes(out, c, key);
    buf_append_str(out, " AS quarry_key, ");
    if (how->time) {
        buf_append_str(out, "epoch_us(CAST(");
        sql_put_name(out, c->names[time]);
        buf_append_str(out, " AS TIMESTAMP)) AS quarry_time");
    } else {
        buf_append_str(out, "0::BIGINT AS quarry_time");
    }
    for (size_t i = 0; i < c->count; i++) {
        if (i == key)
            continue;
        buf_append_str(out, ", ");
        put_bytes(out, c, i);
        buf_append_str(out, " AS ");
        sql_put_name(out, c->names[i]);
    }
    put_from(out, path);
    buf_append_str(out, ") ON COLUMNS(* EXCLUDE (quarry_key, quarry_time)) "
                        "INTO NAME quarry_name VALUE quarry_value)");
    return ERR_OK;
}

/* --- reading: rows of a statement ---------------------------------------- */

/* A statement runs in a task; its batches are lent to the reader, one at a
 * time.
 *
 * INV-1: the task waits while `batch` is set. */
struct parquet_reader {
    const struct sql_parquet_columns *how;
    char *path; /* Owned. */
    struct task *task;
    struct mutex lock; /* Of what follows. */
    struct cond changed;
    const struct sql_batch *batch; /* Lent to the reader; NULL: none. */
    bool leaving;                  /* The reader wants no more. */
    bool done;
    struct err err; /* Of the statement, if it failed. */

    size_t next_row; /* Of the batch. The reader's own, as all below. */
    struct buf texts[5];
    char family[FAMILY_BYTES];
};

/* The sink of the statement: lend the batch until all of it was read. */
static int lend_batch(void *ctx, const struct sql_batch *batch, struct err *err)
{
    struct parquet_reader *r = ctx;
    bool leaving;
    mutex_lock(&r->lock);
    r->batch = batch;
    cond_signal(&r->changed);
    while (r->batch && !r->leaving)
        cond_wait(&r->changed, &r->lock);
    leaving = r->leaving;
    r->batch = NULL;
    mutex_unlock(&r->lock);
    return leaving ? err_set(err, ERR_CANCELLED, "not read further") : ERR_OK;
}

static int read_file(struct parquet_reader *r, struct err *err)
{
    struct sql_session *session;
    struct columns c = {.names = NULL};
    struct buf text = BUF_INIT;
    const struct sql_sink names = {.ctx = &c, .rows = take_columns};
    const struct sql_sink rows = {.ctx = r, .rows = lend_batch};
    int rc = open_session(r->how->cli, &session, err);
    if (rc)
        return rc;
    buf_append_str(&text, "SELECT column_name, column_type FROM (DESCRIBE "
                          "SELECT *");
    put_from(&text, r->path);
    buf_append_byte(&text, ')');
    rc = sql_session_run(session, buf_slice(&text), &names, NULL, err);
    buf_clear(&text);
    if (!rc)
        rc = put_select(&text, &c, r->how, r->path, err);
    if (!rc)
        rc = sql_session_run(session, buf_slice(&text), &rows, NULL, err);
    sql_session_close(session);
    columns_close(&c);
    buf_close(&text);
    return rc;
}

static void run_statement(void *arg)
{
    struct parquet_reader *r = arg;
    struct err err = ERR_INIT;
    int rc = read_file(r, &err);
    mutex_lock(&r->lock);
    if (rc)
        err_copy(&r->err, &err);
    r->done = true;
    cond_signal(&r->changed);
    mutex_unlock(&r->lock);
}

/* Wait for a batch with rows to read; false: there are no more. */
static bool await_rows(struct parquet_reader *r)
{
    bool have;
    mutex_lock(&r->lock);
    if (r->batch && r->next_row == sql_batch_row_count(r->batch)) {
        r->batch = NULL;
        cond_signal(&r->changed);
    }
    while (!r->done && !r->batch) {
        r->next_row = 0;
        cond_wait(&r->changed, &r->lock);
    }
    have = r->batch != NULL;
    mutex_unlock(&r->lock);
    return have;
}

static struct slice
bytes_of(struct parquet_reader *r, size_t column, size_t row)
{
    struct slice s;
    if (sql_batch_bytes(r->batch, column, row, &s))
        return s;
    buf_clear(&r->texts[column]);
    sql_batch_text(r->batch, column, row, &r->texts[column]);
    return buf_slice(&r->texts[column]);
}

static int parquet_next(void *reader,
                        struct quarry_bulk_cell *cell,
                        bool *more,
                        struct err *err)
{
    struct parquet_reader *r = reader;
    struct slice family;
    size_t row;
    do
        *more = await_rows(r);
    while (*more && sql_batch_row_count(r->batch) == 0);
    if (!*more)
        return err_copy(err, &r->err);
    row = r->next_row++;
    family = bytes_of(r, 1, row);
    if (family.len == 0 || family.len >= sizeof(r->family) ||
        memchr(family.data, '\0', family.len))
        return err_set(err, ERR_INVALID, "its family has no possible name");
    memcpy(r->family, family.data, family.len);
    r->family[family.len] = '\0';
    cell->row = bytes_of(r, 0, row);
    cell->family = r->family;
    cell->qualifier = bytes_of(r, 2, row);
    cell->value = bytes_of(r, 4, row);
    if (text_parse_i64(bytes_of(r, 3, row), &cell->timestamp_us, NULL))
        return err_set(err, ERR_INVALID, "its time is no number of µs");
    return ERR_OK;
}

static void parquet_close(void *reader)
{
    struct parquet_reader *r = reader;
    mutex_lock(&r->lock);
    r->leaving = true;
    cond_signal(&r->changed);
    mutex_unlock(&r->lock);
    task_join(r->task);
    for (size_t i = 0; i < ARRAY_LEN(r->texts); i++)
        buf_close(&r->texts[i]);
    cond_close(&r->changed);
    mutex_close(&r->lock);
    mem_free(r->path);
    mem_free(r);
}

static int
parquet_open(void *ctx, const char *path, void **reader, struct err *err)
{
    struct sql_parquet_columns *how = ctx;
    struct parquet_reader *r = mem_zalloc(1, sizeof(*r));
    (void)err;
    r->how = how;
    r->path = mem_strdup(path);
    mutex_init(&r->lock);
    cond_init(&r->changed);
    r->task = task_start(how->cli->world, "parquet", run_statement, r);
    *reader = r;
    return ERR_OK;
}

struct ingest_cell_source
sql_parquet_source(struct sql_parquet_columns *columns)
{
    PRE(columns->cli);
    return (struct ingest_cell_source){.ctx = columns,
                                       .open = parquet_open,
                                       .next = parquet_next,
                                       .close = parquet_close};
}
