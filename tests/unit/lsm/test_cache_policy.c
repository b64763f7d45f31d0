/* Which outputs stay in the page cache, and that they do. */
#include <string.h>

#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/cache_policy.h"
#include "tests/unit/lsm/group_fixture.h"

#define MIB ((uint64_t)1 << 20)

static bool
keeps(enum cache_option cache, uint64_t store, uint64_t output, uint64_t memory)
{
    const struct world_memory m = {.total_bytes = memory ? 2 * memory : 0,
                                   .available_bytes = memory};
    struct group_options o;
    group_options_default(&o);
    o.cache = cache;
    return cache_policy_keeps(&o, store, output, &m);
}

/* The cases of cache_policy.h: all fits, the output is small, neither; nothing
 * is known of the memory; the option decides. */
START_TEST(test_cases)
{
    const struct {
        enum cache_option cache;
        uint64_t store, output, memory; /* MiB */
        bool keeps;
    } cases[] = {
        {CACHE_AUTO, 0, 500, 1000, true},   {CACHE_AUTO, 0, 501, 1000, false},
        {CACHE_AUTO, 400, 100, 1000, true}, {CACHE_AUTO, 400, 101, 1000, false},
        {CACHE_AUTO, 9999, 62, 1000, true}, {CACHE_AUTO, 9999, 63, 1000, false},
        {CACHE_AUTO, 0, 1, 0, false},       {CACHE_ON, 9999, 9999, 1, true},
        {CACHE_ON, 0, 1, 0, true},          {CACHE_OFF, 0, 1, 1000, false},
    };
    struct group_options in_memory;
    const struct world_memory much = {1000 * MIB, 1000 * MIB};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        ck_assert_msg(keeps(cases[i].cache, cases[i].store * MIB,
                            cases[i].output * MIB,
                            cases[i].memory * MIB) == cases[i].keeps,
                      "case %zu", i);
    group_options_default(&in_memory);
    in_memory.in_memory = true; /* Its blocks are kept decoded. */
    ck_assert(!cache_policy_keeps(&in_memory, 0, MIB, &much));
}

END_TEST

/* More memory, a smaller store or a smaller output never makes a file leave the
 * cache, and no sum overflows. */
START_TEST(test_it_is_monotone)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        unsigned shift = (unsigned)rand_below(&r, 60);
        uint64_t store = rand_u64(&r) >> rand_below(&r, 64);
        uint64_t output = rand_u64(&r) >> rand_below(&r, 64);
        uint64_t memory = 1 + (rand_u64(&r) >> (shift + 2));
        if (!keeps(CACHE_AUTO, store, output, memory))
            continue;
        ck_assert(keeps(CACHE_AUTO, store / 2, output, memory));
        ck_assert(keeps(CACHE_AUTO, store, output / 2, memory));
        ck_assert(keeps(CACHE_AUTO, store, output, memory + memory / 2));
        ck_assert(output <= memory / CACHE_STORE_PARTS);
    }
}

END_TEST

static const char *root;

/* The bytes of the fixture's table @number that lie in the page cache. */
static uint64_t cached_bytes(struct fixture *f, uint64_t number, uint64_t *size)
{
    char path[512];
    struct file *file;
    uint64_t cached;
    snprintf(path, sizeof(path), "%s/t/%06" PRIu64 ".sst", root, number);
    OK(file_open(f->world, path, FILE_READ, &file, err));
    OK(file_size(file, size, err));
    cached = file_cached_bytes(file, 0, *size);
    file_close(file);
    return cached;
}

static void insert_row(struct fixture *f, int row, uint64_t sequence)
{
    struct buf key = BUF_INIT;
    char name[16];
    char value[500];
    memset(value, row % 100, sizeof(value));
    snprintf(name, sizeof(name), "row%06d", row);
    fixture_key(&key, name, "c", 7, sequence, ENTRY_PUT);
    lsm_insert(f->lsm, buf_slice(&key), slice_make(value, sizeof(value)));
    buf_close(&key);
}

/* Two flushes, merged. @parts: of the last file's bytes, in percent, those in
 * the page cache after the flushes, and after the merge. */
static void run_group(enum cache_option cache, uint64_t parts[2])
{
    const int rows = 4000;
    struct fixture *f = malloc(sizeof(*f));
    uint64_t size;
    root = test_tmpdir();
    fixture_init_in(f, world_real_new(), root);
    f->options.group.compression = COMPRESSION_NONE;
    f->options.group.cache = cache;
    fixture_open(f);
    for (int i = 0; i < 2 * rows; i++) {
        insert_row(f, i, (uint64_t)i + 1);
        if ((i + 1) % rows)
            continue;
        lsm_freeze(f->lsm, (uint64_t)i + 1);
        OK(lsm_flush(f->lsm, err));
    }
    ck_assert_uint_gt(block_cache_file_bytes(f->cache), 2 * 500 * 4000);
    parts[0] = cached_bytes(f, f->tables[1].number, &size);
    parts[0] = parts[0] * 100 / size;
    OK(lsm_compact_major(f->lsm, err));
    ck_assert_uint_eq(f->table_count, 1);
    parts[1] = cached_bytes(f, f->tables[0].number, &size);
    parts[1] = parts[1] * 100 / size;
    ck_assert_uint_eq(block_cache_file_bytes(f->cache), size);
    fixture_free(f);
}

/* Files of a group with cache=on are in the page cache once they are written,
 * those with cache=off are not but for what opening them reads. */
START_TEST(test_files_stay_as_the_option_says)
{
    uint64_t off[2];
    uint64_t on[2];
    run_group(CACHE_OFF, off);
    run_group(CACHE_ON, on);
    if (on[0] == 0 || off[0] == 100)
        return; /* The system cannot tell, or has no direct I/O. */
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_lt(off[i], 50);
        ck_assert_uint_eq(on[i], 100);
    }
}

END_TEST

TEST_MAIN("cache_policy",
          test_cases,
          test_it_is_monotone,
          test_files_stay_as_the_option_says)
