/* Shared by tests of the public API: a gateway in the simulated world, a
 * client of our own whose messages are built by hand, and the rows of its
 * replies as text.
 */
#ifndef TESTS_UNIT_GATEWAY_FIXTURE_H
#define TESTS_UNIT_GATEWAY_FIXTURE_H

#include "base/core/pb.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/gateway/gateway.h"
#include "bigtable/gateway/grpc_status.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"
#include "tests/lib/grpc_client.h"

#define DATA     "/google.bigtable.v2.Bigtable/"
#define TABLES   "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define INSTANCE "projects/p/instances/inst"
#define TABLE    INSTANCE "/tables/t"

/* --- Fixture ------------------------------------------------------------- */

static struct world *world;
static struct quarry *quarry;
static struct gateway *gateway;
static struct grpc_client client;
static struct grpc_reply reply; /* Of the last call. */

static inline void open_all(void)
{
    const struct quarry_options o = {.world = world, .background_tasks = 1};
    const struct gateway_options g = {
        .address = "gateway:80", .together = true, .workers = 2};
    struct err err = ERR_INIT;
    ck_assert_msg(quarry_open("file:/q", &o, &quarry, &err) == 0, "%s",
                  err.text);
    ck_assert_int_eq(gateway_open(world, quarry, &g, &gateway, NULL), 0);
    client = (struct grpc_client){.stream = 0};
    grpc_client_open(&client, gateway_address(gateway));
}

static inline void close_all(void)
{
    grpc_reply_close(&reply);
    reply = (struct grpc_reply){.code = -1};
    grpc_client_close(&client);
    gateway_close(gateway);
    quarry_close(quarry);
}

static inline void run(task_fn fn)
{
    world = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(world, fn, NULL);
    world_free(world);
}

/* --- Helpers ------------------------------------------------------------- */

/* Call @path with the message in @b, which is closed; the status's code. */
static inline int call(const char *path, struct buf *b)
{
    grpc_reply_close(&reply);
    ck_assert_int_eq(grpc_client_call(&client, path, buf_slice(b), &reply), 0);
    buf_close(b);
    return reply.code;
}

/* The same with a name in field 1. */
static inline int call_named(const char *path, const char *name)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, slice_str(name));
    return call(path, &b);
}

static inline void put_set(struct buf *b,
                           unsigned number,
                           const char *family,
                           const char *qualifier,
                           int64_t us,
                           struct slice value)
{
    size_t mutation = pb_open(b, number);
    size_t set = pb_open(b, 1);
    pb_put_bytes(b, 1, slice_str(family));
    pb_put_bytes(b, 2, slice_str(qualifier));
    pb_put_integer(b, 3, us);
    pb_put_bytes(b, 4, value);
    pb_close(b, set);
    pb_close(b, mutation);
}

static inline void put_family(struct buf *b, const char *name, int versions)
{
    size_t entry = pb_open(b, 3);
    size_t family;
    size_t rule;
    pb_put_bytes(b, 1, slice_str(name));
    family = pb_open(b, 2);
    rule = pb_open(b, 1);
    if (versions)
        pb_put_integer(b, 1, versions);
    pb_close(b, rule);
    pb_close(b, family);
    pb_close(b, entry);
}

static inline int create_table(const char *id)
{
    struct buf b = BUF_INIT;
    size_t table;
    pb_put_bytes(&b, 1, SLICE_LIT(INSTANCE));
    pb_put_bytes(&b, 2, slice_str(id));
    table = pb_open(&b, 3);
    put_family(&b, "f", 2);
    put_family(&b, "g", 0);
    pb_close(&b, table);
    return call(TABLES "CreateTable", &b);
}

static inline int write_cell(const char *row,
                             const char *family,
                             const char *qualifier,
                             int64_t us,
                             struct slice value)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_bytes(&b, 2, slice_str(row));
    put_set(&b, 3, family, qualifier, us, value);
    return call(DATA "MutateRow", &b);
}

static inline struct buf read_request(void)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    return b;
}

/* The reply of ReadRows as text: "row{f:q@us=value ...}\n", as a client puts
 * chunks together. */
struct reader {
    struct buf out;
    struct buf family;
    struct buf qualifier;
    struct buf value;
    bool in_row;
    bool in_value;
};

static inline void take_chunk(struct reader *r, struct slice chunk)
{
    struct cursor c = cursor_make(chunk);
    struct pb_field f;
    int64_t us = 0;
    uint64_t size = 0;
    bool commit = false;
    bool first = !r->in_value;
    struct slice value = SLICE_EMPTY;
    while (pb_next(&c, &f)) {
        if (pb_is_bytes(&f, 1)) {
            ck_assert(!r->in_row);
            buf_append_slice(&r->out, f.bytes);
            buf_append_str(&r->out, "{");
            r->in_row = true;
        } else if (pb_is_bytes(&f, 2)) {
            buf_clear(&r->family);
            buf_append_slice(&r->family, pb_find(f.bytes, 1));
        } else if (pb_is_bytes(&f, 3)) {
            buf_clear(&r->qualifier);
            buf_append_slice(&r->qualifier, pb_find(f.bytes, 1));
        } else if (pb_is_integer(&f, 4)) {
            us = (int64_t)f.integer;
        } else if (pb_is_bytes(&f, 6)) {
            value = f.bytes;
        } else if (pb_is_integer(&f, 7)) {
            size = f.integer;
        } else if (pb_is_integer(&f, 9)) {
            commit = f.integer != 0;
        }
    }
    ck_assert(!c.bad && r->in_row);
    if (first)
        buf_printf(&r->out, "%s:%s@%lld=", buf_cstr(&r->family),
                   buf_cstr(&r->qualifier), (long long)us);
    buf_append_slice(&r->value, value);
    r->in_value = size > 0;
    if (r->in_value) {
        ck_assert(!commit);
        return;
    }
    if (r->value.len > 100)
        buf_printf(&r->out, "<%zu>", r->value.len);
    else
        buf_append_slice(&r->out, buf_slice(&r->value));
    buf_clear(&r->value);
    buf_append_str(&r->out, commit ? "}\n" : " ");
    r->in_row = !commit;
}

/* Owned. */
static inline char *rows_text(void)
{
    struct reader r = {.in_row = false};
    struct slice message;
    size_t at = 0;
    while (grpc_reply_next(&reply, &at, &message)) {
        struct cursor c = cursor_make(message);
        struct pb_field f;
        while (pb_next(&c, &f))
            if (pb_is_bytes(&f, 1))
                take_chunk(&r, f.bytes);
        ck_assert(!c.bad);
        ck_assert(!r.in_row); /* Clients want whole rows in a message. */
    }
    buf_close(&r.family);
    buf_close(&r.qualifier);
    buf_close(&r.value);
    return buf_take(&r.out);
}

static inline void expect_rows(const char *expected)
{
    char *text = rows_text();
    ck_assert_int_eq(reply.code, GRPC_OK);
    ck_assert_str_eq(text ? text : "", expected);
    mem_free(text);
}

static inline void read_all(void)
{
    struct buf b = read_request();
    call(DATA "ReadRows", &b);
}

#endif /* TESTS_UNIT_GATEWAY_FIXTURE_H */
