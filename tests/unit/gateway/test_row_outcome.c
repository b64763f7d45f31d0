/* The entries of MutateRows for rows that succeed, fail, or may be retried.
 * Pure. */
#include "base/core/buf.h"
#include "base/core/pb.h"
#include "bigtable/gateway/row_outcome.h"
#include "tests/lib/check_main.h"

/* The status of the entry that @out has alone. */
static struct slice status_of(const struct buf *out, size_t index)
{
    struct slice entry = pb_find(buf_slice(out), 1);
    ck_assert(pb_is_message(entry));
    ck_assert_uint_eq(pb_find_integer(entry, 1), index);
    ck_assert(pb_has_field(entry, 2));
    return pb_find(entry, 2);
}

/* The status of a row that failed with @rc, for the reason @text, and may be
 * tried again after @us, unless that is 0. */
static struct slice
refused(struct buf *out, int rc, const char *text, uint64_t us)
{
    struct row_outcome o = {.text = NULL};
    struct err err = ERR_INIT;
    if (text[0])
        (void)!err_set(&err, rc, "%s", text);
    if (us)
        err_set_retry(&err, us);
    row_outcome_set(&o, rc, &err);
    buf_clear(out);
    row_outcome_put(&o, 300, out);
    row_outcome_close(&o);
    return status_of(out, 300);
}

static struct slice failed(struct buf *out, int rc, const char *text)
{
    return refused(out, rc, text, 0);
}

/* Microseconds of the RetryInfo that @status has; 0: it has none. */
static uint64_t retry_us(struct slice status)
{
    struct slice any = pb_find(status, 3);
    struct slice delay;
    if (!pb_has_field(status, 3))
        return 0;
    ck_assert(slice_eq_str(pb_find(any, 1),
                           "type.googleapis.com/google.rpc.RetryInfo"));
    delay = pb_find(pb_find(any, 2), 1);
    return pb_find_integer(delay, 1) * 1000000 +
           pb_find_integer(delay, 2) / 1000;
}

START_TEST(test_good)
{
    /* A row that was written has an empty status. */
    struct buf out = BUF_INIT;
    struct row_outcome good = {.text = NULL};
    row_outcome_put(NULL, 7, &out);
    ck_assert_uint_eq(status_of(&out, 7).len, 0);
    buf_clear(&out);
    row_outcome_put(&good, 1000000, &out);
    ck_assert_uint_eq(status_of(&out, 1000000).len, 0);
    buf_close(&out);
}

END_TEST

START_TEST(test_failed_for_good)
{
    /* Code and text; nobody is asked to come again. */
    struct buf out = BUF_INIT;
    struct slice status = failed(&out, ERR_NOTFOUND, "no family x");
    ck_assert_uint_eq(pb_find_integer(status, 1), GRPC_NOT_FOUND);
    ck_assert(slice_eq_str(pb_find(status, 2), "no family x"));
    ck_assert_uint_eq(retry_us(status), 0);
    status = failed(&out, ERR_EXHAUSTED, "table t is over its quota");
    ck_assert_uint_eq(pb_find_integer(status, 1), GRPC_RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(retry_us(status), 0);
    status = failed(&out, ERR_INVALID, "");
    ck_assert_uint_gt(pb_find(status, 2).len, 0);
    buf_close(&out);
}

END_TEST

START_TEST(test_refused_for_a_while)
{
    /* A rate says when there is room again; a server without room, a second. */
    struct buf out = BUF_INIT;
    struct slice status =
        refused(&out, ERR_EXHAUSTED,
                "\"w\" is over its rate of 10 ops a second", 2345000);
    ck_assert_uint_eq(pb_find_integer(status, 1), GRPC_RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(retry_us(status), 2345000);
    status = failed(&out, ERR_UNAVAILABLE,
                    "this tablet server has no memory for more requests now");
    ck_assert_uint_eq(pb_find_integer(status, 1), GRPC_UNAVAILABLE);
    ck_assert_uint_eq(retry_us(status), 1000000);
    buf_close(&out);
}

END_TEST

TEST_MAIN("row outcome",
          test_good,
          test_failed_for_good,
          test_refused_for_a_while)
