/* A disk that fails at any operation, or fills up, costs a flush or a
 * compaction its attempt, and never an entry. In the simulated world. */
#include "base/sim/sim.h"
#include "tests/unit/lsm/group_fixture.h"

enum {
    ROWS = 120,
    ROUNDS = 9
};

struct run_state {
    struct fixture *f;
    struct world *world;
    uint64_t fail_at;
    uint64_t disk_bytes;
    bool failed; /* At least one step did. */
};

static void insert_round(struct fixture *f, int round)
{
    struct buf key = BUF_INIT;
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        char value[64];
        uint64_t sequence = (uint64_t)(round * ROWS + i + 1);
        snprintf(row, sizeof(row), "r%04d", (i * 37 + round) % ROWS);
        snprintf(value, sizeof(value), "%d/%d", round, i);
        fixture_key(&key, row, "c", (int64_t)sequence, sequence, ENTRY_PUT);
        lsm_insert(f->lsm, buf_slice(&key), slice_str(value));
    }
    buf_close(&key);
    lsm_freeze(f->lsm, (uint64_t)((round + 1) * ROWS));
}

static void check_all_there(struct fixture *f)
{
    struct lsm_read_options opts = {.sequence_max = UINT64_MAX, .scan = true};
    struct lsm_snapshot *s = lsm_snapshot_new(f->lsm);
    struct lsm_iter *it;
    int seen = 0;
    OK(lsm_iter_new(s, &opts, &it, err));
    OK(lsm_iter_seek(it, SLICE_EMPTY, err));
    for (; lsm_iter_valid(it); seen++)
        OK(lsm_iter_next(it, err));
    ck_assert_int_eq(seen, ROWS * ROUNDS);
    lsm_iter_free(it);
    lsm_snapshot_free(s);
}

/* No file but those of the manifest, and one at most that the failing operation
 * should have removed: owners sweep such strays when they open. */
static void check_no_strays(struct fixture *f)
{
    char **names;
    size_t count;
    OK(fs_list(f->fs, "t", &names, &count, err));
    ck_assert_uint_ge(count, f->table_count);
    ck_assert_uint_le(count, f->table_count + 1);
    fs_names_free(names, count);
}

static void work(void *arg)
{
    struct run_state *r = arg;
    struct fixture *f = r->f;
    fixture_init_in(f, r->world, "/store");
    fixture_open(f);
    OK(fs_mkdirs(f->fs, "t", err));
    sim_fail_at_op(r->world, r->fail_at);
    if (r->disk_bytes)
        sim_set_disk_bytes(r->world, r->disk_bytes);
    for (int round = 0; round < ROUNDS; round++) {
        bool did;
        insert_round(f, round);
        r->failed |= lsm_flush(f->lsm, NULL) != 0;
        r->failed |= lsm_compact(f->lsm, &did, NULL) != 0;
    }
    r->failed |= lsm_compact_major(f->lsm, NULL) != 0;
    sim_fail_at_op(r->world, 0);
    sim_set_disk_bytes(r->world, 0);
    check_all_there(f);
    OK(lsm_flush(f->lsm, err));
    OK(lsm_compact_major(f->lsm, err));
    check_all_there(f);
    check_no_strays(f);
    lsm_close(f->lsm);
    fixture_open(f); /* And what is on the disk is the same. */
    check_all_there(f);
    fixture_close(f);
}

static bool run(uint64_t fail_at, uint64_t disk_bytes)
{
    struct fixture *f = malloc(sizeof(*f));
    struct run_state r = {.f = f, .fail_at = fail_at, .disk_bytes = disk_bytes};
    r.world = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(r.world, work, &r);
    world_free(r.world);
    free(f);
    return r.failed;
}

/* Each operation on files in turn fails once. */
START_TEST(test_every_operation_fails_once)
{
    uint64_t n = 0;
    uint64_t failures = 0;
    while (n < 40 || run(n + 1, 0)) {
        n++;
        if (n < 40)
            failures += run(n, 0);
        else
            failures++;
        ck_assert_uint_lt(n, 2000);
    }
    ck_assert_uint_gt(failures, 30);
}

END_TEST

/* A disk that is full at any size. */
START_TEST(test_full_disk)
{
    ck_assert(run(0, 1000));
    ck_assert(run(0, 5000));
    ck_assert(run(0, 20000));
    ck_assert(!run(0, 100 << 20));
}

END_TEST

TEST_MAIN("faults", test_every_operation_fails_once, test_full_disk)
