/* Values of queries: results become Values, and a Value as a parameter becomes
 * the literal that stands for it. */
#include <math.h>

#include "base/core/arena.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/query_type.h"
#include "bigtable/gateway/query_value.h"
#include "bigtable/googlesql/gsql_translate.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

static struct arena arena;
static struct buf rows; /* A ProtoRows. */
static struct query_writer writer;
static struct gsql_sink sink;

static void begin(void)
{
    arena_init(&arena);
    rows = BUF_INIT;
    writer = (struct query_writer){.out = &rows};
    sink = query_writer_sink(&writer);
    query_writer_begin(&writer);
}

static void end(void)
{
    arena_close(&arena);
    buf_close(&rows);
}

/* The only value of the row, as the parameter p of @type. */
static int take_back(const struct gsql_type *type, struct gsql_param *p)
{
    struct slice value = pb_find(buf_slice(&rows), PB_ProtoRows_values);
    *p = (struct gsql_param){.name = SLICE_LIT("p"), .type = type};
    return query_value_get(value, p, &arena, NULL);
}

static void expect_back(enum gsql_kind kind, const char *sql)
{
    struct gsql_param p;
    ck_assert_int_eq(take_back(gsql_scalar(kind), &p), 0);
    ck_assert_msg(slice_eq_str(p.sql, sql), "%.*s, not %s", SLICE_ARG(p.sql),
                  sql);
    buf_clear(&rows);
    query_writer_begin(&writer);
}

/* --- Tests --------------------------------------------------------------- */

START_TEST(test_scalars)
{
    /* Each scalar that a result has is, as a parameter, the same again. */
    begin();
    sink.integer(sink.ctx, GSQL_BOOL, 1);
    expect_back(GSQL_BOOL, "(true)");
    sink.integer(sink.ctx, GSQL_BOOL, 0);
    expect_back(GSQL_BOOL, "(false)");
    sink.integer(sink.ctx, GSQL_INT64, INT64_MIN);
    expect_back(GSQL_INT64, "('-9223372036854775808'::BIGINT)");
    sink.real(sink.ctx, -0.5);
    expect_back(GSQL_FLOAT64, "('-0.5'::DOUBLE)");
    sink.real(sink.ctx, (double)NAN);
    expect_back(GSQL_FLOAT32, "('nan'::DOUBLE)::FLOAT");
    sink.bytes(sink.ctx, GSQL_STRING, SLICE_LIT("it's"));
    expect_back(GSQL_STRING, "('it''s'::VARCHAR)");
    sink.bytes(sink.ctx, GSQL_BYTES, SLICE_LIT("\xff'"));
    expect_back(GSQL_BYTES, "('\\xFF\\x27'::BLOB)");
    sink.bytes(sink.ctx, GSQL_BYTES, SLICE_EMPTY);
    expect_back(GSQL_BYTES, "(''::BLOB)");
    sink.integer(sink.ctx, GSQL_DATE, -1);
    expect_back(GSQL_DATE, "('1969-12-31'::DATE)");
    sink.integer(sink.ctx, GSQL_TIMESTAMP, -1);
    expect_back(GSQL_TIMESTAMP, "make_timestamp('-1'::BIGINT)");
    sink.null(sink.ctx);
    expect_back(GSQL_BYTES, "(NULL::BLOB)");
    end();
}

END_TEST

START_TEST(test_arrays)
{
    /* An ARRAY with a NULL in it comes back; an entry of a MAP is an array of
     * key and value. */
    struct gsql_param p;
    struct slice map, entry;
    begin();
    sink.open(sink.ctx, GSQL_ARRAY);
    sink.integer(sink.ctx, GSQL_INT64, 1);
    sink.null(sink.ctx);
    sink.close(sink.ctx);
    ck_assert_int_eq(
        take_back(gsql_array_of(&arena, gsql_scalar(GSQL_INT64)), &p), 0);
    ck_assert(slice_eq_str(p.sql, "CAST([('1'::BIGINT), (NULL::BIGINT)] AS "
                                  "BIGINT[])"));
    buf_clear(&rows);
    query_writer_begin(&writer);
    sink.open(sink.ctx, GSQL_MAP);
    sink.open(sink.ctx, GSQL_STRUCT);
    sink.bytes(sink.ctx, GSQL_BYTES, SLICE_LIT("k"));
    sink.bytes(sink.ctx, GSQL_BYTES, SLICE_LIT("v"));
    sink.close(sink.ctx);
    sink.close(sink.ctx);
    map = pb_find(pb_find(buf_slice(&rows), PB_ProtoRows_values),
                  PB_Value_array_value);
    entry = pb_find(pb_find(map, PB_ArrayValue_values), PB_Value_array_value);
    ck_assert(slice_eq_str(
        pb_find(pb_find(entry, PB_ArrayValue_values), PB_Value_bytes_value),
        "v"));
    end();
}

END_TEST

START_TEST(test_values_of_other_types_are_refused)
{
    /* A value is of the parameter's type, says so if it says a type, and is in
     * the type's range. */
    struct gsql_param p = {.name = SLICE_LIT("p")};
    struct buf b = BUF_INIT;
    begin();
    sink.integer(sink.ctx, GSQL_INT64, 1);
    ck_assert_int_eq(take_back(gsql_scalar(GSQL_BYTES), &p), ERR_INVALID);
    ck_assert_int_eq(take_back(gsql_scalar(GSQL_BOOL), &p), ERR_INVALID);
    ck_assert_int_eq(
        take_back(gsql_array_of(&arena, gsql_scalar(GSQL_INT64)), &p),
        ERR_INVALID);
    query_type_put(&b, PB_Value_type, gsql_scalar(GSQL_STRING));
    pb_put_integer(&b, PB_Value_int_value, 1);
    p.type = gsql_scalar(GSQL_INT64);
    ck_assert_int_eq(query_value_get(buf_slice(&b), &p, &arena, NULL),
                     ERR_INVALID);
    buf_clear(&b);
    pb_put_bytes(&b, PB_Value_string_value, SLICE_LIT("\xff"));
    p.type = gsql_scalar(GSQL_STRING);
    ck_assert_int_eq(query_value_get(buf_slice(&b), &p, &arena, NULL),
                     ERR_INVALID);
    buf_clear(&b);
    pb_put_bytes(&b, PB_Value_date_value,
                 SLICE_LIT("\x08\xe8\x0f\x10\x02\x18\x1e")); /* 30 Feb 2024 */
    p.type = gsql_scalar(GSQL_DATE);
    ck_assert_int_eq(query_value_get(buf_slice(&b), &p, &arena, NULL),
                     ERR_INVALID);
    buf_close(&b);
    end();
}

END_TEST

START_TEST(test_types)
{
    /* Types of parameters come back; others are refused. */
    const struct gsql_type *type, *list;
    struct buf b = BUF_INIT;
    struct slice message;
    begin();
    for (int k = GSQL_BOOL; k < GSQL_INTERVAL; k++) {
        buf_clear(&b);
        query_type_put(&b, 1, gsql_scalar((enum gsql_kind)k));
        message = pb_find(buf_slice(&b), 1);
        ck_assert_int_eq(
            query_type_get(message, SLICE_LIT("p"), &arena, &type, NULL), 0);
        ck_assert_int_eq((int)type->kind, k);
    }
    list = gsql_array_of(&arena, gsql_scalar(GSQL_STRING));
    buf_clear(&b);
    query_type_put(&b, 1, list);
    ck_assert_int_eq(query_type_get(pb_find(buf_slice(&b), 1), SLICE_LIT("p"),
                                    &arena, &type, NULL),
                     0);
    ck_assert(gsql_type_eq(type, list));
    buf_clear(&b);
    query_type_put(&b, 1, gsql_array_of(&arena, list));
    ck_assert_int_eq(query_type_get(pb_find(buf_slice(&b), 1), SLICE_LIT("p"),
                                    &arena, &type, NULL),
                     ERR_INVALID);
    ck_assert_int_eq(
        query_type_get(SLICE_EMPTY, SLICE_LIT("p"), &arena, &type, NULL),
        ERR_INVALID);
    buf_close(&b);
    end();
}

END_TEST

START_TEST(test_large_rows_are_cut)
{
    /* A row beyond the bound is not collected in memory. */
    struct buf big = BUF_INIT;
    begin();
    buf_append_fill(&big, 'x', (size_t)1 << 20);
    for (size_t i = 0; i < (QUERY_ROW_BYTES_MAX >> 20) + 10; i++)
        sink.bytes(sink.ctx, GSQL_BYTES, buf_slice(&big));
    ck_assert(writer.too_big);
    ck_assert_uint_le(rows.len, QUERY_ROW_BYTES_MAX);
    buf_close(&big);
    end();
}

END_TEST

TEST_MAIN("query_value",
          test_scalars,
          test_arrays,
          test_values_of_other_types_are_refused,
          test_types,
          test_large_rows_are_cut)
