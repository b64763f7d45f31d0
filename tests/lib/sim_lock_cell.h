/* A simulated cell of the lock service and its clients, for the tests of what
 * it promises. For one test program each.
 */
#ifndef TESTS_LIB_SIM_LOCK_CELL_H
#define TESTS_LIB_SIM_LOCK_CELL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/sim/sim_cluster.h"
#include "chubby-lite/chubby.h"
#include "chubby-lite/server.h"
#include "tests/lib/check_main.h"

enum {
    SERVERS_MAX = 5,
    SECOND = 1000000
};

/* --- the cell ------------------------------------------------------------ */

struct member {
    struct world *world;
    uint64_t id;
    struct chubby_server *server; /* While it runs. */
};

static UNUSED struct sim_cluster *cluster;
static UNUSED struct member members[SERVERS_MAX];
static UNUSED size_t member_count;
static UNUSED struct rpc_security *security;
/* Of chubby_server_options; NULL: everybody may. */
static UNUSED bool (*may_look)(void *ctx, struct slice principal);
static const char *const addresses[SERVERS_MAX] = {"s1:700", "s2:700", "s3:700",
                                                   "s4:700", "s5:700"};

static UNUSED int
serve(struct member *m, struct rpc_server *rpc, struct err *err)
{
    struct replica_member cell[SERVERS_MAX];
    struct chubby_server_options opts = {
        .replica = {.name = "test",
                    .directory = "/lock",
                    .id = m->id,
                    .members = cell,
                    .member_count = member_count,
                    .security = security,
                    .snapshot_log_bytes = 20000},
        .may_look = may_look,
    };
    struct rpc_listen_options listen = {.security = security};
    struct rpc_listener *listener = NULL;
    size_t i;
    int rc;

    for (i = 0; i < member_count; i++)
        cell[i] = (struct replica_member){i + 1, addresses[i], true};
    rc = chubby_server_open(m->world, rpc, &opts, &m->server, err);
    if (rc)
        return rc;
    rc = rpc_listen(rpc, addresses[m->id - 1], &listen, &listener, err);
    if (rc == 0)
        while (fiber_check(NULL) == 0)
            if (fiber_park_checked(NULL))
                break;
    rpc_listener_close(listener);
    chubby_server_close(m->server);
    m->server = NULL;
    return rc;
}

static UNUSED void server_main(void *arg)
{
    struct member *m = arg;
    struct rpc_server *rpc = rpc_server_new(m->world);
    struct err err = ERR_INIT;
    int rc = serve(m, rpc, &err);

    if (rc)
        sim_note(cluster, "server %d ends: %s", (int)m->id, err.text);
    /* Only a disk or a crash may keep it from serving. */
    ck_assert_msg(rc == 0 || rc == ERR_IO || rc == ERR_CANCELLED ||
                      rc == ERR_FULL || rc == ERR_CLOSED || rc == ERR_BUSY,
                  "%s", err.text);
    rpc_server_free(rpc);
}

static UNUSED void start(uint64_t seed, size_t servers)
{
    struct sim_options o = {.network_us = 300, .sync_us = 500};
    char name[32];
    size_t i;

    cluster = sim_cluster_new(seed);
    security = rpc_security_none("test", "ann");
    member_count = servers;
    for (i = 0; i < servers; i++) {
        snprintf(name, sizeof(name), "s%zu", i + 1);
        members[i] =
            (struct member){sim_machine_new(cluster, name, &o), i + 1, NULL};
    }
}

static UNUSED void boot_all(void)
{
    size_t i;

    for (i = 0; i < member_count; i++)
        sim_boot(members[i].world, server_main, &members[i]);
}

static UNUSED void stop_all(void)
{
    size_t i;

    for (i = 0; i < member_count; i++)
        if (sim_is_up(members[i].world))
            sim_stop(members[i].world);
}

static UNUSED void finish(void)
{
    rpc_security_free(security);
    sim_cluster_free(cluster);
}

static UNUSED struct member *leader(void)
{
    size_t i;

    for (i = 0; i < member_count; i++)
        if (members[i].server &&
            replica_is_leader(chubby_server_replica(members[i].server)))
            return &members[i];
    return NULL;
}

/* --- clients ------------------------------------------------------------- */

struct client {
    struct world *world;
    struct chubby *chubby;
    unsigned events; /* All that were told. */
};

static UNUSED void
on_event(void *ctx, struct chubby_handle *h, enum chubby_event e)
{
    struct client *c = ctx;

    (void)h;
    c->events |= (unsigned)e;
}

static UNUSED void join_with(struct client *c,
                             struct world *w,
                             uint32_t lease_ms,
                             const char *memo)
{
    struct chubby_options opts = {.memo = memo,
                                  .servers = addresses,
                                  .server_count = member_count,
                                  .security = security,
                                  .lease_ms = lease_ms,
                                  .grace_ms = 20000,
                                  .on_event = on_event,
                                  .ctx = c};
    struct err err = ERR_INIT;

    c->world = w;
    c->events = 0;
    ck_assert_msg(chubby_connect(w, &opts, &c->chubby, &err) == 0, "%s",
                  err.text);
}

static UNUSED void
join_cell(struct client *c, struct world *w, uint32_t lease_ms)
{
    join_with(c, w, lease_ms, NULL);
}

static UNUSED struct chubby_handle *
must_open(struct client *c, const char *path, unsigned flags, unsigned events)
{
    struct chubby_open_options opts = {.events = events, .lock_delay_ms = 2000};
    struct chubby_handle *h;
    struct err err = ERR_INIT;

    ck_assert_msg(chubby_open(c->chubby, path, flags, &opts, &h, &err) == 0,
                  "%s", err.text);
    return h;
}

static UNUSED void must_write(struct chubby_handle *h, const char *text)
{
    struct err err = ERR_INIT;

    ck_assert_msg(chubby_write(h, slice_str(text), 0, &err) == 0, "%s",
                  err.text);
}

static UNUSED void must_read(struct chubby_handle *h, const char *text)
{
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;

    ck_assert_msg(chubby_read(h, &b, NULL, &err) == 0, "%s", err.text);
    ck_assert_str_eq(buf_cstr(&b), text);
    buf_close(&b);
}

static UNUSED void sleep_us(uint64_t us)
{
    world_sleep_us(sim_director(cluster), us);
}

enum {
    RW = CHUBBY_READ | CHUBBY_WRITE,
    MAKE = RW | CHUBBY_CREATE
};

#endif /* TESTS_LIB_SIM_LOCK_CELL_H */
