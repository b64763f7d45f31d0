/* Answers kept for calls that are made again. */
#include <string.h>

#include "base/core/buf.h"
#include "base/rpc/rpc.h"
#include "bigtable/tablet_server/answers.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

struct attempt {
    struct rpc_call call;
    struct buf body;
    struct buf attachment;
    bool known;
    struct err err;
    int rc;
};

static void attempt_begin(struct attempt *t, struct answers *a, uint64_t key)
{
    *t = (struct attempt){.call = {.idempotency_key = key}, .err = ERR_INIT};
    t->call.reply_body = &t->body;
    t->call.reply_attachment = &t->attachment;
    t->rc = answers_begin(a, &t->call, &t->known, &t->err);
}

static void attempt_close(struct attempt *t)
{
    buf_close(&t->body);
    buf_close(&t->attachment);
}

/* A call with @key that is done now, with an answer of @bytes. */
static void do_call(struct answers *a, uint64_t key, size_t bytes, bool success)
{
    struct attempt t;
    attempt_begin(&t, a, key);
    ck_assert_int_eq(t.rc, 0);
    ck_assert(!t.known);
    buf_append_slice(&t.body, SLICE_LIT("body"));
    memset(buf_extend(&t.attachment, bytes), 'x', bytes);
    answers_end(a, &t.call, success);
    attempt_close(&t);
}

/* --- Tests --------------------------------------------------------------- */

/* A call that is made again gets the answer it had; one that failed, or has no
 * key, is done again. */
START_TEST(test_made_again)
{
    struct answers *a = answers_new();
    struct attempt t;
    do_call(a, 7, 10, true);
    attempt_begin(&t, a, 7);
    ck_assert_int_eq(t.rc, 0);
    ck_assert(t.known);
    ck_assert(slice_eq_str(buf_slice(&t.body), "body"));
    ck_assert_uint_eq(t.attachment.len, 10);
    attempt_close(&t);
    do_call(a, 8, 10, false);
    do_call(a, 8, 10, true);
    do_call(a, 0, 10, true);
    do_call(a, 0, 10, true);
    answers_free(a);
}

END_TEST

/* A call whose answer was too long to be kept is not done again, and says so,
 * however often it is made. */
START_TEST(test_answer_too_long)
{
    struct answers *a = answers_new();
    do_call(a, 7, ANSWER_KEPT_BYTES_MAX + 1, true);
    for (int i = 0; i < 2; i++) {
        struct attempt t;
        attempt_begin(&t, a, 7);
        ck_assert_int_eq(t.rc, ERR_ABORTED);
        ck_assert(t.known);
        ck_assert_uint_eq(t.body.len + t.attachment.len, 0);
        attempt_close(&t);
    }
    answers_free(a);
}

END_TEST

/* Answers of no more than so many bytes are kept: the oldest go. */
START_TEST(test_bounded)
{
    struct answers *a = answers_new();
    size_t bytes = ANSWER_KEPT_BYTES_MAX - 4;
    uint64_t count = ANSWERS_BYTES_MAX / ANSWER_KEPT_BYTES_MAX + 8;
    struct attempt t;
    for (uint64_t i = 1; i <= count; i++)
        do_call(a, i, bytes, true);
    attempt_begin(&t, a, count);
    ck_assert(t.known);
    attempt_close(&t);
    do_call(a, 1, bytes, true);
    answers_free(a);
}

END_TEST

TEST_MAIN("answers", test_made_again, test_answer_too_long, test_bounded)
