/* Messages of a cluster at its first version are, byte for byte, those of
 * release 0.1; a member that learns of a version that its program does not
 * speak fails by name and takes no entry, and the others continue. */
#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/hex.h"
#include "base/replica/replica.h"
#include "base/replica/replica_message.h"
#include "base/rpc/remote.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"

/* --- Messages ------------------------------------------------------------ */

/* An append of one entry, as release 0.1 sends it. */
static const char *const first_body =
    "9fcf112233445566778803000102070506040903000000cd03e8";
static const char *const first_attachment = "070103616263";

static size_t bytes_of(const char *hex, unsigned char *out)
{
    size_t count = strlen(hex) / 2;
    ck_assert(hex_decode(hex, count, out));
    return count;
}

static struct raft_message an_append(struct raft_entry *e)
{
    *e = (struct raft_entry){.term = 7,
                             .kind = RAFT_ENTRY_COMMAND,
                             .bytes = raft_bytes_new(slice_str("abc"))};
    return (struct raft_message){.kind = RAFT_APPEND,
                                 .from = 1,
                                 .to = 2,
                                 .term = 7,
                                 .index = 5,
                                 .index_term = 6,
                                 .commit = 4,
                                 .round = 9,
                                 .hint_index = 3,
                                 .silence_us = 1000,
                                 .entries = e,
                                 .entry_count = 1};
}

START_TEST(test_first_version_is_spoken_as_before)
{
    unsigned char body[64], attachment[64];
    size_t body_len = bytes_of(first_body, body);
    size_t attachment_len = bytes_of(first_attachment, attachment);
    struct raft_entry e;
    struct raft_message m = an_append(&e), got;
    struct buf b = BUF_INIT, a = BUF_INIT;
    uint64_t cell;
    for (uint32_t version = 0; version <= 1; version++) {
        m.version = version;
        buf_clear(&b);
        buf_clear(&a);
        message_encode(UINT64_C(0x1122334455667788), &m, &b, &a);
        ck_assert(slice_eq(buf_slice(&b), slice_make(body, body_len)));
        ck_assert(
            slice_eq(buf_slice(&a), slice_make(attachment, attachment_len)));
    }
    ck_assert_int_eq(message_decode(slice_make(body, body_len),
                                    slice_make(attachment, attachment_len),
                                    &cell, &got, NULL),
                     0);
    ck_assert_uint_eq(got.version, 0);
    ck_assert_uint_eq(got.entry_count, 1);
    raft_message_close(&got);
    m.version = 2;
    buf_clear(&b);
    buf_clear(&a);
    message_encode(cell, &m, &b, &a);
    ck_assert_uint_gt(b.len, body_len);
    ck_assert_int_eq(
        message_decode(buf_slice(&b), buf_slice(&a), &cell, &got, NULL), 0);
    ck_assert_uint_eq(got.version, 2);
    raft_message_close(&got);
    raft_bytes_unref(e.bytes);
    buf_close(&b);
    buf_close(&a);
}

END_TEST

/* --- A cell -------------------------------------------------------------- */

enum {
    NODES = 3
};

static struct {
    struct replica *replica;
    struct rpc_server *server;
    struct rpc_listener *listener;
    uint64_t applied;
    uint32_t known;
} nodes[NODES];
static struct world *world;

static void
count_apply(void *ctx, uint64_t index, struct slice command, struct buf *reply)
{
    uint64_t *applied = ctx;
    (void)index;
    (void)command;
    (void)reply;
    ++*applied;
}

static void count_save(void *ctx, struct buf *out)
{
    buf_put_le64(out, *(uint64_t *)ctx);
}

static int count_load(void *ctx, struct slice image, struct err *err)
{
    (void)err;
    *(uint64_t *)ctx = image.len == 8 ? get_le64(image.data) : 0;
    return 0;
}

static void open_cell(void)
{
    static const struct replica_member members[NODES] = {
        {1, "sim:0", true}, {2, "sim:1", true}, {3, "sim:2", true}};
    for (size_t i = 0; i < NODES; i++) {
        struct replica_machine machine = {.ctx = &nodes[i].applied,
                                          .apply = count_apply,
                                          .save = count_save,
                                          .load = count_load};
        char directory[16];
        struct replica_options o = {.name = "test",
                                    .directory = directory,
                                    .id = i + 1,
                                    .members = members,
                                    .member_count = NODES,
                                    .version = &nodes[i].known,
                                    .versions = {1, i == 2 ? 1 : 2}};
        snprintf(directory, sizeof(directory), "/n%zu", i);
        nodes[i].known = 1;
        nodes[i].server = rpc_server_new(world);
        ck_assert_int_eq(replica_open(world, nodes[i].server, &machine, &o,
                                      &nodes[i].replica, NULL),
                         0);
        ck_assert_int_eq(rpc_listen(nodes[i].server, members[i].address, NULL,
                                    &nodes[i].listener, NULL),
                         0);
    }
}

/* Have one of the first two, which are new, execute a command. */
static void propose(void)
{
    for (int tries = 0; tries < 4000; tries++) {
        for (size_t i = 0; i < 2; i++)
            if (replica_is_leader(nodes[i].replica) &&
                replica_propose(nodes[i].replica, slice_str("x"), NULL, NULL) ==
                    0)
                return;
        if (replica_is_leader(nodes[2].replica))
            (void)!replica_transfer(nodes[2].replica, 1, NULL);
        world_sleep_us(world, 5000);
    }
    ck_abort_msg("no leader");
}

static void run_cell(void *arg)
{
    struct err err = ERR_INIT;
    uint64_t before;
    (void)arg;
    open_cell();
    propose();
    for (int i = 0; i < 1000 && nodes[2].applied == 0; i++)
        world_sleep_us(world, 5000);
    ck_assert_uint_eq(nodes[2].applied, 1); /* A mixed cell. */
    ck_assert_int_eq(replica_health(nodes[2].replica, NULL), 0);
    nodes[0].known = nodes[1].known = 2;
    before = nodes[2].applied;
    for (int i = 0; i < 20; i++)
        propose();
    world_sleep_us(world, 1000000);
    ck_assert_int_eq(replica_health(nodes[2].replica, &err), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "the cluster is at version 2"));
    ck_assert_uint_eq(nodes[2].applied, before);
    ck_assert_uint_ge(nodes[0].applied, 21);
    for (size_t i = 0; i < NODES; i++)
        rpc_listener_close(nodes[i].listener);
    for (size_t i = 0; i < NODES; i++) {
        replica_close(nodes[i].replica);
        rpc_server_free(nodes[i].server);
    }
}

START_TEST(test_older_member_refuses)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        memset(nodes, 0, sizeof(nodes));
        world = sim_world_new(&(struct sim_options){
            .seed = seed, .network_us = 200, .sync_us = 300});
        sim_run(world, run_cell, NULL);
        world_free(world);
    }
}

END_TEST

TEST_MAIN("member_version",
          test_first_version_is_spoken_as_before,
          test_older_member_refuses)
