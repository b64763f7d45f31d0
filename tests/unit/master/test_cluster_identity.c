/* A master takes the state of its lock service for its own only when the
 * files say the same name: the state of another cluster is refused by name, and
 * stays as it is. */
#include <string.h>

#include "base/core/buf.h"
#include "base/sim/sim.h"
#include "bigtable/master/cluster_identity.h"
#include "bigtable/master/lock_state.h"
#include "chubby-lite/mapped/mapped.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fake_coordination.h"

#define OK(call) ck_assert_int_eq((call), 0)

static struct world *world;
static struct fake_coordination *service;
static struct chubby *session;

static void in_world(task_fn fn)
{
    world = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(world, fn, NULL);
    world_free(world);
}

static void begin(void)
{
    const struct chubby_options o = {.lease_ms = 0};
    service = fake_coordination_new();
    OK(mapped_connect_store(world, &fake_coordination_ops, service, "/q", &o,
                            &session, NULL));
    OK(lock_state_prepare(session, 1, NULL));
}

static void end(void)
{
    chubby_disconnect(session);
    fake_coordination_free(service);
}

static struct fs *files(const char *root)
{
    struct fs *fs;
    OK(fs_local_open(world, root, &fs, NULL));
    return fs;
}

static void expect_name(const char *path, struct fs *fs)
{
    struct buf b = BUF_INIT;
    struct buf own = BUF_INIT;
    uint64_t generation;
    OK(lock_state_read(session, path, &b, &generation, NULL));
    OK(fs_read_all(fs, BIGTABLE_IDENTITY_DIR "/ID", 100, &own, NULL));
    ck_assert_uint_eq(own.len, 32);
    ck_assert(slice_eq(buf_slice(&b), buf_slice(&own)));
    buf_close(&b);
    buf_close(&own);
}

/* A new cluster gets a name, which it knows again; a second cluster at its path
 * is refused, and a third with a name of its own. */
static void run_two(void *arg)
{
    struct fs *one = files("/one");
    struct fs *two = files("/two");
    struct err err = ERR_INIT;
    (void)arg;
    begin();
    OK(cluster_identity_check(session, one, NULL));
    expect_name(BIGTABLE_LOCK_IDENTITY, one);
    OK(cluster_identity_check(session, one, NULL));
    ck_assert_int_eq(cluster_identity_check(session, two, &err), ERR_EXISTS);
    ck_assert_ptr_nonnull(strstr(err.text, "those of a new one"));
    ck_assert_ptr_nonnull(strstr(err.hint, "a path of its own"));
    OK(fs_mkdirs(two, BIGTABLE_IDENTITY_DIR, NULL));
    OK(fs_publish(two, BIGTABLE_IDENTITY_DIR "/ID", SLICE_LIT("abc"), NULL));
    ck_assert_int_eq(cluster_identity_check(session, two, &err), ERR_EXISTS);
    ck_assert_ptr_nonnull(strstr(err.text, "those of abc"));
    expect_name(BIGTABLE_LOCK_IDENTITY, one);
    end();
    fs_close(one);
    fs_close(two);
}

START_TEST(test_two_clusters)
{
    in_world(run_two);
}

END_TEST

/* A name that is in the files alone, after the death of a master, is added to
 * the lock service. */
static void run_half(void *arg)
{
    struct fs *fs = files("/one");
    (void)arg;
    begin();
    OK(cluster_identity_check(session, fs, NULL));
    OK(lock_state_remove(session, BIGTABLE_LOCK_IDENTITY, NULL));
    OK(cluster_identity_check(session, fs, NULL));
    expect_name(BIGTABLE_LOCK_IDENTITY, fs);
    end();
    fs_close(fs);
}

START_TEST(test_half_named)
{
    in_world(run_half);
}

END_TEST

/* A cluster of an earlier release gets a name when its files are there, and is
 * another's when they are not. */
static void run_nameless(void *arg)
{
    struct fs *old = files("/old");
    struct fs *new = files("/new");
    struct err err = ERR_INIT;
    (void)arg;
    begin();
    OK(lock_state_write(session, BIGTABLE_LOCK_ROOT_TAB, SLICE_LIT("x"), 0,
                        NULL));
    OK(fs_mkdirs(old, BIGTABLE_FS_LOGS "/00000001", NULL));
    ck_assert_int_eq(cluster_identity_check(session, new, &err), ERR_EXISTS);
    ck_assert_ptr_nonnull(strstr(err.text, "without a name"));
    OK(cluster_identity_check(session, old, NULL));
    expect_name(BIGTABLE_LOCK_IDENTITY, old);
    end();
    fs_close(old);
    fs_close(new);
}

START_TEST(test_earlier_release)
{
    in_world(run_nameless);
}

END_TEST

TEST_MAIN("cluster_identity",
          test_two_clusters,
          test_half_named,
          test_earlier_release)
