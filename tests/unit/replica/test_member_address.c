/* A member's address may be as long as there is room for it, 255 bytes, and
 * survives its process; a longer one is refused with its name, before anything
 * is written. */
#include <string.h>

#include "base/core/coding.h"
#include "base/replica/replica.h"
#include "base/rpc/remote.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"

#define LONGEST 255

struct member {
    struct world *world;
    uint64_t applied;
    struct rpc_server *server;
    struct replica *replica;
};

static struct err err;

/* --- a machine that counts ----------------------------------------------- */

static void
count_apply(void *ctx, uint64_t index, struct slice command, struct buf *reply)
{
    struct member *m = ctx;
    (void)index;
    (void)command;
    (void)reply;
    m->applied++;
}

static void count_save(void *ctx, struct buf *out)
{
    buf_put_le64(out, ((struct member *)ctx)->applied);
}

static int count_load(void *ctx, struct slice image, struct err *e)
{
    struct member *m = ctx;
    (void)e;
    m->applied = image.len == 8 ? get_le64(image.data) : 0;
    return 0;
}

/* --- helpers ------------------------------------------------------------- */

/* "hhh…:1" of @len bytes. */
static const char *address_of(size_t len, char out[LONGEST + 8])
{
    memset(out, 'h', len);
    memcpy(out + len - 2, ":1", 3);
    return out;
}

static int member_open(struct member *m, const struct replica_options *o)
{
    const struct replica_machine machine = {
        .ctx = m, .apply = count_apply, .save = count_save, .load = count_load};
    int rc;
    err = ERR_INIT;
    m->server = rpc_server_new(m->world);
    rc = replica_open(m->world, m->server, &machine, o, &m->replica, &err);
    if (rc)
        rpc_server_free(m->server);
    return rc;
}

/* The founder of a cell of its own, at @address. */
static int found(struct member *m, const char *directory, const char *address)
{
    const struct replica_member self = {1, address, true};
    const struct replica_options o = {.name = "test",
                                      .directory = directory,
                                      .id = 1,
                                      .members = &self,
                                      .member_count = 1,
                                      .snapshot_log_bytes = 1 << 20};
    return member_open(m, &o);
}

static void member_close(struct member *m)
{
    replica_close(m->replica);
    rpc_server_free(m->server);
}

static void check_empty(struct member *m, const char *directory)
{
    char **names;
    size_t count = 0;
    if (world_list(m->world, directory, &names, &count, NULL) == 0)
        world_names_free(names, count);
    ck_assert_uint_eq(count, 0);
}

/* --- tests --------------------------------------------------------------- */

static void use_longest(void *arg)
{
    struct member *m = arg;
    struct replica_status s;
    char address[LONGEST + 8];
    address_of(LONGEST, address);
    for (int run = 0; run < 3; run++) {
        ck_assert_msg(found(m, "/m", address) == 0, "%s", err.text);
        while (!replica_is_leader(m->replica))
            world_sleep_us(m->world, 5000);
        ck_assert_int_eq(
            replica_propose(m->replica, SLICE_LIT("one more"), NULL, &err), 0);
        replica_get_status(m->replica, &s);
        ck_assert_str_eq(s.leader_address, address);
        ck_assert_uint_eq(s.member_count, 1);
        ck_assert_str_eq(s.members[0].address, address);
        member_close(m);
    }
}

static void refuse_longer(void *arg)
{
    struct member *m = arg;
    char address[LONGEST + 8];
    struct replica_options joiner = {
        .name = "test", .directory = "/joiner", .address = address};
    const struct replica_member other = {1, "other:1", true};
    address_of(LONGEST + 1, address);
    ck_assert_int_eq(found(m, "/founder", address), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "hhhhhhhh"));
    check_empty(m, "/founder");
    joiner.members = &other;
    joiner.member_count = 1;
    ck_assert_int_eq(member_open(m, &joiner), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "too long"));
    check_empty(m, "/joiner");
}

static void run_member(void (*scenario)(void *arg))
{
    struct member m = {
        .world = sim_world_new(&(struct sim_options){.seed = test_seed()})};
    sim_run(m.world, scenario, &m);
    world_free(m.world);
}

START_TEST(test_longest_address)
{
    run_member(use_longest);
}

END_TEST

START_TEST(test_longer_address)
{
    run_member(refuse_longer);
}

END_TEST

TEST_MAIN("member address", test_longest_address, test_longer_address)
