/* Compressed messages are unpacked within the limits of their call, and
 * answered in kind. */
#include "bigtable/gateway/gzip.h"
#include "tests/unit/gateway/grpc_fixture.h"

/* Append what @in was before it was compressed. */
static int uncompress(struct slice in, struct buf *out)
{
    struct gzip_reader *r = gzip_reader_new(in);
    bool end = false;
    int rc = 0;
    while (rc == 0 && !end) {
        size_t had = out->len;
        size_t made = 0;
        char *to = buf_extend(out, 4096);
        rc = gzip_reader_next(r, to, 4096, &made, &end, NULL);
        buf_truncate(out, had + made);
    }
    gzip_reader_free(r);
    return rc;
}

static void run_gzip(void *arg)
{
    struct grpc_client c = {.gzip = true};
    struct buf plain = BUF_INIT;
    struct buf body = BUF_INIT;
    struct buf back = BUF_INIT;
    struct grpc_reply r;
    struct slice m;
    size_t at = 0;
    (void)arg;
    start(0);
    buf_append_fill(&plain, 'z', 300000);
    buf_append_fill(&body, 1, 1);
    buf_append_fill(&body, 0, 4);
    gzip_compress(buf_slice(&plain), &body);
    put_be32(body.data + 1, (uint32_t)(body.len - 5));
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(grpc_client_send(&c, "/t/echo", buf_slice(&body), &r), 0);
    ck_assert_int_eq(r.code, GRPC_OK);
    ck_assert(r.gzip);
    ck_assert_int_eq(r.data.data[0], 1);
    ck_assert(grpc_reply_next(&r, &at, &m));
    ck_assert_int_eq(uncompress(m, &back), 0);
    ck_assert(slice_eq(buf_slice(&back), buf_slice(&plain)));
    grpc_reply_close(&r);
    /* A bomb: 8 KB that are 8 MiB. */
    buf_append_fill(&plain, 'z', 8 << 20);
    buf_clear(&body);
    buf_append_fill(&body, 1, 1);
    buf_append_fill(&body, 0, 4);
    gzip_compress(buf_slice(&plain), &body);
    put_be32(body.data + 1, (uint32_t)(body.len - 5));
    ck_assert_int_eq(grpc_client_send(&c, "/t/echo", buf_slice(&body), &r), 0);
    ck_assert_int_eq(r.code, GRPC_RESOURCE_EXHAUSTED);
    grpc_reply_close(&r);
    /* Not gzip at all. */
    ck_assert_int_eq(
        grpc_client_send(&c, "/t/echo", slice_make("\1\0\0\0\3abc", 8), &r), 0);
    ck_assert_int_eq(r.code, GRPC_INVALID_ARGUMENT);
    grpc_reply_close(&r);
    grpc_client_close(&c);
    grpc_server_close(server);
    buf_close(&plain);
    buf_close(&body);
    buf_close(&back);
}

START_TEST(test_gzip)
{
    /* A compressed request is answered in kind; bombs and rubbish are not
     * unpacked. */
    run(run_gzip);
}

END_TEST

static int gzip_call(struct grpc_client *c, struct slice message)
{
    struct buf body = BUF_INIT;
    struct grpc_reply r;
    int rc;
    buf_append_fill(&body, 1, 1);
    buf_append_fill(&body, 0, 4);
    gzip_compress(message, &body);
    put_be32(body.data + 1, (uint32_t)(body.len - 5));
    ck_assert_int_eq(grpc_client_send(c, "/t/sleep", buf_slice(&body), &r), 0);
    rc = r.code;
    grpc_reply_close(&r);
    buf_close(&body);
    return rc;
}

static void run_gzip_budget(void *arg)
{
    struct grpc_client c = {.gzip = true, .timeout = "1S"};
    struct grpc_client other = {.stream = 0};
    struct buf plain = BUF_INIT;
    (void)arg;
    start(4 << 20);
    grpc_client_open(&c, "server:80");
    grpc_client_open(&other, "server:80");
    buf_append_fill(&plain, 'z', 3 << 20);
    ck_assert_int_eq(gzip_call(&c, buf_slice(&plain)), GRPC_RESOURCE_EXHAUSTED);
    ck_assert_uint_eq(grpc_server_buffered_bytes(server), 0);
    /* Less than a connection may have is taken, and given back. */
    buf_truncate(&plain, 1 << 20);
    ck_assert_int_eq(gzip_call(&c, buf_slice(&plain)), GRPC_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(grpc_server_buffered_bytes(server), 0);
    expect_echo(&other, 100000);
    grpc_client_close(&c);
    grpc_client_close(&other);
    grpc_server_close(server);
    buf_close(&plain);
}

START_TEST(test_gzip_within_the_budget)
{
    /* Uncompressed bytes are charged before memory is taken for them; a message
     * over the budget ends its call alone. */
    run(run_gzip_budget);
}

END_TEST

START_TEST(test_gzip_by_steps)
{
    /* Any steps give the same bytes, and a cut message is told at its cut. */
    struct buf plain = BUF_INIT;
    struct buf packed = BUF_INIT;
    for (unsigned i = 0; i < 100000; i++)
        buf_append_byte(&plain, (char)(i * i >> 7));
    gzip_compress(buf_slice(&plain), &packed);
    for (size_t room = 1; room < 200000; room = room * 7 + 1) {
        struct gzip_reader *r = gzip_reader_new(buf_slice(&packed));
        char *to = mem_alloc(room);
        size_t done = 0;
        bool end = false;
        while (!end) {
            size_t made;
            ck_assert_int_eq(gzip_reader_next(r, to, room, &made, &end, NULL),
                             0);
            ck_assert_int_eq(memcmp(to, plain.data + done, made), 0);
            done += made;
        }
        ck_assert_uint_eq(done, plain.len);
        gzip_reader_free(r);
        mem_free(to);
    }
    for (size_t cut = 0; cut < packed.len; cut += 97) {
        struct buf out = BUF_INIT;
        ck_assert_int_eq(uncompress(slice_make(packed.data, cut), &out),
                         ERR_INVALID);
        buf_close(&out);
    }
    buf_close(&plain);
    buf_close(&packed);
}

END_TEST

TEST_MAIN("grpc gzip",
          test_gzip,
          test_gzip_within_the_budget,
          test_gzip_by_steps)
