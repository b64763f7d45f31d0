/* The suite of every file system, on a directory and on a cluster's. */
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "tests/lib/fs_suite.h"
#include "tests/unit/gfs-lite/cell_files.h"

#define EVERYTHING                                                             \
    (FS_SUITE_APPENDS | FS_SUITE_DIRECTORIES | FS_SUITE_LOCKS |                \
     FS_SUITE_COLONS | FS_SUITE_BYTES | FS_SUITE_TREES | FS_SUITE_PUBLISHES)

static int open_directory(void *ctx, struct fs **out, struct err *err)
{
    const struct fs_suite *s = ctx;
    static const char *root;
    if (!root)
        root = mem_strdup(test_tmpdir());
    return fs_local_open(s->world, root, out, err);
}

/* A directory of this machine keeps the promises of fs.h. */
START_TEST(test_directory)
{
    struct fs_suite s = {.world = world_real_new(),
                         .open = open_directory,
                         .ctx = &s,
                         .root = "suite",
                         .traits = EVERYTHING,
                         .big_bytes = 20 << 20,
                         .entries = 1200,
                         .writers = 6};
    fs_suite_all(&s);
    fs_suite_faults(&s, NULL, 300, test_seed());
    world_free(s.world);
}

END_TEST

static int open_cluster(void *ctx, struct fs **out, struct err *err)
{
    struct cell *c = ctx;
    (void)err;
    *out = cell_client(c, sim_director(c->sim), "suite");
    return 0;
}

static void run_in_cluster(struct cell *c)
{
    struct fs_suite s = {.world = sim_director(c->sim),
                         .open = open_cluster,
                         .ctx = c,
                         .root = "suite",
                         .traits = EVERYTHING | FS_SUITE_FENCES,
                         .big_bytes = 3 << 20,
                         .entries = 1200,
                         .writers = 6};
    fs_suite_all(&s);
    fs_suite_faults(&s, NULL, 200, test_seed());
}

/* So does the file system of a cluster. */
START_TEST(test_cluster)
{
    run_in_cell(1, 3, run_in_cluster);
}

END_TEST

TEST_MAIN("fs_suite", test_directory, test_cluster)
