/* The tokens of queries: whole ones come back, garbled ones are refused. */
#include "base/core/buf.h"
#include "bigtable/gateway/query_token.h"
#include "tests/lib/check_main.h"

static struct query_token a_token(void)
{
    return (struct query_token){
        .until_us = INT64_C(1700000000000000),
        .schema = UINT64_C(0xfedcba9876543210),
        .instance = SLICE_LIT("projects/p/instances/i"),
        .text = SLICE_LIT("SELECT 1"),
        .params = SLICE_LIT("\x32\x00"),
    };
}

#define QUERY UINT64_C(0x0123456789abcdef)

static struct query_place a_place(void)
{
    return (struct query_place){
        .query = QUERY, .rows = 4711, .key = SLICE_LIT("row\xff")};
}

START_TEST(test_prepared_query_comes_back)
{
    /* A prepared query is read as it was written. */
    const struct query_token token = a_token();
    struct buf b = BUF_INIT;
    struct query_token got;
    query_token_put(&token, &b);
    ck_assert_int_eq(query_token_get(buf_slice(&b), &got, NULL), 0);
    ck_assert_int_eq(got.until_us, token.until_us);
    ck_assert_uint_eq(got.schema, token.schema);
    ck_assert(slice_eq(got.instance, token.instance));
    ck_assert(slice_eq(got.text, token.text));
    ck_assert(slice_eq(got.params, token.params));
    buf_close(&b);
}

END_TEST

START_TEST(test_place_comes_back)
{
    /* A place is read as it was written, for its own query alone. */
    const struct query_place place = a_place();
    struct query_place end = place, got;
    struct buf b = BUF_INIT;
    query_place_put(&place, &b);
    ck_assert_int_eq(query_place_get(buf_slice(&b), place.query, &got, NULL),
                     0);
    ck_assert(!got.at_end && slice_eq(got.key, place.key));
    ck_assert_uint_eq(got.rows, place.rows);
    ck_assert_int_eq(
        query_place_get(buf_slice(&b), place.query + 1, &got, NULL),
        ERR_INVALID);
    end.at_end = true;
    buf_clear(&b);
    query_place_put(&end, &b);
    ck_assert_int_eq(query_place_get(buf_slice(&b), end.query, &got, NULL), 0);
    ck_assert(got.at_end);
    buf_close(&b);
}

END_TEST

static bool is_taken(struct slice bytes)
{
    struct query_token t;
    struct query_place p;
    return query_token_get(bytes, &t, NULL) == 0 ||
           query_place_get(bytes, QUERY, &p, NULL) == 0;
}

static void expect_garbled_refused(struct slice whole)
{
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < whole.len; i++) {
        ck_assert(!is_taken(slice_sub(whole, 0, i)));
        for (int bit = 0; bit < 8; bit++) {
            buf_clear(&b);
            buf_append_slice(&b, whole);
            b.data[i] = (char)(b.data[i] ^ 1 << bit);
            ck_assert(!is_taken(buf_slice(&b)));
        }
    }
    buf_clear(&b);
    buf_append_slice(&b, whole);
    buf_append_byte(&b, 0);
    ck_assert(!is_taken(buf_slice(&b)));
    buf_close(&b);
}

START_TEST(test_garbled_tokens_are_refused)
{
    /* A token that is cut, longer, or differs in a bit is refused, and neither
     * kind is taken for the other. */
    const struct query_token token = a_token();
    const struct query_place place = a_place();
    struct buf a = BUF_INIT, b = BUF_INIT;
    struct query_token t;
    struct query_place p;
    query_token_put(&token, &a);
    query_place_put(&place, &b);
    expect_garbled_refused(buf_slice(&a));
    expect_garbled_refused(buf_slice(&b));
    ck_assert_int_eq(query_token_get(buf_slice(&b), &t, NULL), ERR_INVALID);
    ck_assert_int_eq(query_place_get(buf_slice(&a), QUERY, &p, NULL),
                     ERR_INVALID);
    buf_close(&a);
    buf_close(&b);
}

END_TEST

TEST_MAIN("query_token",
          test_prepared_query_comes_back,
          test_place_comes_back,
          test_garbled_tokens_are_refused)
