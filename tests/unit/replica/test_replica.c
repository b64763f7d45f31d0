/* A member of a cell keeps what it acknowledged, alone and among others, over
 * restarts, loss of power and changes of leader. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/crypt/master_key.h"
#include "base/replica/replica.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"

/* --- Fixture: a machine that sums numbers and counts commands ------------ */

struct sums {
    uint64_t sum;
    uint64_t count;
    bool leading;
    uint64_t last_index;
};

static void
sums_apply(void *ctx, uint64_t index, struct slice command, struct buf *reply)
{
    struct sums *s = ctx;
    ck_assert_uint_gt(index, s->last_index);
    s->last_index = index;
    if (command.len >= 8)
        s->sum += get_le64(command.data);
    s->count++;
    buf_put_le64(reply, s->sum);
}

static void sums_save(void *ctx, struct buf *out)
{
    struct sums *s = ctx;
    buf_put_le64(out, s->sum);
    buf_put_le64(out, s->count);
    buf_put_le64(out, s->last_index);
}

static int sums_load(void *ctx, struct slice image, struct err *err)
{
    struct sums *s = ctx;
    struct cursor c = cursor_make(image);
    *s = (struct sums){.leading = s->leading};
    if (image.len == 0)
        return 0;
    s->sum = cursor_le64(&c);
    s->count = cursor_le64(&c);
    s->last_index = cursor_le64(&c);
    return c.bad ? err_set(err, ERR_CORRUPT, "sums") : 0;
}

static void sums_lead(void *ctx, bool leading, uint64_t term)
{
    struct sums *s = ctx;
    (void)term;
    s->leading = leading;
}

enum {
    NODES = 3
};

struct node {
    struct sums sums;
    struct replica *replica;
    struct rpc_server *server;
    struct rpc_listener *listener;
};

static struct world *world;
static struct node nodes[NODES];
static struct replica_member members[NODES];
static char addresses[NODES][256];
static char directories[NODES][256];
static const char *base;
static uint64_t snapshot_log_bytes;

static void plan(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(base, "/cells") == 0)
            snprintf(addresses[i], sizeof(addresses[i]), "sim:%zu", i);
        else
            snprintf(addresses[i], sizeof(addresses[i]), "unix:%s/s%zu", base,
                     i);
        snprintf(directories[i], sizeof(directories[i]), "%s/n%zu", base, i);
        members[i] = (struct replica_member){i + 1, addresses[i], true};
    }
}

/* With $QUARRY_TEST_ENCRYPTED: each member's directory is encrypted. */
static struct master_keys *encryption_keys(void)
{
    static const unsigned char bytes[32] = "a master key";
    static struct master_keys *keys;
    if (!keys && getenv("QUARRY_TEST_ENCRYPTED"))
        keys = master_keys_of(bytes);
    return keys;
}

static int try_start(size_t i, size_t count, struct err *err)
{
    struct node *n = &nodes[i];
    struct replica_machine machine = {&n->sums, sums_apply, sums_save,
                                      sums_load, sums_lead};
    struct replica_options opts = {.name = "test",
                                   .directory = directories[i],
                                   .id = i + 1,
                                   .members = members,
                                   .member_count = count,
                                   .snapshot_log_bytes = snapshot_log_bytes,
                                   .master_keys = encryption_keys()};
    int rc;
    memset(n, 0, sizeof(*n));
    n->server = rpc_server_new(world);
    rc = replica_open(world, n->server, &machine, &opts, &n->replica, err);
    if (rc == 0 && count > 1)
        rc = rpc_listen(n->server, addresses[i], NULL, &n->listener, err);
    if (rc) {
        replica_close(n->replica);
        n->replica = NULL;
        rpc_server_free(n->server);
    }
    return rc;
}

static void start(size_t i, size_t count)
{
    struct err err = ERR_INIT;
    int rc = try_start(i, count, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
}

static void stop(size_t i)
{
    struct node *n = &nodes[i];
    rpc_listener_close(n->listener);
    replica_close(n->replica);
    rpc_server_free(n->server);
    memset(n, 0, sizeof(*n));
}

/* The member that leads; waits for one. */
static struct node *leader(size_t count)
{
    for (int tries = 0; tries < 4000; tries++) {
        for (size_t i = 0; i < count; i++)
            if (nodes[i].replica && replica_is_leader(nodes[i].replica))
                return &nodes[i];
        world_sleep_us(world, 5000);
    }
    ck_abort_msg("no leader within 20 s");
}

static uint64_t add(struct node *n, uint64_t number)
{
    struct err err = ERR_INIT;
    struct buf reply = BUF_INIT;
    char bytes[8];
    uint64_t sum;
    int rc;
    put_le64(bytes, number);
    rc = replica_propose(n->replica, slice_make(bytes, 8), &reply, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
    ck_assert_uint_eq(reply.len, 8);
    sum = get_le64(reply.data);
    buf_close(&reply);
    return sum;
}

/* Add one, which makes @sum, to a cell whose leader may change: on a busy
 * machine heartbeats come late. A proposal that failed was executed or not; the
 * leader knows which, after a barrier. */
static void add_to_cell(size_t count, uint64_t sum)
{
    for (int tries = 0; tries < 1000; tries++) {
        struct buf reply = BUF_INIT;
        struct node *n = leader(count);
        char bytes[8];
        int rc = replica_read_barrier(n->replica, NULL);
        if (rc == 0 && n->sums.sum == sum)
            return;
        put_le64(bytes, 1);
        if (rc == 0) {
            ck_assert_uint_eq(n->sums.sum, sum - 1);
            rc =
                replica_propose(n->replica, slice_make(bytes, 8), &reply, NULL);
        }
        if (rc == 0)
            ck_assert_uint_eq(get_le64(reply.data), sum);
        buf_close(&reply);
        if (rc == 0)
            return;
        ck_assert_int_eq(rc, ERR_UNAVAILABLE);
        world_sleep_us(world, 20000);
    }
    ck_abort_msg("no leader for long enough");
}

static void await_sum(const struct node *n, uint64_t sum)
{
    for (int tries = 0; tries < 4000 && n->sums.sum < sum; tries++)
        world_sleep_us(world, 5000);
    ck_assert_uint_eq(n->sums.sum, sum);
}

/* Run @fn on a fiber, in the real world and in the simulated one. */
static void everywhere(task_fn fn)
{
    struct err err = ERR_INIT;
    struct loop *l;
    base = test_tmpdir();
    world = world_real_new();
    ck_assert_int_eq(loop_new(world, "replica", &l, &err), 0);
    loop_start(l);
    loop_call(l, "test", fn, NULL);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    world_free(world);
    base = "/cells";
    for (uint64_t seed = 0; seed < 4; seed++) {
        world = sim_world_new(&(struct sim_options){
            .seed = seed, .network_us = 200, .sync_us = 300});
        sim_run(world, fn, NULL);
        world_free(world);
    }
}

/* --- One member ---------------------------------------------------------- */

static void one_member(void *arg)
{
    (void)arg;
    plan(1);
    snapshot_log_bytes = 20000;
    for (int round = 0; round < 3; round++) {
        struct err err = ERR_INIT;
        start(0, 1);
        ck_assert_ptr_eq(leader(1), &nodes[0]);
        ck_assert_uint_eq(nodes[0].sums.count, (unsigned)round * 1000);
        for (unsigned i = 1; i <= 1000; i++)
            ck_assert_uint_eq(add(&nodes[0], 1), (unsigned)round * 1000 + i);
        ck_assert_int_eq(replica_read_barrier(nodes[0].replica, &err), 0);
        ck_assert_uint_eq(nodes[0].sums.count, (unsigned)(round + 1) * 1000);
        stop(0);
    }
}

START_TEST(test_a_member_alone_keeps_what_it_acknowledged)
{
    everywhere(one_member);
}

END_TEST

/* --- Three members ------------------------------------------------------- */

static void three_members(void *arg)
{
    (void)arg;
    plan(3);
    snapshot_log_bytes = 20000;
    for (size_t i = 0; i < 3; i++)
        start(i, 3);
    for (unsigned i = 1; i <= 500; i++)
        add_to_cell(3, i);
    stop((size_t)(leader(3) - nodes));
    for (unsigned i = 501; i <= 1000; i++)
        add_to_cell(3, i);
    for (size_t i = 0; i < 3; i++)
        if (!nodes[i].replica)
            start(i, 3);
    for (unsigned i = 1001; i <= 1500; i++)
        add_to_cell(3, i);
    for (size_t i = 0; i < 3; i++)
        await_sum(&nodes[i], 1500);
    for (size_t i = 0; i < 3; i++)
        stop(i);
}

START_TEST(test_three_members_go_on_without_their_leader)
{
    everywhere(three_members);
}

END_TEST

TEST_MAIN("replica",
          test_a_member_alone_keeps_what_it_acknowledged,
          test_three_members_go_on_without_their_leader)
