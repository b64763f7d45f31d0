/* Calls that come at once are handled at once, and none of them notices. */
#include "base/core/rand.h"
#include "bigtable/gateway/grpc.h"
#include "tests/lib/grpc_crowd.h"
#include "tests/unit/gateway/fixture.h"

#define CROWD 40

/* --- a server of its own ------------------------------------------------- */

static struct grpc_server *server;
static size_t largest; /* Of the crowds that were handled. */
static size_t handled; /* In all. */

static int echo(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    (void)ctx;
    buf_append_slice(b, grpc_request(call));
    return grpc_send(call, b, err);
}

/* Slowly; what begins with an x fails. */
static void echo_many(void *ctx, struct grpc_call *const *calls, size_t count)
{
    largest = MAX_OF(largest, count);
    world_sleep_us(world, 50000);
    for (size_t i = 0; i < count; i++) {
        struct err err = ERR_INIT;
        int rc = slice_starts_with(grpc_request(calls[i]), SLICE_LIT("x"))
                     ? err_set(&err, ERR_NOTFOUND, "number %zu", i)
                     : echo(ctx, calls[i], &err);
        handled++;
        if (rc)
            grpc_set_outcome(calls[i], rc, &err);
    }
}

static void open_server(void)
{
    static const struct grpc_method methods[] = {{"/t/echo", echo}};
    const struct grpc_options o = {.methods = methods,
                                   .method_count = 1,
                                   .together = echo,
                                   .handle_many = echo_many};
    largest = handled = 0;
    ck_assert_int_eq(grpc_server_open(world, "server:80", &o, &server, NULL),
                     0);
}

/* @count calls of some bytes each; every third fails. */
static void make_echoes(struct crowd_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct buf message = BUF_INIT;
        buf_append_fill(&message, i % 3 ? 'y' : 'x', 1 + i);
        crowd_call_init(&calls[i], &message);
    }
}

static void expect_echo(const struct crowd_call *c, size_t index)
{
    if (c->gives_up)
        return;
    if (c->timeout) {
        ck_assert_int_eq(c->code, GRPC_DEADLINE_EXCEEDED);
    } else if (index % 3 == 0) {
        ck_assert_int_eq(c->code, GRPC_NOT_FOUND);
        ck_assert_uint_gt(c->text.len, 0);
    } else {
        ck_assert_int_eq(c->code, GRPC_OK);
        ck_assert_uint_eq(c->data_bytes, 5 + 1 + index);
    }
}

static void close_calls(struct crowd_call calls[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        crowd_call_close(&calls[i]);
}

static void run_crowd(void *arg)
{
    struct crowd_call calls[CROWD];
    struct grpc_client c = {.stream = 0};
    (void)arg;
    open_server();
    crowd_open(&c, "server:80");
    make_echoes(calls, CROWD);
    for (size_t i = 0; i < CROWD; i += 5)
        calls[i].gives_up = true;
    for (size_t i = 1; i < CROWD; i += 9) /* None of those that fail. */
        calls[i].timeout = i % 2 ? "1n" : "10m";
    crowd_send(&c, "/t/echo", calls, CROWD);
    crowd_await(&c, calls, CROWD);
    for (size_t i = 0; i < CROWD; i++)
        expect_echo(&calls[i], i);
    ck_assert_uint_gt(largest, 1);
    world_sleep_us(world, 200000);
    ck_assert_uint_eq(grpc_server_call_count(server), 0);
    close_calls(calls, CROWD);
    grpc_client_close(&c);
    grpc_server_close(server);
}

START_TEST(test_crowd)
{
    /* Calls of one write go together; each has its own reply, error and
     * deadline, and may be given up. */
    run(run_crowd);
}

END_TEST

static void run_lost(void *arg)
{
    struct crowd_call calls[CROWD];
    struct grpc_client c = {.stream = 0};
    (void)arg;
    open_server();
    for (uint64_t wait_us = 0; wait_us < 100000; wait_us += 9000) {
        crowd_open(&c, "server:80");
        make_echoes(calls, CROWD);
        crowd_send(&c, "/t/echo", calls, CROWD);
        world_sleep_us(world, wait_us);
        grpc_client_close(&c);
        close_calls(calls, CROWD);
    }
    world_sleep_us(world, 1000000);
    ck_assert_uint_eq(grpc_server_call_count(server), 0);
    ck_assert_uint_eq(grpc_server_connection_count(server), 0);
    ck_assert_uint_gt(handled, 0);
    /* The server goes while they are under way. */
    crowd_open(&c, "server:80");
    make_echoes(calls, CROWD);
    crowd_send(&c, "/t/echo", calls, CROWD);
    world_sleep_us(world, 10000);
    grpc_server_close(server);
    grpc_client_close(&c);
    close_calls(calls, CROWD);
}

START_TEST(test_crowd_lost)
{
    /* Of a connection that is lost, whenever, nothing is left over. */
    run(run_lost);
}

END_TEST

/* --- rows ---------------------------------------------------------------- */

enum kind {
    GOOD,
    NO_FAMILY,
    NO_ROW,
    NO_TABLE,
    BAD_TIME,
    RUBBISH,
    KINDS
};

static const int codes[KINDS] = {
    [GOOD] = GRPC_OK,
    [NO_FAMILY] = GRPC_NOT_FOUND,
    [NO_ROW] = GRPC_INVALID_ARGUMENT,
    [NO_TABLE] = GRPC_NOT_FOUND,
    [BAD_TIME] = GRPC_INVALID_ARGUMENT,
    [RUBBISH] = GRPC_INVALID_ARGUMENT,
};

/* Write @value to "row@row", or to what is not there. */
static void make_write(struct crowd_call *call,
                       enum kind kind,
                       size_t row,
                       const char *value)
{
    struct buf b = BUF_INIT;
    char name[32];
    snprintf(name, sizeof(name), "row%02zu", row);
    pb_put_bytes(&b, 1,
                 kind == NO_TABLE ? SLICE_LIT(TABLE "x") : SLICE_LIT(TABLE));
    if (kind != NO_ROW)
        pb_put_bytes(&b, 2, slice_str(name));
    put_set(&b, 3, kind == NO_FAMILY ? "nope" : "f", "q",
            kind == BAD_TIME ? 7 : 1000, slice_str(value));
    if (kind == RUBBISH)
        buf_append_byte(&b, '\x7');
    crowd_call_init(call, &b);
}

static void expect_value(size_t row, const char *want)
{
    struct quarry_table *t;
    struct buf got = BUF_INIT;
    bool found;
    char name[32];
    snprintf(name, sizeof(name), "row%02zu", row);
    ck_assert_int_eq(quarry_table_open(quarry, "inst.t", &t, NULL), 0);
    ck_assert_int_eq(
        quarry_get(t, slice_str(name), "f", SLICE_LIT("q"), &got, &found, NULL),
        0);
    ck_assert(found);
    ck_assert_str_eq(buf_cstr(&got), want);
    buf_close(&got);
    quarry_table_close(t);
}

static void write_crowd(struct grpc_client *c, struct rand_gen *r)
{
    struct crowd_call calls[CROWD];
    enum kind kinds[CROWD];
    char values[10][32]; /* The values of the rows. */
    size_t count = 1 + rand_below(r, CROWD);
    for (size_t i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof(name), "row%02zu", i);
        snprintf(values[i], sizeof(values[i]), "old");
        ck_assert_int_eq(write_cell(name, "f", "q", 1000, SLICE_LIT("old")),
                         GRPC_OK);
    }
    for (size_t i = 0; i < count; i++) {
        size_t row = rand_below(r, 10);
        char value[32];
        kinds[i] = rand_one_in(r, 3) ? (enum kind)rand_below(r, KINDS) : GOOD;
        snprintf(value, sizeof(value), "v%zu", i);
        make_write(&calls[i], kinds[i], row, value);
        if (kinds[i] == GOOD)
            memcpy(values[row], value, sizeof(value));
    }
    crowd_send(c, DATA "MutateRow", calls, count);
    crowd_await(c, calls, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(calls[i].code, codes[kinds[i]]);
        if (kinds[i] == NO_FAMILY)
            ck_assert_ptr_nonnull(strstr(buf_cstr(&calls[i].text), "nope"));
    }
    for (size_t i = 0; i < 10; i++)
        expect_value(i, values[i]);
    close_calls(calls, count);
}

static void run_rows(void *arg)
{
    struct grpc_client c = {.stream = 0};
    struct rand_gen r;
    (void)arg;
    open_all();
    rand_init(&r, test_seed());
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    crowd_open(&c, gateway_address(gateway));
    for (int round = 0; round < 30; round++)
        write_crowd(&c, &r);
    grpc_client_close(&c);
    close_all();
}

START_TEST(test_rows)
{
    /* Rows that are written together are written in their order, and what is
     * wrong with one of them is told to that one alone. */
    run(run_rows);
}

END_TEST

TEST_MAIN("together", test_crowd, test_crowd_lost, test_rows)
