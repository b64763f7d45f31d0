/* Calls inside a process behave as calls between processes will. */
#include <string.h>

#include "base/rpc/codec.h"
#include "base/rpc/rpc.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

enum {
    METHOD_ECHO = 7,
    METHOD_FAIL = 3,
    METHOD_WHO = 11,
    METHOD_UNKNOWN = 99
};

static int echo(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)err;
    *(int *)ctx += 1;
    buf_append_slice(call->reply_body, call->body);
    buf_append_slice(call->reply_attachment, call->attachment);
    return 0;
}

static int who(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_slice(call->reply_body, call->principal);
    return 0;
}

static int refuse(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)call;
    return err_set(err, ERR_NOTFOUND, "no tablet holds row x");
}

static const struct rpc_method methods[] = {
    {METHOD_ECHO, "test.echo", echo},
    {METHOD_FAIL, "test.fail", refuse},
    {METHOD_WHO, "test.who", who},
};

struct fixture {
    struct world *world;
    struct rpc_server *server;
    struct rpc_channel *channel;
    int echo_count;
};

static void setup(struct fixture *f)
{
    f->echo_count = 0;
    f->world = world_real_new();
    f->server = rpc_server_new(f->world);
    rpc_server_add(f->server, methods, ARRAY_LEN(methods), &f->echo_count);
    f->channel = rpc_inproc_channel_new(f->server);
}

static void teardown(struct fixture *f)
{
    rpc_channel_free(f->channel);
    rpc_server_free(f->server);
    world_free(f->world);
}

/* Body and attachment reach the handler, and its answer the caller. */
START_TEST(test_call_and_answer)
{
    struct fixture f;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct codec_reader r;

    setup(&f);
    codec_put_u64(&body, 42);
    ck_assert_int_eq(rpc_call(f.channel, METHOD_ECHO, NULL, buf_slice(&body),
                              SLICE_LIT("raw"), &reply, &attachment, NULL),
                     0);
    r = codec_reader_make(buf_slice(&reply));
    ck_assert_uint_eq(codec_get_u64(&r), 42);
    ck_assert(slice_eq_str(buf_slice(&attachment), "raw"));
    ck_assert_int_eq(rpc_call(f.channel, METHOD_ECHO, NULL, SLICE_EMPTY,
                              SLICE_EMPTY, NULL, NULL, NULL),
                     0);
    ck_assert_int_eq(f.echo_count, 2);
    buf_close(&body);
    buf_close(&reply);
    buf_close(&attachment);
    teardown(&f);
}

END_TEST

/* A handler's error arrives with its text; an unknown method is an error. */
START_TEST(test_errors_arrive_and_are_counted)
{
    struct fixture f;
    struct err err = ERR_INIT;
    struct rpc_method_stats stats[2];

    setup(&f);
    ck_assert_int_eq(rpc_call(f.channel, METHOD_FAIL, NULL, SLICE_LIT("ab"),
                              SLICE_EMPTY, NULL, NULL, &err),
                     ERR_NOTFOUND);
    ck_assert_str_eq(err.text, "no tablet holds row x");
    ck_assert_int_eq(rpc_call(f.channel, METHOD_UNKNOWN, NULL, SLICE_EMPTY,
                              SLICE_EMPTY, NULL, NULL, &err),
                     ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "unknown method 99");
    ck_assert_uint_eq(rpc_server_stats(f.server, stats, 2), 3);
    ck_assert_str_eq(stats[0].name, "test.fail");
    ck_assert_uint_eq(stats[0].call_count, 1);
    ck_assert_uint_eq(stats[0].error_count, 1);
    ck_assert_uint_eq(stats[0].bytes_in, 2);
    ck_assert_uint_eq(stats[1].call_count, 0);
    teardown(&f);
}

END_TEST

/* A call inside a process is its own, or that of whom it names. */
START_TEST(test_act_as)
{
    struct fixture f;
    struct buf reply = BUF_INIT;
    struct rpc_call_options o = {.act_as = SLICE_LIT("alice")};
    setup(&f);
    ck_assert_int_eq(rpc_call(f.channel, METHOD_WHO, NULL, SLICE_EMPTY,
                              SLICE_EMPTY, &reply, NULL, NULL),
                     0);
    ck_assert_uint_eq(reply.len, 0);
    ck_assert_int_eq(rpc_call(f.channel, METHOD_WHO, &o, SLICE_EMPTY,
                              SLICE_EMPTY, &reply, NULL, NULL),
                     0);
    ck_assert(slice_eq_str(buf_slice(&reply), "alice"));
    buf_close(&reply);
    teardown(&f);
}

END_TEST

TEST_MAIN("inproc",
          test_call_and_answer,
          test_errors_arrive_and_are_counted,
          test_act_as)
