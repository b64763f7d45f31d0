/* PrepareQuery and ExecuteQuery.
 *
 * A prepared query is its text with the types of its parameters: it is parsed
 * and translated each time it is executed, which takes less than a millisecond,
 * so nothing is kept here and any gateway executes it. It expires with its
 * time, and when the tables that it names change.
 *
 * Rows go out in batches. A batch of a keyed query, whose rows are a table's in
 * the order of their keys, ends with a resume token; the client gives its rows
 * to the program, and resumes behind them. Other queries have one token, at
 * their end: clients keep their rows until then, and begin again if the stream
 * breaks.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/crc32c.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/query_plan.h"
#include "bigtable/gateway/query_pool.h"
#include "bigtable/gateway/query_token.h"
#include "bigtable/gateway/query_value.h"
#include "bigtable/gateway/workers.h"
#include "bigtable/googlesql/gsql_engine.h"

/* How long a prepared query is valid. */
#define VALID_US INT64_C(3600000000)
/* Bytes of rows from which on a batch is sent, and the longest that rows wait
 * for others. */
#define BATCH_BYTES ((size_t)256 << 10)
#define BATCH_NS    UINT64_C(100000000)
/* Bytes of a batch in one message. */
#define PART_BYTES ((size_t)1 << 20)
/* Queries from this size on are not translated on the loop. */
#define LONG_QUERY_BYTES ((size_t)8 << 10)

/* --- both requests ------------------------------------------------------- */

struct query_request {
    struct slice instance;
    struct slice profile;
    struct slice text;
    struct slice prepared; /* These of ExecuteQuery. */
    struct slice resume;
    bool has_view_parameters;
};

STATIC_ASSERT((int)PB_PrepareQueryRequest_instance_name ==
                      (int)PB_ExecuteQueryRequest_instance_name &&
                  (int)PB_PrepareQueryRequest_app_profile_id ==
                      (int)PB_ExecuteQueryRequest_app_profile_id &&
                  (int)PB_PrepareQueryRequest_query ==
                      (int)PB_ExecuteQueryRequest_query,
              "the requests begin alike");

static int
parse_query(struct slice bytes, struct query_request *out, struct err *err)
{
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    memset(out, 0, sizeof(*out));
    out->instance = out->profile = out->text = SLICE_EMPTY;
    out->prepared = out->resume = SLICE_EMPTY;
    while (pb_next(&c, &f)) {
        if (pb_is_bytes(&f, PB_ExecuteQueryRequest_instance_name))
            out->instance = f.bytes;
        else if (pb_is_bytes(&f, PB_ExecuteQueryRequest_app_profile_id))
            out->profile = f.bytes;
        else if (pb_is_bytes(&f, PB_ExecuteQueryRequest_query))
            out->text = f.bytes;
        else if (pb_is_bytes(&f, PB_ExecuteQueryRequest_prepared_query))
            out->prepared = f.bytes;
        else if (pb_is_bytes(&f, PB_ExecuteQueryRequest_resume_token))
            out->resume = f.bytes;
        else if (pb_is_bytes(&f, PB_ExecuteQueryRequest_view_parameters))
            out->has_view_parameters = true;
    }
    return c.bad ? service_bad_request(err) : 0;
}

static int check_request(struct gateway *g,
                         struct grpc_call *call,
                         const struct query_request *r,
                         struct err *err)
{
    struct resource_name name;
    int rc = resource_name_parse_kind(r->instance, "", &name, err);
    if (rc == 0)
        rc = app_profile_check(g, r->instance, r->profile, APP_PROFILE_READ,
                               err);
    if (rc == 0 && r->has_view_parameters)
        rc = err_set(err, ERR_UNSUPPORTED, "view_parameters");
    return rc ? rc : query_engine_check(g, call, err);
}

/* --- translation --------------------------------------------------------- */

struct translation {
    struct gateway *gateway;
    struct query_plan *plan;
    const struct gsql_resume *resume;
    int rc;
    struct err *err;
};

static void run_translation(void *arg)
{
    struct translation *t = arg;
    t->rc = query_plan_translate(t->plan, t->gateway, t->resume, t->err);
}

static int data_query_translate(struct gateway *g,
                                struct query_plan *plan,
                                const struct gsql_resume *resume,
                                struct err *err)
{
    struct translation t = {
        .gateway = g, .plan = plan, .resume = resume, .err = err};
    if (plan->text.len >= LONG_QUERY_BYTES)
        workers_run(g->workers, run_translation, &t);
    else
        run_translation(&t);
    return t.rc;
}

/* --- PrepareQuery -------------------------------------------------------- */

static int answer_prepared(struct gateway *g,
                           struct grpc_call *call,
                           const struct query_plan *plan,
                           struct err *err)
{
    const int64_t until_us = service_now_us(g) + VALID_US;
    struct buf params = BUF_INIT, token = BUF_INIT;
    struct query_token t = {.until_us = until_us,
                            .schema = plan->schema,
                            .instance = plan->instance,
                            .text = plan->text};
    struct buf *b;
    pb_copy_fields(&params, grpc_request(call),
                   PB_PrepareQueryRequest_param_types, true);
    t.params = buf_slice(&params);
    query_token_put(&t, &token);
    b = grpc_scratch(call);
    query_plan_put_metadata(plan, PB_PrepareQueryResponse_metadata, b);
    pb_put_bytes(b, PB_PrepareQueryResponse_prepared_query, buf_slice(&token));
    service_put_time(b, PB_PrepareQueryResponse_valid_until, until_us);
    buf_close(&params);
    buf_close(&token);
    return grpc_send(call, b, err);
}

int data_prepare_query(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct query_request r;
    struct query_plan plan;
    int rc = parse_query(grpc_request(call), &r, err);
    if (rc == 0)
        rc = check_request(g, call, &r, err);
    if (rc)
        return rc;
    query_plan_init(&plan, r.instance, r.text);
    rc = query_plan_declare(&plan, grpc_request(call),
                            PB_PrepareQueryRequest_param_types, err);
    if (rc == 0)
        rc = data_query_translate(g, &plan, NULL, err);
    if (rc == 0)
        rc = answer_prepared(g, call, &plan, err);
    query_plan_close(&plan);
    return rc;
}

/* --- ExecuteQuery: what is asked ----------------------------------------- */

struct execution {
    struct gateway *gateway;
    struct grpc_call *call;
    struct query_request request;
    struct query_plan plan;
    uint64_t query;     /* Of resume tokens. */
    bool at_end;        /* The client has all rows. */
    uint64_t row_count; /* Delivered, with those before a resume. */
    struct buf sql;
    struct gsql_rows *rows;
    bool begun;
    bool ended;                 /* There are no more rows. */
    bool replied;               /* A PartialResultSet was sent. */
    struct query_writer writer; /* Into the batch. */
    struct buf batch;           /* A ProtoRows. */
    struct buf key;             /* Of its last row. */
    struct buf message;
    int rc; /* Of the piece. */
    struct err *err;
};

static int
data_query_expired(struct execution *x, const char *why, struct err *err)
{
    grpc_set_precondition(x->call, SLICE_LIT("PREPARED_QUERY_EXPIRED"),
                          x->request.instance, slice_str(why));
    return err_set(err, ERR_INVALID, "the prepared query has expired: %s", why);
}

/* Which query with which parameters and columns. Maps come in any order. */
static uint64_t name_query(const struct execution *x)
{
    struct cursor c = cursor_make(grpc_request(x->call));
    struct buf columns = BUF_INIT;
    struct pb_field f;
    uint64_t h = hash64_slice(x->plan.text);
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_ExecuteQueryRequest_params))
            h += hash_mix(hash64_slice(f.bytes));
    query_plan_put_metadata(&x->plan, 1, &columns);
    h = hash_mix(h ^ hash64_slice(buf_slice(&columns)));
    buf_close(&columns);
    return h;
}

/* Translate, and again from the place where the client's rows end. */
static int plan_rows(struct execution *x, struct err *err)
{
    struct query_place place;
    struct gsql_resume resume;
    int rc = 0;
    x->query = name_query(x);
    if (x->request.resume.len == 0)
        return 0;
    rc = query_place_get(x->request.resume, x->query, &place, err);
    if (rc)
        return rc;
    x->at_end = place.at_end;
    x->row_count = place.rows;
    resume = (struct gsql_resume){.after = place.key, .rows = place.rows};
    if (!x->at_end && !x->plan.result.is_keyed)
        return err_set(err, ERR_INVALID, "resume_token: of another query");
    return x->at_end ? 0
                     : data_query_translate(x->gateway, &x->plan, &resume, err);
}

static int plan_prepared(struct execution *x, struct err *err)
{
    const struct slice request = grpc_request(x->call);
    struct query_token t;
    int rc = query_token_get(x->request.prepared, &t, err);
    if (rc)
        return rc;
    if (!slice_eq(t.instance, x->request.instance))
        return err_set(err, ERR_INVALID,
                       "prepared_query: of another instance, %.*s",
                       SLICE_ARG(slice_sub(t.instance, 0, 200)));
    if (service_now_us(x->gateway) >= t.until_us)
        return data_query_expired(x, "its time is over", err);
    query_plan_init(&x->plan, t.instance, t.text);
    rc = query_plan_declare(&x->plan, t.params,
                            PB_PrepareQueryRequest_param_types, err);
    if (rc == 0)
        rc = query_plan_fill(&x->plan, request, PB_ExecuteQueryRequest_params,
                             false, err);
    if (rc)
        return rc;
    rc = data_query_translate(x->gateway, &x->plan, NULL, err);
    if ((rc == 0 || rc == ERR_INVALID) &&
        (x->plan.no_table || x->plan.schema != t.schema))
        return data_query_expired(x, "a table that it names has changed", err);
    return rc;
}

/* The older form: the query itself, whose answer begins with the metadata. */
static int plan_text(struct execution *x, struct err *err)
{
    int rc;
    query_plan_init(&x->plan, x->request.instance, x->request.text);
    rc = query_plan_fill(&x->plan, grpc_request(x->call),
                         PB_ExecuteQueryRequest_params, true, err);
    return rc ? rc : data_query_translate(x->gateway, &x->plan, NULL, err);
}

static int execution_plan(struct execution *x, struct err *err)
{
    const struct query_request *r = &x->request;
    int rc;
    if (r->prepared.len && r->text.len)
        return err_set(err, ERR_INVALID,
                       "either prepared_query or query, not both");
    rc = r->prepared.len ? plan_prepared(x, err) : plan_text(x, err);
    return rc ? rc : plan_rows(x, err);
}

/* --- ExecuteQuery: rows -------------------------------------------------- */

/* Take a row into the batch. */
static void take_row(struct execution *x)
{
    const struct gsql_engine *e = x->gateway->engine;
    const struct gsql_sink sink = query_writer_sink(&x->writer);
    struct slice key = SLICE_EMPTY;
    bool found;
    query_writer_begin(&x->writer);
    x->rc = e->next(x->rows, &sink, &found, &key, x->err);
    if (x->rc == 0 && x->writer.too_big)
        x->rc = err_set(x->err, ERR_EXHAUSTED,
                        "a row of the result has more than %zu MiB",
                        QUERY_ROW_BYTES_MAX >> 20);
    x->ended = x->rc == 0 && !found;
    if (x->rc || !found)
        return;
    x->row_count++;
    buf_clear(&x->key);
    buf_append_slice(&x->key, key);
}

/* On a thread of the pool: fill the batch. */
static void run_query_piece(void *arg)
{
    struct execution *x = arg;
    const struct gsql_engine *e = x->gateway->engine;
    const uint64_t begin_ns = world_mono_ns(x->gateway->world);
    if (!x->begun) {
        gsql_put_cast(&x->plan.result, &x->sql);
        x->rc = e->begin(x->rows, x->gateway->quarry, buf_slice(&x->sql),
                         &x->plan.result, x->err);
        x->begun = true;
    }
    while (x->rc == 0 && !x->ended && x->batch.len < BATCH_BYTES &&
           (x->batch.len == 0 ||
            world_mono_ns(x->gateway->world) - begin_ns < BATCH_NS))
        take_row(x);
}

static void interrupt_query(void *arg)
{
    struct execution *x = arg;
    x->gateway->engine->interrupt(x->rows);
}

/* The token behind the batch at hand; empty: it has none. */
static void put_token(const struct execution *x, struct buf *out)
{
    const struct query_place place = {.query = x->query,
                                      .at_end = x->ended,
                                      .rows = x->row_count,
                                      .key = x->ended ? SLICE_EMPTY
                                                      : buf_slice(&x->key)};
    if (x->ended || x->plan.result.is_keyed)
        query_place_put(&place, out);
}

/* Send @part of the batch; behind the last part comes @token. The field
 * estimated_batch_size stays unset: the client for Node.js (6.5) makes that
 * many empty elements of it, and fails on them. */
static int send_part(struct execution *x,
                     struct slice part,
                     bool last,
                     struct slice token,
                     struct err *err)
{
    struct buf *b = &x->message;
    const size_t results = pb_open(b, PB_ExecuteQueryResponse_results);
    if (x->batch.len) {
        const size_t rows = pb_open(b, PB_PartialResultSet_proto_rows_batch);
        pb_put_bytes(b, PB_ProtoRowsBatch_batch_data, part);
        pb_close(b, rows);
    }
    if (last && x->batch.len)
        pb_put_integer(b, PB_PartialResultSet_batch_checksum,
                       (int64_t)crc32c(x->batch.data, x->batch.len));
    if (last && token.len)
        pb_put_bytes(b, PB_PartialResultSet_resume_token, token);
    if (!x->replied)
        pb_put_integer(b, PB_PartialResultSet_reset, 1);
    pb_close(b, results);
    x->replied = true;
    return grpc_send(x->call, b, err);
}

/* A batch may be larger than a message should be. */
static int send_batch(struct execution *x, struct err *err)
{
    struct buf token = BUF_INIT;
    size_t at = 0;
    int rc;
    put_token(x, &token);
    do {
        const struct slice part =
            slice_sub(buf_slice(&x->batch), at, at + PART_BYTES);
        at += part.len;
        rc = send_part(x, part, at == x->batch.len, buf_slice(&token), err);
    } while (rc == 0 && at < x->batch.len);
    buf_close(&token);
    buf_clear(&x->batch);
    return rc;
}

static int run_query(struct execution *x, struct err *err)
{
    int rc = query_pool_enter(x->gateway->queries, err);
    if (rc)
        return rc;
    x->rows = x->gateway->engine->open(x->gateway->engine->ctx);
    x->err = err;
    x->writer.out = &x->batch;
    while (rc == 0 && !x->ended) {
        query_pool_run(x->gateway->queries, run_query_piece, interrupt_query,
                       x);
        rc = fiber_check(NULL) ? fiber_check(err) : x->rc;
        if (rc == 0)
            rc = send_batch(x, err);
    }
    return rc;
}

/* On a thread of the pool, too: what runs is ended, which may take a while. */
static void run_query_end(void *arg)
{
    struct execution *x = arg;
    x->gateway->engine->end(x->rows);
    x->rows = NULL;
}

static void close_execution(struct execution *x)
{
    if (x->rows) {
        query_pool_run(x->gateway->queries, run_query_end, NULL, x);
        query_pool_leave(x->gateway->queries);
    }
    query_plan_close(&x->plan);
    buf_close(&x->sql);
    buf_close(&x->batch);
    buf_close(&x->key);
    buf_close(&x->message);
}

static int send_metadata(struct execution *x, struct err *err)
{
    struct buf *b = grpc_scratch(x->call);
    query_plan_put_metadata(&x->plan, PB_ExecuteQueryResponse_metadata, b);
    return grpc_send(x->call, b, err);
}

int data_execute_query(void *ctx, struct grpc_call *call, struct err *err)
{
    struct execution x = {.gateway = ctx, .call = call};
    int rc = parse_query(grpc_request(call), &x.request, err);
    query_plan_init(&x.plan, SLICE_EMPTY, SLICE_EMPTY);
    grpc_message_begin(&x.message);
    if (rc == 0)
        rc = check_request(ctx, call, &x.request, err);
    if (rc == 0)
        rc = execution_plan(&x, err);
    if (rc == 0 && x.request.prepared.len == 0)
        rc = send_metadata(&x, err);
    x.ended = x.at_end;
    if (rc == 0)
        rc = x.ended ? send_batch(&x, err) : run_query(&x, err);
    close_execution(&x);
    return rc;
}
