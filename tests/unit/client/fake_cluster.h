/* A cluster in this process, for tests: a real lock service and, over one
 * embedded store, tablet servers and a master that do what they are told to:
 * move and split tablets between two answers, lose answers, refuse.
 *
 *     struct fake *f = fake_new(3);
 *     quarry_open(fake_target(f), NULL, &q, &err);
 *     fake_split(f, "t", SLICE_LIT("m"));
 *     fake_free(f);
 *
 * Servers run on a loop of their own; functions here are called by the test's
 * thread.
 */
#ifndef TESTS_UNIT_CLIENT_FAKE_CLUSTER_H
#define TESTS_UNIT_CLIENT_FAKE_CLUSTER_H

#include <stdio.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "tests/unit/client/fake/changes.h"
#include "tests/unit/client/fake/master.h"
#include "tests/unit/client/fake/programs.h"
#include "tests/unit/client/fake/reads.h"

/* --- life ---------------------------------------------------------------- */

static const struct rpc_method fake_methods[] = {
    {TABLET_READ, "tablet.read", fake_read, 0},
    {TABLET_READ_EACH, "tablet.read_each", fake_read_each, 0},
    {TABLET_APPLY, "tablet.apply", fake_apply, 0},
    {TABLET_CHECK, "tablet.check", fake_check, 0},
    {TABLET_MODIFY, "tablet.modify", fake_modify, 0},
    {TABLET_RUN, "tablet.run", fake_run, 0},
    {TABLET_CUTS, "tablet.cuts", fake_cuts, 0},
    {TABLET_DESCRIBE, "tablet.describe", fake_describe, 0},
};

static inline bool fake_lets_act(void *ctx, struct slice connected)
{
    (void)ctx;
    (void)connected;
    return true;
}

/* Whatever he asks for, FAKE_REFUSED is refused it. */
static inline int fake_admit(const struct rpc_call *call, struct err *e)
{
    if (slice_eq_str(call->principal, FAKE_REFUSED))
        return err_set(e, ERR_DENIED, FAKE_REFUSED " may not");
    return 0;
}

static inline int fake_gate(void *ctx, struct rpc_call *call, struct err *e)
{
    int rc = fake_admit(call, e);
    for (size_t i = 0; i < ARRAY_LEN(fake_methods) && rc == 0; i++)
        if (fake_methods[i].id == call->method)
            return fake_methods[i].handler(ctx, call, e);
    return rc;
}

static inline int
fake_order_gate(void *ctx, struct rpc_call *call, struct err *e)
{
    int rc = fake_admit(call, e);
    return rc ? rc : fake_order(ctx, call, e);
}

static inline void fake_serve(struct fake *f)
{
    struct rpc_method methods[ARRAY_LEN(fake_methods)];
    const struct rpc_listen_options listen = {.security = f->security};
    struct err e = ERR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        methods[i] = (struct rpc_method){.id = fake_methods[i].id,
                                         .name = fake_methods[i].name,
                                         .handler = fake_gate};
    for (unsigned i = 0; i < f->server_count; i++) {
        struct fake_server *s = &f->servers[i];
        s->fake = f;
        s->index = i;
        s->rpc = rpc_server_new(f->world);
        rpc_server_add(s->rpc, methods, ARRAY_LEN(methods), s);
        rpc_server_let_act(s->rpc, fake_lets_act, NULL);
        fake_must(rpc_listen(s->rpc, "127.0.0.1:0", &listen, &s->listener, &e),
                  &e);
    }
}

/* The lock service, and the master beside it. */
static inline void fake_lock(struct fake *f, const char *dir)
{
    static const struct rpc_method orders[] = {
        {MASTER_CREATE_TABLE, "master.create", fake_order_gate, 0},
        {MASTER_DROP_TABLE, "master.drop", fake_order_gate, 0},
        {MASTER_ALTER_TABLE, "master.alter", fake_order_gate, 0},
        {MASTER_SPLIT, "master.split", fake_order_gate, 0},
        {MASTER_COMPACT, "master.compact", fake_order_gate, 0},
        {MASTER_FLUSH, "master.flush", fake_order_gate, 0},
        {MASTER_DROP_ROWS, "master.drop_rows", fake_order_gate, 0},
    };
    struct replica_member member = {1, "127.0.0.1:1", true};
    struct chubby_server_options o = {.replica = {.name = "fake",
                                                  .directory = dir,
                                                  .id = 1,
                                                  .members = &member,
                                                  .member_count = 1,
                                                  .election_ms = 20,
                                                  .heartbeat_ms = 10}};
    const char *server = f->target;
    struct chubby_options c = {
        .servers = &server, .server_count = 1, .security = f->security};
    const struct rpc_listen_options listen = {.security = f->security};
    struct err e = ERR_INIT;
    f->lock_rpc = rpc_server_new(f->world);
    fake_must(
        chubby_server_open(f->world, f->lock_rpc, &o, &f->lock_server, &e), &e);
    rpc_server_add(f->lock_rpc, orders, ARRAY_LEN(orders), f);
    rpc_server_let_act(f->lock_rpc, fake_lets_act, NULL);
    fake_must(
        rpc_listen(f->lock_rpc, "127.0.0.1:0", &listen, &f->lock_listener, &e),
        &e);
    snprintf(f->target, sizeof(f->target), "%s",
             rpc_listener_address(f->lock_listener));
    fake_must(chubby_connect(f->world, &c, &f->chubby, &e), &e);
}

static inline void fake_begin(void *arg)
{
    struct fake *f = arg;
    static const struct quarry_family_spec family = {"t", "versions=1"};
    char dir[512];
    struct buf end = BUF_INIT;
    struct err e = ERR_INIT;
    snprintf(dir, sizeof(dir), "%s/lock", test_tmpdir());
    fake_serve(f);
    fake_lock(f, dir);
    fake_make_directory(f, BIGTABLE_LOCK_ROOT);
    fake_make_directory(f, BIGTABLE_LOCK_TABLES);
    fake_must(
        quarry_table_create(f->store, METADATA_TABLE, &family, 1, NULL, 0, &e),
        &e);
    metadata_root_end(&end);
    fake_record(f, fake_add(f, METADATA_TABLE_ID, METADATA_TABLE, SLICE_EMPTY,
                            buf_slice(&end), 0));
    fake_record(f, fake_add(f, METADATA_TABLE_ID, METADATA_TABLE,
                            buf_slice(&end), SLICE_EMPTY, 1));
    fake_write_file(f, BIGTABLE_LOCK_MASTER, slice_str(f->target));
    buf_close(&end);
}

static inline struct fake *fake_new(unsigned servers)
{
    struct fake *f = mem_zalloc(1, sizeof(*f));
    struct quarry_options o = {.memtable_bytes = 8 << 20};
    struct err e = ERR_INIT;
    char target[512];
    f->world = world_real_new();
    f->security = rpc_security_none("quarry", "fake");
    f->server_count = servers;
    f->next_id = 10;
    f->next_table = FIRST_USER_TABLE_ID;
    hash_map_init(&f->answers, HASH_KEYS_COPIED);
    snprintf(target, sizeof(target), "file:%s/store", test_tmpdir());
    fake_must(quarry_open(target, &o, &f->store, &e), &e);
    fake_must(loop_new(f->world, "fake", &f->loop, &e), &e);
    loop_start(f->loop);
    loop_call(f->loop, "fake begin", fake_begin, f);
    return f;
}

static inline const char *fake_target(const struct fake *f)
{
    return f->target;
}

static inline void fake_end(void *arg)
{
    struct fake *f = arg;
    chubby_disconnect(f->chubby);
    for (unsigned i = 0; i < f->server_count; i++)
        rpc_listener_close(f->servers[i].listener);
    rpc_listener_close(f->lock_listener);
    chubby_server_close(f->lock_server);
    rpc_server_free(f->lock_rpc);
    for (unsigned i = 0; i < f->server_count; i++)
        rpc_server_free(f->servers[i].rpc);
}

static inline void fake_free(struct fake *f)
{
    struct hash_slot *slot;
    size_t at = 0;
    loop_call(f->loop, "fake end", fake_end, f);
    loop_stop(f->loop);
    loop_join(f->loop);
    loop_free(f->loop);
    quarry_close(f->store);
    rpc_security_free(f->security);
    world_free(f->world);
    while ((slot = hash_map_next(&f->answers, &at))) {
        buf_close(slot->value.pointer);
        buf_close((struct buf *)slot->value.pointer + 1);
        mem_free(slot->value.pointer);
    }
    hash_map_close(&f->answers);
    for (size_t i = 0; i < f->tablet_count; i++) {
        buf_close(&f->tablets[i].start);
        buf_close(&f->tablets[i].end);
    }
    for (size_t i = 0; i < f->table_count; i++)
        schema_free(f->tables[i].schema);
    mem_free(f);
}

/* --- what tests make happen ---------------------------------------------- */

struct fake_event {
    struct fake *fake;
    const char *table;
    struct slice row;
};

static inline void fake_do_move(void *arg)
{
    struct fake_event *e = arg;
    fake_move_tablet(e->fake, fake_find(e->fake, e->table, e->row));
}

static inline void fake_do_split(void *arg)
{
    struct fake_event *e = arg;
    fake_split_tablet(e->fake, fake_find(e->fake, e->table, e->row), e->row);
}

/* The tablet of @row goes to the next server. */
static inline void
fake_move(struct fake *f, const char *table, struct slice row)
{
    struct fake_event e = {f, table, row};
    loop_call(f->loop, "move", fake_do_move, &e);
}

static inline void
fake_split(struct fake *f, const char *table, struct slice row)
{
    struct fake_event e = {f, table, row};
    loop_call(f->loop, "split", fake_do_split, &e);
}

#endif /* TESTS_UNIT_CLIENT_FAKE_CLUSTER_H */
