/* ReadRows and SampleRowKeys of a materialized view, with an engine of the
 * test: which keys, cells and order a client gets for what a query delivers,
 * and what is asked of the engine. */
#include <stdatomic.h>

#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/view_key.h"
#include "bigtable/googlesql/gsql_engine.h"
#include "bigtable/googlesql/gsql_translate.h"
#include "tests/unit/gateway/fixture.h"

#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
#define VIEW      INSTANCE "/materializedViews/v"
#define COUNTS                                                                 \
    "SELECT _key, count(f['q']) AS `result.n`, max(f['q']) AS best FROM t "    \
    "GROUP BY _key"

/* --- An engine ----------------------------------------------------------- */

/* A row: a key ("-": NULL), a number, a text ("-": NULL). */
struct test_row {
    const char *key;
    int64_t number;
    const char *text;
};

struct gsql_rows {
    const struct gsql_result *result;
    size_t next;
    bool down;
    atomic_bool interrupted;
};

static const struct test_row *rows;
static size_t row_count;
static bool engine_hangs;
static int engine_rc; /* Of ready(). */
static unsigned open_count;
static char asked[4096]; /* Of the engine. */

static int fake_ready(void *ctx, struct err *err)
{
    (void)ctx;
    return engine_rc ? err_set(err, engine_rc, "no library") : 0;
}

static struct gsql_rows *fake_open(void *ctx)
{
    (void)ctx;
    open_count++;
    return mem_zalloc(1, sizeof(struct gsql_rows));
}

static int fake_begin(struct gsql_rows *r,
                      struct quarry *q,
                      struct slice sql,
                      const struct gsql_result *result,
                      struct err *err)
{
    (void)q;
    (void)err;
    snprintf(asked, sizeof(asked), "%.*s", SLICE_ARG(sql));
    r->result = result;
    r->down = strstr(asked, "ORDER BY 1 DESC") != NULL;
    return 0;
}

static void
give_text(const struct gsql_sink *sink, enum gsql_kind kind, const char *text)
{
    if (strcmp(text, "-") == 0)
        sink->null(sink->ctx);
    else
        sink->bytes(sink->ctx, kind, slice_str(text));
}

/* Texts are the key at first, and then the text. */
static int fake_next(struct gsql_rows *r,
                     const struct gsql_sink *sink,
                     bool *found,
                     struct slice *key,
                     struct err *err)
{
    const struct test_row *row;
    bool first = true;
    (void)key;
    while (engine_hangs && !r->interrupted)
        world_sleep_us(world, 1000);
    if (r->interrupted)
        return err_set(err, ERR_CANCELLED, "interrupted");
    *found = r->next < row_count;
    if (!*found)
        return 0;
    row = &rows[r->down ? row_count - 1 - r->next : r->next];
    r->next++;
    for (size_t i = 0; i < r->result->column_count; i++) {
        const enum gsql_kind kind = r->result->columns[i].type->kind;
        if (kind == GSQL_INT64) {
            sink->integer(sink->ctx, kind, row->number);
        } else if (kind == GSQL_FLOAT64) {
            sink->real(sink->ctx, (double)row->number);
        } else {
            give_text(sink, kind, first ? row->key : row->text);
            first = false;
        }
    }
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

static int create_view(const char *query)
{
    struct buf b = BUF_INIT;
    size_t view;
    pb_put_bytes(&b, PB_CreateMaterializedViewRequest_parent,
                 SLICE_LIT(INSTANCE));
    pb_put_bytes(&b, PB_CreateMaterializedViewRequest_materialized_view_id,
                 SLICE_LIT("v"));
    view = pb_open(&b, PB_CreateMaterializedViewRequest_materialized_view);
    pb_put_bytes(&b, PB_MaterializedView_query, slice_str(query));
    pb_close(&b, view);
    return call(INSTANCES "CreateMaterializedView", &b);
}

static void
open_view(const char *query, const struct test_row *list, size_t count)
{
    const struct gateway_options g = {
        .address = "gateway:80", .engine = &engine, .queries = 1};
    const struct quarry_options o = {.world = world, .background_tasks = 1};
    ck_assert_int_eq(quarry_open("file:/q", &o, &quarry, NULL), 0);
    ck_assert_int_eq(gateway_open(world, quarry, &g, &gateway, NULL), 0);
    client = (struct grpc_client){.stream = 0};
    grpc_client_open(&client, gateway_address(gateway));
    engine_rc = 0;
    engine_hangs = false;
    rows = list;
    row_count = count;
    *asked = '\0';
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    if (query)
        ck_assert_int_eq(create_view(query), GRPC_OK);
}

static struct buf view_request(void)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, PB_ReadRowsRequest_materialized_view_name,
                 SLICE_LIT(VIEW));
    return b;
}

static int read_view(struct buf *b)
{
    int code = call(DATA "ReadRows", b);
    ck_assert_uint_eq(open_count, 0);
    return code;
}

static void put_row_keys(struct buf *b, const char *key, const char *other)
{
    size_t set = pb_open(b, PB_ReadRowsRequest_rows);
    pb_put_bytes(b, PB_RowSet_row_keys, slice_str(key));
    pb_put_bytes(b, PB_RowSet_row_keys, slice_str(other));
    pb_close(b, set);
}

static void put_row_range(struct buf *b, const char *from, const char *to)
{
    size_t set = pb_open(b, PB_ReadRowsRequest_rows);
    size_t range = pb_open(b, PB_RowSet_row_ranges);
    pb_put_bytes(b, PB_RowRange_start_key_closed, slice_str(from));
    pb_put_bytes(b, PB_RowRange_end_key_open, slice_str(to));
    pb_close(b, range);
    pb_close(b, set);
}

/* --- Tests --------------------------------------------------------------- */

/* Numbers whose eight bytes print as themselves. */
#define EIGHT_A INT64_C(0x4141414141414141)
#define EIGHT_B INT64_C(0x4242424242424242)

static const struct test_row three[] = {{"a", EIGHT_A, "x"},
                                        {"b", EIGHT_B, "-"},
                                        {"c", EIGHT_A, "z"}};

#define ROW_A "a{default:@0= default:best@0=x result:n@0=AAAAAAAA}\n"
#define ROW_B "b{default:@0= result:n@0=BBBBBBBB}\n"
#define ROW_C "c{default:@0= default:best@0=z result:n@0=AAAAAAAA}\n"

static void run_rows(void *arg)
{
    struct buf b;
    (void)arg;
    open_view(COUNTS ";", three, ARRAY_LEN(three));
    b = view_request();
    ck_assert_int_eq(read_view(&b), GRPC_OK);
    expect_rows(ROW_A ROW_B ROW_C);
    ck_assert(strstr(asked, "ORDER BY 1 ASC"));
    b = view_request();
    pb_put_integer(&b, PB_ReadRowsRequest_reversed, 1);
    pb_put_integer(&b, PB_ReadRowsRequest_rows_limit, 2);
    ck_assert_int_eq(read_view(&b), GRPC_OK);
    expect_rows(ROW_C ROW_B);
    close_all();
}

START_TEST(test_rows)
{
    /* A row of the result is a row of the view: _key its key, other columns
     * its cells, NULLs none, with the mark "default:". */
    run(run_rows);
}

END_TEST

static void run_bounds(void *arg)
{
    struct buf b;
    (void)arg;
    open_view(COUNTS, three, ARRAY_LEN(three));
    b = view_request();
    put_row_keys(&b, "nothing", "b");
    ck_assert_int_eq(read_view(&b), GRPC_OK);
    expect_rows(ROW_B);
    ck_assert(strstr(asked, "'\\x62'::BLOB"));
    b = view_request();
    put_row_range(&b, "b", "c");
    ck_assert_int_eq(read_view(&b), GRPC_OK);
    expect_rows(ROW_B);
    ck_assert(strstr(asked, ">="));
    b = view_request();
    put_row_range(&b, "c", "c");
    ck_assert_int_eq(read_view(&b), GRPC_OK);
    expect_rows("");
    close_all();
}

START_TEST(test_bounds)
{
    /* Keys and ranges hold whatever the engine delivers, which is asked for
     * no other rows. */
    run(run_bounds);
}

END_TEST

static void run_filter(void *arg)
{
    struct buf b;
    size_t filter;
    (void)arg;
    open_view(COUNTS, three, ARRAY_LEN(three));
    b = view_request();
    filter = pb_open(&b, PB_ReadRowsRequest_filter);
    pb_put_bytes(&b, PB_RowFilter_column_qualifier_regex_filter,
                 SLICE_LIT("best"));
    pb_close(&b, filter);
    pb_put_integer(&b, PB_ReadRowsRequest_rows_limit, 2);
    ck_assert_int_eq(read_view(&b), GRPC_OK);
    expect_rows("a{default:best@0=x}\nc{default:best@0=z}\n");
    close_all();
}

START_TEST(test_filter)
{
    /* Filters are those of tables; rows without a cell left do not count. */
    run(run_filter);
}

END_TEST

/* Keys of two groups, the second a number, and one row that has none. */
static void run_struct_keys(void *arg)
{
    static const struct test_row list[] = {
        {"-", 5, "-"}, {"a", 1, "x"}, {"a", -1, "y"}};
    struct buf b = BUF_INIT;
    char *text;
    (void)arg;
    open_view("SELECT CAST(f['a'] AS STRING) AS word, TO_INT64(f['n']) AS n, "
              "max(f['q']) AS best FROM t GROUP BY word, n",
              list, ARRAY_LEN(list));
    b = view_request();
    ck_assert_int_eq(read_view(&b), GRPC_OK);
    text = rows_text();
    ck_assert_ptr_nonnull(text);
    /* Texts end at a NUL: the row's bytes are looked at, too. */
    ck_assert_uint_eq((unsigned char)text[0], 'a');
    ck_assert_int_eq(memcmp(text + 1,
                            "\0\1\x81{default:@0= default:best@0=x}"
                            "\n",
                            34),
                     0);
    mem_free(text);
    ck_assert(strstr(asked, "ORDER BY 1 ASC NULLS FIRST, 2 ASC"));
    close_all();
}

START_TEST(test_struct_keys)
{
    /* Without _key, the groups are the key, in the order of their values; a
     * row with a NULL in it has none. */
    run(run_struct_keys);
}

END_TEST

static void run_view_refusals(void *arg)
{
    static const struct test_row twice[] = {{"a", 1, "x"}, {"a", 2, "y"}};
    struct buf b;
    (void)arg;
    open_view(NULL, twice, ARRAY_LEN(twice));
    b = view_request();
    ck_assert_int_eq(read_view(&b), GRPC_NOT_FOUND);
    ck_assert_int_eq(create_view(COUNTS), GRPC_OK);
    b = view_request();
    pb_put_bytes(&b, PB_ReadRowsRequest_table_name, SLICE_LIT(TABLE));
    ck_assert_int_eq(read_view(&b), GRPC_INVALID_ARGUMENT);
    b = view_request();
    ck_assert_int_eq(read_view(&b), GRPC_INVALID_ARGUMENT);
    ck_assert(strstr(buf_cstr(&reply.text), "several rows with the key \"a\""));
    engine_rc = ERR_NOTFOUND;
    b = view_request();
    ck_assert_int_eq(read_view(&b), GRPC_FAILED_PRECONDITION);
    close_all();
}

START_TEST(test_view_refusals)
{
    /* Views that are not there, views beside tables, keys that are not
     * unique, and servers without an engine are refused by name. */
    run(run_view_refusals);
}

END_TEST

static void expect_refused(const char *query, const char *why)
{
    struct buf b = view_request();
    open_view(query, three, ARRAY_LEN(three));
    ck_assert_int_eq(read_view(&b), GRPC_INVALID_ARGUMENT);
    ck_assert_msg(strstr(buf_cstr(&reply.text), why), "%s: %s", query,
                  buf_cstr(&reply.text));
    ck_assert_int_eq(call_named(INSTANCES "DeleteMaterializedView", VIEW),
                     GRPC_OK);
    ck_assert_int_eq(call_named(TABLES "DeleteTable", TABLE), GRPC_OK);
    close_all();
}

static void run_queries_without_keys(void *arg)
{
    (void)arg;
    expect_refused("SELECT count(*) AS n FROM t", "have no keys");
    expect_refused("SELECT * FROM t", "of a type");
    expect_refused("SELECT _key, count(*) FROM t GROUP BY _key", "no name");
    expect_refused("SELECT _key, f AS f FROM t ORDER BY _key", "of a type");
    expect_refused("SELECT _key, max(f['a']) AS a, max(f['b']) AS a FROM t "
                   "GROUP BY _key",
                   "two columns \"a\"");
    expect_refused("SELECT CAST(CAST(f['a'] AS STRING) AS FLOAT64) AS x, "
                   "count(*) AS n FROM t GROUP BY x",
                   "floating number");
}

START_TEST(test_queries_without_keys)
{
    /* A query whose result cannot be rows says what it lacks. */
    run(run_queries_without_keys);
}

END_TEST

static void run_samples_of_view(void *arg)
{
    struct buf b = BUF_INIT;
    struct slice message;
    size_t at = 0;
    (void)arg;
    open_view(COUNTS, three, ARRAY_LEN(three));
    pb_put_bytes(&b, PB_SampleRowKeysRequest_materialized_view_name,
                 SLICE_LIT(VIEW));
    ck_assert_int_eq(call(DATA "SampleRowKeys", &b), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    ck_assert(
        slice_eq_str(pb_find(message, PB_SampleRowKeysResponse_row_key), "a"));
    ck_assert(grpc_reply_next(&reply, &at, &message));
    ck_assert_uint_eq(pb_find(message, PB_SampleRowKeysResponse_row_key).len,
                      0);
    ck_assert_uint_gt(
        pb_find_integer(message, PB_SampleRowKeysResponse_offset_bytes), 30);
    ck_assert(!grpc_reply_next(&reply, &at, &message));
    ck_assert_uint_eq(open_count, 0);
    close_all();
}

START_TEST(test_samples_of_view)
{
    /* Samples of a small view are its first row and the end. */
    run(run_samples_of_view);
}

END_TEST

START_TEST(test_integers_in_order)
{
    /* Keys of integers sort as the integers do, in as few bytes as fit. */
    static const int64_t numbers[] = {INT64_MIN,
                                      INT64_MIN + 1,
                                      -(INT64_C(1) << 48),
                                      -70000,
                                      -8193,
                                      -8192,
                                      -65,
                                      -64,
                                      -1,
                                      0,
                                      1,
                                      63,
                                      64,
                                      8191,
                                      8192,
                                      70000,
                                      INT64_C(1) << 48,
                                      INT64_MAX - 1,
                                      INT64_MAX};
    struct buf last = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        struct buf key = BUF_INIT;
        view_key_put_integer(&key, numbers[i]);
        if (numbers[i] >= -64 && numbers[i] < 64)
            ck_assert_uint_eq(key.len, 1);
        ck_assert_uint_le(key.len, 10);
        ck_assert_int_lt(slice_cmp(buf_slice(&last), buf_slice(&key)), 0);
        buf_close(&last);
        last = key;
    }
    buf_close(&last);
}

END_TEST

/* "" and "\0" and some, three fields of each. */
static struct slice field_of(unsigned n)
{
    static const char *const fields[] = {"", "\0", "\0\xff", "\1", "a", "a\0"};
    static const size_t sizes[] = {0, 1, 2, 1, 1, 2};
    return slice_make(fields[n % 6], sizes[n % 6]);
}

START_TEST(test_struct_keys_in_order)
{
    /* Keys of several fields are in the order of the fields. */
    struct buf last = BUF_INIT;
    for (unsigned n = 0; n < 6 * 6 * 6; n++) {
        struct view_key k = {.empty = 0};
        view_key_add(&k, field_of(n / 36));
        view_key_add(&k, field_of(n / 6));
        view_key_add(&k, field_of(n));
        ck_assert_uint_gt(view_key_end(&k).len, 0);
        ck_assert_int_lt(slice_cmp(buf_slice(&last), view_key_end(&k)), 0);
        buf_close(&last);
        last = k.out;
    }
    buf_close(&last);
}

END_TEST

TEST_MAIN("view_scan",
          test_rows,
          test_bounds,
          test_filter,
          test_struct_keys,
          test_view_refusals,
          test_queries_without_keys,
          test_samples_of_view,
          test_integers_in_order,
          test_struct_keys_in_order)
