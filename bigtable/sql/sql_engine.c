/* Lanes, and the queries that run on them. DuckDB reports failures in
 * texts; two become codes again here: that of a scan, as the scan had it, and
 * memory that ran out.
 */
#include "bigtable/sql/sql_engine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/googlesql/gsql_engine.h"
#include "bigtable/googlesql/gsql_translate.h"
#include "bigtable/quarry.h"
#include "bigtable/sql/duckdb_api.h"
#include "bigtable/sql/duckdb_load.h"
#include "bigtable/sql/sql_batch_of.h"
#include "bigtable/sql/sql_functions.h"
#include "bigtable/sql/sql_stores.h"
#include "bigtable/sql/sql_streaming.h"
#include "bigtable/sql/sql_values.h"

#define MEMORY_DEFAULT (UINT64_C(256) << 20)
#define THREADS_MAX    4U

struct sql_lane {
    struct sql_lane *next;
    struct sql_stores *stores; /* Owned. */
    struct quarry *q;          /* Of the query; NULL: there is none. */
    duckdb_database database;
};

struct sql_engine {
    struct gsql_engine ops; /* Its context is this. */
    char *library;
    uint64_t memory_bytes;
    unsigned threads;
    struct mutex lock; /* Of the list, and of loading. */
    struct sql_lane *idle;
};

struct gsql_rows {
    struct sql_engine *engine; /* Borrowed. */
    struct sql_lane *lane;     /* NULL: not begun. */
    const struct gsql_result *result;
    struct mutex lock;            /* Of the next, for interrupt(). */
    duckdb_connection connection; /* NULL: there is none. */
    atomic_bool interrupted;
    duckdb_prepared_statement statement;
    duckdb_pending_result pending;
    duckdb_result rows;
    bool has_rows;
    duckdb_data_chunk chunk; /* NULL: none at hand. */
    struct sql_batch batch;  /* Of it. */
    size_t at;               /* The next row of it. */
};

/* --- lanes --------------------------------------------------------------- */

static int lane_store(void *ctx, struct quarry **out, struct err *err)
{
    struct sql_lane *lane = ctx;
    (void)err;
    PRE(lane->q);
    *out = lane->q;
    return 0;
}

static void free_lane(struct sql_lane *lane)
{
    duckdb_close(&lane->database);
    sql_stores_free(lane->stores);
    mem_free(lane);
}

static unsigned thread_count(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : MIN_OF((unsigned)n, THREADS_MAX);
}

static int set_config(duckdb_config c,
                      const char *name,
                      const char *value,
                      struct err *err)
{
    if (duckdb_set_config(c, name, value) == DuckDBSuccess)
        return 0;
    return err_set(err, ERR_UNSUPPORTED, "DuckDB does not know the setting %s",
                   name);
}

/* Nothing outside of the tables, and bounded. */
static int
open_database(const struct sql_engine *e, duckdb_database *out, struct err *err)
{
    static const char *const fixed[][2] = {
        {"temp_directory", ""},
        {"enable_external_access", "false"},
        {"autoload_known_extensions", "false"},
        {"autoinstall_known_extensions", "false"},
        {"lock_configuration", "true"},
    };
    char threads[16], memory[32];
    duckdb_config config;
    char *why = NULL;
    int rc;
    if (duckdb_create_config(&config) != DuckDBSuccess)
        return err_set(err, ERR_NOMEM, "DuckDB does not start");
    snprintf(threads, sizeof(threads), "%u", e->threads);
    snprintf(memory, sizeof(memory), "%lluB",
             (unsigned long long)e->memory_bytes);
    rc = set_config(config, "threads", threads, err);
    if (rc == 0)
        rc = set_config(config, "memory_limit", memory, err);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(fixed); i++)
        rc = set_config(config, fixed[i][0], fixed[i][1], err);
    if (rc == 0 && duckdb_open_ext(NULL, out, config, &why) != DuckDBSuccess)
        rc = err_set(err, ERR_NOMEM, "DuckDB does not start: %s",
                     why ? why : "");
    if (why)
        duckdb_free(why);
    duckdb_destroy_config(&config);
    return rc;
}

static int
new_lane(const struct sql_engine *e, struct sql_lane **out, struct err *err)
{
    struct sql_lane *lane = mem_zalloc(1, sizeof(*lane));
    duckdb_connection c = NULL;
    int rc;
    lane->stores = sql_stores_new(lane_store, lane);
    rc = open_database(e, &lane->database, err);
    if (rc == 0 && duckdb_connect(lane->database, &c) != DuckDBSuccess)
        rc = err_set(err, ERR_NOMEM, "DuckDB does not start");
    if (rc == 0)
        rc = sql_functions_register(c, lane->stores, false, err);
    duckdb_disconnect(&c);
    if (rc)
        free_lane(lane);
    else
        *out = lane;
    return rc;
}

static int
take_lane(struct sql_engine *e, struct sql_lane **out, struct err *err)
{
    mutex_lock(&e->lock);
    *out = e->idle;
    if (*out)
        e->idle = (*out)->next;
    mutex_unlock(&e->lock);
    return *out ? 0 : new_lane(e, out, err);
}

static void give_lane(struct sql_engine *e, struct sql_lane *lane)
{
    lane->q = NULL; /* INV-2 */
    (void)sql_stores_take_failure(lane->stores, NULL);
    mutex_lock(&e->lock);
    lane->next = e->idle;
    e->idle = lane;
    mutex_unlock(&e->lock);
}

/* --- queries ------------------------------------------------------------- */

static int engine_ready(void *ctx, struct err *err)
{
    struct sql_engine *e = ctx;
    int rc;
    mutex_lock(&e->lock);
    rc = duckdb_load(e->library, err);
    mutex_unlock(&e->lock);
    return rc;
}

static struct gsql_rows *engine_open(void *ctx)
{
    struct gsql_rows *r = mem_zalloc(1, sizeof(*r));
    r->engine = ctx;
    mutex_init(&r->lock);
    return r;
}

/* The failure about which DuckDB says @text. */
static int
sql_engine_fail(struct gsql_rows *r, const char *text, struct err *err)
{
    static const char memory[] = "Out of Memory Error";
    int rc;
    if (atomic_load(&r->interrupted))
        return err_set(err, ERR_CANCELLED, "the query was interrupted");
    rc = sql_stores_take_failure(r->lane->stores, err);
    if (rc)
        return rc;
    if (text && strncmp(text, memory, sizeof(memory) - 1) == 0) {
        err_set(err, ERR_EXHAUSTED, "the query needs more than %llu MiB",
                (unsigned long long)(r->engine->memory_bytes >> 20));
        err_hint(err, "select less, or let the server's query-memory be more");
        return ERR_EXHAUSTED;
    }
    return err_set(err, ERR_INVALID, "%s",
                   text ? text : "DuckDB failed without a message");
}

static int connect_lane(struct gsql_rows *r, struct err *err)
{
    duckdb_connection c = NULL;
    if (duckdb_connect(r->lane->database, &c) != DuckDBSuccess)
        return err_set(err, ERR_NOMEM, "DuckDB does not start");
    mutex_lock(&r->lock);
    r->connection = c;
    mutex_unlock(&r->lock);
    return 0;
}

static int
sql_engine_execute(struct gsql_rows *r, struct slice sql, struct err *err)
{
    struct buf text = BUF_INIT;
    duckdb_state state;
    buf_append_slice(&text, sql);
    state = duckdb_prepare(r->connection, buf_cstr(&text), &r->statement);
    buf_close(&text);
    if (state != DuckDBSuccess)
        return sql_engine_fail(r, duckdb_prepare_error(r->statement), err);
    if (sql_streaming(r->statement, &r->pending) != DuckDBSuccess)
        return sql_engine_fail(r, duckdb_pending_error(r->pending), err);
    r->has_rows = true;
    if (duckdb_execute_pending(r->pending, &r->rows) != DuckDBSuccess)
        return sql_engine_fail(r, duckdb_result_error(&r->rows), err);
    return 0;
}

static int engine_begin(struct gsql_rows *r,
                        struct quarry *q,
                        struct slice sql,
                        const struct gsql_result *result,
                        struct err *err)
{
    int rc = engine_ready(r->engine, err);
    PRE(!r->lane && q);
    if (rc == 0)
        rc = take_lane(r->engine, &r->lane, err);
    if (rc)
        return rc;
    r->lane->q = q;
    r->result = result;
    rc = connect_lane(r, err);
    return rc ? rc : sql_engine_execute(r, sql, err);
}

/* --- rows ---------------------------------------------------------------- */

static void drop_chunk(struct gsql_rows *r)
{
    if (!r->chunk)
        return;
    sql_batch_close(&r->batch);
    duckdb_destroy_data_chunk(&r->chunk);
    r->chunk = NULL;
}

/* Let there be a chunk with a row at r->at; without one the rows have ended. */
static int next_chunk(struct gsql_rows *r, struct err *err)
{
    while (!r->chunk || r->at == r->batch.row_count) {
        const char *why;
        drop_chunk(r);
        if (atomic_load(&r->interrupted))
            return sql_engine_fail(r, NULL, err);
        r->at = 0;
        r->chunk = duckdb_fetch_chunk(r->rows);
        if (!r->chunk) {
            why = duckdb_result_error(&r->rows);
            return why ? sql_engine_fail(r, why, err) : 0;
        }
        sql_batch_open(&r->batch, r->chunk);
    }
    return 0;
}

static int engine_next(struct gsql_rows *r,
                       const struct gsql_sink *sink,
                       bool *found,
                       struct slice *key,
                       struct err *err)
{
    const size_t count = r->result->column_count;
    int rc = next_chunk(r, err);
    *found = rc == 0 && r->chunk;
    if (!*found)
        return rc;
    INVARIANT(r->batch.column_count == count + r->result->is_keyed);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = sql_values_put(&r->batch.columns[i], r->at,
                            r->result->columns[i].type, sink, err);
    if (r->result->is_keyed)
        (void)sql_batch_bytes(&r->batch, count, r->at, key);
    r->at++;
    return rc;
}

static void engine_interrupt(struct gsql_rows *r)
{
    atomic_store(&r->interrupted, true);
    mutex_lock(&r->lock);
    if (r->connection)
        duckdb_interrupt(r->connection);
    mutex_unlock(&r->lock);
}

static void engine_end(struct gsql_rows *r)
{
    if (!r)
        return;
    engine_interrupt(r); /* The rest need not be computed. */
    drop_chunk(r);
    if (r->has_rows)
        duckdb_destroy_result(&r->rows);
    if (r->pending)
        duckdb_destroy_pending(&r->pending);
    if (r->statement)
        duckdb_destroy_prepare(&r->statement);
    if (r->connection)
        duckdb_disconnect(&r->connection);
    if (r->lane)
        give_lane(r->engine, r->lane);
    mutex_close(&r->lock);
    mem_free(r);
}

/* --- the engine ---------------------------------------------------------- */

struct gsql_engine *sql_engine_new(const struct sql_engine_options *opts)
{
    struct sql_engine *e = mem_zalloc(1, sizeof(*e));
    PRE(opts->library);
    e->ops = (struct gsql_engine){.ctx = e,
                                  .ready = engine_ready,
                                  .open = engine_open,
                                  .begin = engine_begin,
                                  .next = engine_next,
                                  .interrupt = engine_interrupt,
                                  .end = engine_end};
    e->library = mem_strdup(opts->library);
    e->memory_bytes = opts->memory_bytes ? opts->memory_bytes : MEMORY_DEFAULT;
    e->threads = opts->threads ? opts->threads : thread_count();
    mutex_init(&e->lock);
    return &e->ops;
}

void sql_engine_free(struct gsql_engine *engine)
{
    struct sql_engine *e = engine ? engine->ctx : NULL;
    if (!e)
        return;
    while (e->idle) {
        struct sql_lane *lane = e->idle;
        e->idle = lane->next;
        free_lane(lane);
    }
    mutex_close(&e->lock);
    mem_free(e->library);
    mem_free(e);
}
