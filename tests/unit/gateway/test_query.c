/* PrepareQuery and ExecuteQuery with an engine of the test: what is asked of
 * it, what clients get, resumes, expiry and cancellation. */
#include <stdatomic.h>

#include "base/core/crc32c.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/googlesql/gsql_engine.h"
#include "bigtable/googlesql/gsql_translate.h"
#include "tests/unit/gateway/fixture.h"

#define PREPARE DATA "PrepareQuery"
#define EXECUTE DATA "ExecuteQuery"
/* Rows of the engine: some batches of a quarter of a MiB. */
#define ROWS        300
#define VALUE_BYTES 4096

/* --- An engine ----------------------------------------------------------- */

/* Its result has the keys 000, 001, …; the second column, if there is one, is
 * VALUE_BYTES long. */
struct gsql_rows {
    const struct gsql_result *result;
    unsigned next;
    char key[16];
    atomic_bool interrupted;
};

static int engine_rc;       /* Of ready(). */
static bool engine_hangs;   /* next() ends when it is interrupted. */
static unsigned open_count; /* Queries. */

static int fake_ready(void *ctx, struct err *err)
{
    (void)ctx;
    return engine_rc ? err_set(err, engine_rc, "no library") : 0;
}

static struct gsql_rows *fake_open(void *ctx)
{
    struct gsql_rows *r = mem_zalloc(1, sizeof(*r));
    (void)ctx;
    open_count++;
    return r;
}

/* key_from := ('\x30\x30\x31\x00'::BLOB): behind 001. */
static int fake_begin(struct gsql_rows *r,
                      struct quarry *q,
                      struct slice sql,
                      const struct gsql_result *result,
                      struct err *err)
{
    char *text = mem_strndup(sql.data, sql.len);
    const char *from = strstr(text, "key_from := ('");
    (void)q;
    (void)err;
    r->result = result;
    if (from) {
        unsigned a, b, c;
        ck_assert_int_eq(sscanf(from + 14, "\\x%x\\x%x\\x%x", &a, &b, &c), 3);
        r->next = (a - '0') * 100 + (b - '0') * 10 + (c - '0') + 1;
    }
    mem_free(text);
    return 0;
}

static int fake_next(struct gsql_rows *r,
                     const struct gsql_sink *sink,
                     bool *found,
                     struct slice *key,
                     struct err *err)
{
    char value[VALUE_BYTES];
    while (engine_hangs && !r->interrupted)
        world_sleep_us(world, 1000);
    if (r->interrupted)
        return err_set(err, ERR_CANCELLED, "interrupted");
    *found = r->next < ROWS;
    if (!*found)
        return 0;
    snprintf(r->key, sizeof(r->key), "%03u", r->next++);
    *key = slice_str(r->key);
    sink->bytes(sink->ctx, GSQL_BYTES, *key);
    memset(value, 'v', sizeof(value));
    if (r->result->column_count > 1)
        sink->bytes(sink->ctx, GSQL_BYTES, slice_make(value, sizeof(value)));
    return 0;
}

static void fake_interrupt(struct gsql_rows *r)
{
    atomic_store(&r->interrupted, true);
}

static void fake_end(struct gsql_rows *r)
{
    open_count--;
    mem_free(r);
}

static struct gsql_engine engine = {.ready = fake_ready,
                                    .open = fake_open,
                                    .begin = fake_begin,
                                    .next = fake_next,
                                    .interrupt = fake_interrupt,
                                    .end = fake_end};

/* --- Fixture ------------------------------------------------------------- */

static void open_with(struct gsql_engine *e)
{
    const struct gateway_options g = {
        .address = "gateway:80", .engine = e, .queries = 1};
    const struct quarry_options o = {.world = world, .background_tasks = 1};
    ck_assert_int_eq(quarry_open("file:/q", &o, &quarry, NULL), 0);
    ck_assert_int_eq(gateway_open(world, quarry, &g, &gateway, NULL), 0);
    client = (struct grpc_client){.stream = 0};
    grpc_client_open(&client, gateway_address(gateway));
    engine_rc = 0;
    engine_hangs = false;
}

/* --- Helpers ------------------------------------------------------------- */

static int prepare(const char *query)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, PB_PrepareQueryRequest_instance_name, SLICE_LIT(INSTANCE));
    pb_put_bytes(&b, PB_PrepareQueryRequest_query, slice_str(query));
    return call(PREPARE, &b);
}

/* The token of @query. Owned. */
static struct buf prepared(const char *query)
{
    struct buf token = BUF_INIT;
    struct slice message;
    size_t at = 0;
    ck_assert_int_eq(prepare(query), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    buf_append_slice(&token,
                     pb_find(message, PB_PrepareQueryResponse_prepared_query));
    return token;
}

static int execute(const struct buf *token, struct slice resume)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, PB_ExecuteQueryRequest_instance_name, SLICE_LIT(INSTANCE));
    pb_put_bytes(&b, PB_ExecuteQueryRequest_prepared_query, buf_slice(token));
    if (resume.len)
        pb_put_bytes(&b, PB_ExecuteQueryRequest_resume_token, resume);
    return call(EXECUTE, &b);
}

/* The rows and tokens of a reply, as a client puts them together. */
struct answer {
    unsigned first; /* Rows are keys in a row from here, */
    unsigned count;
    unsigned columns;
    size_t token_count;

    struct {
        struct buf token;
        unsigned count; /* Rows up to it. */
    } tokens[20];
};

static void take_rows(struct answer *a, struct slice batch)
{
    struct cursor c = cursor_make(batch);
    struct pb_field f;
    unsigned values = 0;
    while (pb_next(&c, &f)) {
        struct slice v = pb_find(f.bytes, PB_Value_bytes_value);
        char key[16];
        if (values++ % a->columns)
            continue;
        snprintf(key, sizeof(key), "%03u", a->first + a->count++);
        ck_assert(slice_eq_str(v, key));
    }
    ck_assert(!c.bad && values % a->columns == 0);
}

static struct answer take_answer(unsigned first, unsigned columns)
{
    struct answer a = {.first = first, .columns = columns};
    struct buf batch = BUF_INIT;
    struct slice message;
    size_t at = 0;
    bool is_first = true;
    ck_assert_int_eq(reply.code, GRPC_OK);
    while (grpc_reply_next(&reply, &at, &message)) {
        struct slice r = pb_find(message, PB_ExecuteQueryResponse_results);
        struct slice token = pb_find(r, PB_PartialResultSet_resume_token);
        ck_assert_int_eq(pb_find_integer(r, PB_PartialResultSet_reset) != 0,
                         is_first);
        is_first = false;
        buf_append_slice(
            &batch, pb_find(pb_find(r, PB_PartialResultSet_proto_rows_batch),
                            PB_ProtoRowsBatch_batch_data));
        if (pb_has_field(r, PB_PartialResultSet_batch_checksum)) {
            ck_assert_uint_eq(
                pb_find_integer(r, PB_PartialResultSet_batch_checksum),
                crc32c(batch.data, batch.len));
            take_rows(&a, buf_slice(&batch));
            buf_clear(&batch);
        }
        if (token.len == 0)
            continue;
        ck_assert_uint_eq(batch.len, 0);
        ck_assert_uint_lt(a.token_count, ARRAY_LEN(a.tokens));
        a.tokens[a.token_count].count = a.count;
        buf_append_slice(&a.tokens[a.token_count++].token, token);
    }
    buf_close(&batch);
    return a;
}

static void answer_close(struct answer *a)
{
    for (size_t i = 0; i < a->token_count; i++)
        buf_close(&a->tokens[i].token);
}

/* --- Tests --------------------------------------------------------------- */

static void run_refusals(void *arg)
{
    (void)arg;
    open_with(&engine);
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(prepare("SELECT * FROM none"), GRPC_INVALID_ARGUMENT);
    ck_assert(strstr(buf_cstr(&reply.text), "Table not found: none [at 1:15]"));
    ck_assert_int_eq(prepare("SELECT nothing FROM t"), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(prepare("SELECT @p"), GRPC_INVALID_ARGUMENT);
    engine_rc = ERR_NOTFOUND;
    ck_assert_int_eq(prepare("SELECT 1"), GRPC_FAILED_PRECONDITION);
    close_all();
    open_with(NULL);
    ck_assert_int_eq(prepare("SELECT 1"), GRPC_UNIMPLEMENTED);
    ck_assert(strstr(buf_cstr(&reply.text), "scripts/deps sql"));
    close_all();
}

START_TEST(test_refusals)
{
    /* Errors of a query come with their places; without an engine the
     * remedy is. */
    run(run_refusals);
}

END_TEST

static void run_resumes(void *arg)
{
    struct buf token;
    struct answer whole;
    (void)arg;
    open_with(&engine);
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    token = prepared("SELECT _key, f['x'] FROM t");
    ck_assert_int_eq(execute(&token, SLICE_EMPTY), GRPC_OK);
    whole = take_answer(0, 2);
    ck_assert_uint_eq(whole.count, ROWS);
    ck_assert_uint_ge(whole.token_count, 4);
    for (size_t i = 0; i < whole.token_count; i++) {
        struct answer rest;
        ck_assert_int_eq(execute(&token, buf_slice(&whole.tokens[i].token)),
                         GRPC_OK);
        rest = take_answer(whole.tokens[i].count, 2);
        ck_assert_uint_eq(whole.tokens[i].count + rest.count, ROWS);
        answer_close(&rest);
    }
    ck_assert_uint_eq(open_count, 0);
    answer_close(&whole);
    buf_close(&token);
    close_all();
}

START_TEST(test_resumes)
{
    /* Behind each token, the rows continue without loss or repetition. */
    run(run_resumes);
}

END_TEST

static void run_one_token(void *arg)
{
    struct buf token;
    struct answer a;
    (void)arg;
    open_with(&engine);
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    token = prepared("SELECT _key, f['x'] FROM t ORDER BY _key DESC");
    ck_assert_int_eq(execute(&token, SLICE_EMPTY), GRPC_OK);
    a = take_answer(0, 2);
    ck_assert_uint_eq(a.count, ROWS);
    ck_assert_uint_eq(a.token_count, 1);
    ck_assert_uint_eq(a.tokens[0].count, ROWS);
    answer_close(&a);
    buf_close(&token);
    close_all();
}

START_TEST(test_other_orders_have_one_token)
{
    /* Rows in another order are the client's at the end alone. */
    run(run_one_token);
}

END_TEST

static void run_expiry(void *arg)
{
    struct buf token;
    struct buf b = BUF_INIT;
    size_t entry;
    (void)arg;
    open_with(&engine);
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    token = prepared("SELECT _key FROM t");
    world_sleep_us(world, UINT64_C(3601000000));
    grpc_client_close(&client); /* It was idle for too long. */
    client = (struct grpc_client){.stream = 0};
    grpc_client_open(&client, gateway_address(gateway));
    ck_assert_int_eq(execute(&token, SLICE_EMPTY), GRPC_FAILED_PRECONDITION);
    ck_assert_str_ne(reply.details, "");
    buf_close(&token);
    token = prepared("SELECT _key FROM t");
    ck_assert_int_eq(execute(&token, SLICE_EMPTY), GRPC_OK);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    entry = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("more"));
    pb_put_bytes(&b, 2, SLICE_EMPTY);
    pb_close(&b, entry);
    ck_assert_int_eq(call(TABLES "ModifyColumnFamilies", &b), GRPC_OK);
    ck_assert_int_eq(execute(&token, SLICE_EMPTY), GRPC_FAILED_PRECONDITION);
    ck_assert_str_ne(reply.details, "");
    buf_close(&token);
    close_all();
}

START_TEST(test_expiry)
{
    /* A prepared query expires with its time, and with its table's families. */
    run(run_expiry);
}

END_TEST

static void run_cancelled(void *arg)
{
    struct buf token;
    (void)arg;
    open_with(&engine);
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    token = prepared("SELECT _key FROM t");
    engine_hangs = true;
    client.timeout = "200m";
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(execute(&token, SLICE_EMPTY), GRPC_DEADLINE_EXCEEDED);
    engine_hangs = false;
    client.timeout = NULL;
    ck_assert_int_eq(execute(&token, SLICE_EMPTY), GRPC_OK);
    ck_assert_uint_eq(open_count, 0);
    buf_close(&token);
    close_all();
}

START_TEST(test_cancelled)
{
    /* A query whose time is over is interrupted, and its place is free. */
    run(run_cancelled);
}

END_TEST

TEST_MAIN("query",
          test_refusals,
          test_resumes,
          test_other_orders_have_one_token,
          test_expiry,
          test_cancelled)
