/* Any file of a member's directory is removed or cut short, after it was closed
 * or after the power went: then the member either has all that was
 * acknowledged, or refuses to start and names what is missing. */
#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/rand.h"
#include "base/crypt/master_key.h"
#include "base/replica/replica.h"
#include "base/rpc/remote.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"

/* Enough for two segments of the log, where no snapshot frees the first. */
enum {
    COMMANDS = 10,
    COMMAND_BYTES = 900000,
    CUTS = 3
};

struct run_state {
    struct world *world;
    uint64_t snapshot_log_bytes;
    bool power_cut;
    bool whole;  /* Nothing is damaged. */
    size_t file; /* Index of the file that is damaged. */
    int cut;     /* 0: it is removed; 1: emptied; 2: most of it is. */
    size_t file_count;
    char path[300];
    uint64_t applied;
    bool refused;
    struct rpc_server *server;
    struct replica *replica;
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* --- a machine that counts ----------------------------------------------- */

static void
count_apply(void *ctx, uint64_t index, struct slice command, struct buf *reply)
{
    struct run_state *r = ctx;
    (void)index;
    (void)reply;
    ck_assert_uint_eq(get_le64(command.data), r->applied);
    r->applied++;
}

static void count_save(void *ctx, struct buf *out)
{
    buf_put_le64(out, ((struct run_state *)ctx)->applied);
}

static int count_load(void *ctx, struct slice image, struct err *e)
{
    struct run_state *r = ctx;
    (void)e;
    r->applied = image.len == 8 ? get_le64(image.data) : 0;
    return 0;
}

/* --- histories ----------------------------------------------------------- */

/* Of directories that lose power: those are encrypted. */
static struct master_keys *encryption_keys(void)
{
    static const unsigned char bytes[32] = "a master key";
    static struct master_keys *keys;
    if (!keys)
        keys = master_keys_of(bytes);
    return keys;
}

static int start(struct run_state *r)
{
    static const struct replica_member self = {1, "sim:1", true};
    const struct replica_machine machine = {
        .ctx = r, .apply = count_apply, .save = count_save, .load = count_load};
    const struct replica_options o = {
        .name = "test",
        .directory = "/m",
        .id = 1,
        .members = &self,
        .member_count = 1,
        .master_keys = r->power_cut ? encryption_keys() : NULL,
        .snapshot_log_bytes = r->snapshot_log_bytes};
    int rc;
    err = ERR_INIT;
    r->server = rpc_server_new(r->world);
    rc = replica_open(r->world, r->server, &machine, &o, &r->replica, &err);
    if (rc)
        rpc_server_free(r->server);
    return rc;
}

static void stop(struct run_state *r)
{
    replica_close(r->replica);
    rpc_server_free(r->server);
}

static void history(void *arg)
{
    static char command[COMMAND_BYTES];
    struct run_state *r = arg;
    OK(start(r));
    while (!replica_is_leader(r->replica))
        world_sleep_us(r->world, 5000);
    for (uint64_t i = 0; i < COMMANDS; i++) {
        put_le64(command, i);
        OK(replica_propose(r->replica, slice_make(command, sizeof(command)),
                           NULL, &err));
    }
    if (r->power_cut)
        sim_power_off(r->world);
    stop(r);
}

/* The @index-th file, counted over both directories. */
static void find_file(struct run_state *r)
{
    static const char *const dirs[] = {"/m", "/m/log"};
    size_t n = 0;
    r->path[0] = '\0';
    for (size_t d = 0; d < ARRAY_LEN(dirs); d++) {
        char **names;
        size_t count;
        OK(world_list(r->world, dirs[d], &names, &count, &err));
        for (size_t i = 0; i < count; i++) {
            if (strcmp(names[i], "log") != 0 && n++ == r->file)
                snprintf(r->path, sizeof(r->path), "%s/%s", dirs[d], names[i]);
        }
        world_names_free(names, count);
    }
    r->file_count = n;
}

static void damage(void *arg)
{
    struct run_state *r = arg;
    struct rand_gen g;
    struct file *f;
    uint64_t size;
    rand_init(&g, test_seed() + r->file * CUTS + (unsigned)r->cut);
    find_file(r);
    if (!r->path[0])
        return;
    if (!r->cut) {
        OK(world_remove(r->world, r->path, &err));
        return;
    }
    OK(file_open(r->world, r->path, FILE_READ | FILE_WRITE, &f, &err));
    OK(file_size(f, &size, &err));
    OK(file_truncate(
        f, r->cut == 1 || size == 0 ? 0 : rand_below(&g, size / 8 + 1), &err));
    file_close(f);
}

static void read_back(void *arg)
{
    struct run_state *r = arg;
    r->refused = start(r) != 0;
    if (r->refused) {
        ck_assert_msg(err.code == ERR_CORRUPT, "%s: %s", r->path, err.text);
        ck_assert_msg(strstr(err.text, r->path) || strstr(err.text, "missing"),
                      "%s: %s", r->path, err.text);
        ck_assert_msg(strstr(err.hint, "move it away") != NULL, "%s", err.hint);
        return;
    }
    for (int i = 0; i < 4000 && !replica_is_leader(r->replica); i++)
        world_sleep_us(r->world, 5000);
    ck_assert_msg(r->applied == COMMANDS, "way %d of %s: %d commands of %d",
                  r->cut, r->path, (int)r->applied, COMMANDS);
    stop(r);
}

static void run_once(struct run_state *r)
{
    /* It draws what a loss of power leaves of `synced`. */
    r->world =
        sim_world_new(&(struct sim_options){.seed = test_seed() + r->file});
    sim_run(r->world, history, r);
    if (r->power_cut)
        sim_power_on(r->world);
    if (!r->whole)
        sim_run(r->world, damage, r);
    r->applied = 0;
    sim_run(r->world, read_back, r);
    world_free(r->world);
}

static void sweep(uint64_t snapshot_log_bytes, bool power_cut)
{
    struct run_state whole = {.snapshot_log_bytes = snapshot_log_bytes,
                              .power_cut = power_cut,
                              .whole = true};
    size_t refused = 0;
    size_t count = 1;
    run_once(&whole);
    ck_assert_msg(!whole.refused, "%s", err.text);
    for (size_t file = 0; file < count; file++) {
        /* Emptying a file is one cut of many: once is enough. */
        for (int cut = 0; cut < CUTS; cut += power_cut ? CUTS - 1 : 1) {
            struct run_state r = {.snapshot_log_bytes = snapshot_log_bytes,
                                  .power_cut = power_cut,
                                  .file = file,
                                  .cut = cut};
            run_once(&r);
            count = r.file_count;
            refused += r.refused;
        }
    }
    ck_assert_uint_gt(refused, 1);
}

START_TEST(test_of_a_log)
{
    sweep(UINT64_C(1) << 30, false);
}

END_TEST

START_TEST(test_of_a_log_that_lost_power)
{
    sweep(UINT64_C(1) << 30, true);
}

END_TEST

START_TEST(test_of_a_log_behind_a_snapshot)
{
    sweep(UINT64_C(4) << 20, false);
}

END_TEST

START_TEST(test_of_a_snapshot_that_lost_power)
{
    sweep(UINT64_C(4) << 20, true);
}

END_TEST

TEST_MAIN("missing files",
          test_of_a_log,
          test_of_a_log_that_lost_power,
          test_of_a_log_behind_a_snapshot,
          test_of_a_snapshot_that_lost_power)
