/* Fixture for tests of authentication: a real and a simulated world, files, and
 * a server that says who calls. For one test program each.
 */
#ifndef TESTS_UNIT_RPC_SECURITY_FIXTURE_H
#define TESTS_UNIT_RPC_SECURITY_FIXTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/metrics/metrics.h"
#include "base/rpc/handshake.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/sim/sim_cluster.h"
#include "tests/lib/check_main.h"

enum {
    WHO = 1,
    GUARDED = 2,
    BLOB = 3000000
};

/* --- Fixture: worlds ----------------------------------------------------- */

static UNUSED struct world *world;
static UNUSED const char *address;
static UNUSED struct metrics *metrics;
static UNUSED char dir[300];

static UNUSED const char *path_of(const char *name)
{
    static char paths[8][400];
    static unsigned at;
    char *p = paths[at++ % 8];
    snprintf(p, 400, "%s/%s", dir, name);
    return p;
}

/* Files lie in the real world, whichever the test runs in. */
static UNUSED void put_file(const char *name, const char *text, unsigned mode)
{
    FILE *f = fopen(path_of(name), "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    ck_assert_int_eq(chmod(path_of(name), mode), 0);
}

static UNUSED void in_real_world(task_fn fn)
{
    struct err err = ERR_INIT;
    struct loop *l;
    address = "127.0.0.1:0";
    world = world_real_new();
    metrics = metrics_new();
    ck_assert_int_eq(loop_new(world, "rpc", &l, &err), 0);
    loop_start(l);
    loop_call(l, "test", fn, NULL);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    metrics_free(metrics);
    world_free(world);
}

static UNUSED struct rpc_security *
must_key(const char *cluster, const char *principal, const char *file)
{
    struct rpc_security *s;
    struct err err = ERR_INIT;
    ck_assert_msg(rpc_security_key(world, cluster, principal, path_of(file), &s,
                                   &err) == 0,
                  "%s", err.text);
    return s;
}

/* --- Fixture: a server that says who calls ------------------------------- */

static UNUSED struct rpc_server *server;
static UNUSED struct rpc_listener *listener;

static UNUSED int who(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_slice(call->reply_body, call->principal);
    if (!slice_eq(call->actor, call->principal))
        buf_printf(call->reply_body, " by %.*s", SLICE_ARG(call->actor));
    buf_append_slice(call->reply_attachment, call->attachment);
    return 0;
}

static UNUSED bool is_gateway(void *ctx, struct slice connected)
{
    (void)ctx;
    return slice_eq_str(connected, "gateway");
}

static uint64_t patience_us = 20000000; /* With a handshake. */

static UNUSED void start(const struct rpc_security *s)
{
    static const struct rpc_method methods[] = {
        {WHO, "who", who, 0}, {GUARDED, "guarded", who, RPC_METHOD_INTERNAL}};
    struct rpc_listen_options o = {
        .security = s, .metrics = metrics, .handshake_us = patience_us};
    struct err err = ERR_INIT;
    server = rpc_server_new(world);
    rpc_server_add(server, methods, 2, NULL);
    rpc_server_let_act(server, is_gateway, NULL);
    ck_assert_msg(rpc_listen(server, address, &o, &listener, &err) == 0, "%s",
                  err.text);
}

static UNUSED void stop(void)
{
    rpc_listener_close(listener);
    rpc_server_free(server);
}

/* The caller's name as the server sees it, for a call with @s on behalf of
 * @act_as; "" when it does not get in, with the reason in @err. */
static UNUSED const char *
name_acting(const struct rpc_security *s, const char *act_as, struct err *err)
{
    struct rpc_call_options o = {.act_as = slice_str(act_as)};
    static char name[200];
    struct rpc_channel *c =
        rpc_channel_new(rpc_listener_address(listener),
                        &(struct rpc_channel_options){
                            .security = s, .connect_timeout_us = 20000000});
    struct buf body = BUF_INIT;
    int rc = rpc_call(c, WHO, &o, SLICE_EMPTY, SLICE_EMPTY, &body, NULL, err);
    snprintf(name, sizeof(name), "%s", rc ? "" : buf_cstr(&body));
    buf_close(&body);
    rpc_channel_free(c);
    return name;
}

static UNUSED const char *name_of(const struct rpc_security *s, struct err *err)
{
    return name_acting(s, "", err);
}

static UNUSED uint64_t refused(const char *why)
{
    return metric_read(metrics_counter(metrics, METRIC_rpc_refused_connections,
                                       METRIC_LABELS(why)));
}

#endif /* TESTS_UNIT_RPC_SECURITY_FIXTURE_H */
