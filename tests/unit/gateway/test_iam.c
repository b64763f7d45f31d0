/* Policies are kept and given back; where there is none, the answer is what the
 * service says. */
#include "tests/unit/gateway/fixture.h"

static struct slice policy_of(const char *method, struct slice policy)
{
    struct buf b = BUF_INIT;
    struct buf path = BUF_INIT;
    struct slice message;
    size_t at = 0;
    buf_printf(&path, TABLES "%s", method);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    if (policy.len)
        pb_put_bytes(&b, 2, policy);
    ck_assert_int_eq(call(buf_cstr(&path), &b), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    buf_close(&path);
    return message;
}

static void run_policy(void *arg)
{
    struct buf binding = BUF_INIT;
    struct buf policy = BUF_INIT;
    (void)arg;
    open_all();
    ck_assert(slice_eq(pb_find(policy_of("GetIamPolicy", SLICE_EMPTY), 3),
                       slice_make("\0\x20\x01", 3)));
    pb_put_bytes(&binding, 1, SLICE_LIT("roles/bigtable.reader"));
    pb_put_bytes(&policy, 4, buf_slice(&binding));
    (void)policy_of("SetIamPolicy", buf_slice(&policy));
    ck_assert(slice_eq(pb_find(policy_of("GetIamPolicy", SLICE_EMPTY), 4),
                       buf_slice(&binding)));
    ck_assert(!slice_eq(pb_find(policy_of("GetIamPolicy", SLICE_EMPTY), 3),
                        slice_make("\0\x20\x01", 3)));
    buf_close(&binding);
    buf_close(&policy);
    close_all();
}

START_TEST(test_policy)
{
    run(run_policy);
}

END_TEST

TEST_MAIN("iam", test_policy)
