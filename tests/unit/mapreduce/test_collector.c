/* Every pair given to a collector comes out of its runs once, sorted, combined
 * or in order of emission, however little memory there is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "mapreduce/attempt/spill_sources.h"
#include "mapreduce/shuffle/collector.h"
#include "tests/lib/check_main.h"

enum {
    KEYS = 20000,
    PARTITIONS = 3
};

/* The obvious model: for each key all its values, in order. */
struct model {
    struct slice keys[KEYS];
    struct buf values[KEYS]; /* Counts: one zigzag sum; else appended text. */
    int64_t sums[KEYS];
    uint32_t order[KEYS]; /* By key. */
};

struct fixture {
    struct world *world;
    char dir[300];
    char spill[400];
    char *memory;
    size_t memory_bytes;
    struct model *model;
    struct rand_gen rand;
    struct keyring *keyring; /* With $QUARRY_TEST_ENCRYPTED. */
};

static const struct model *sorting;

static int by_key(const void *a, const void *b)
{
    return slice_cmp(sorting->keys[*(const uint32_t *)a],
                     sorting->keys[*(const uint32_t *)b]);
}

/* Of all lengths around the 16 bytes that a slot holds; unique at the end, so
 * that beginnings stay common. */
static void make_keys(struct model *m, struct rand_gen *r)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        struct buf b = BUF_INIT;
        size_t n = rand_below(r, 30);
        for (size_t k = 0; k < n; k++)
            buf_append_byte(&b, "abc\0"[rand_below(r, 4)]);
        if (rand_one_in(r, 100))
            buf_append_fill(&b, 'x', rand_below(r, 5000));
        buf_printf(&b, "/%x", i);
        m->keys[i].len = b.len;
        m->keys[i].data = buf_take(&b);
        m->order[i] = i;
    }
}

static void setup(struct fixture *f, size_t memory)
{
    rand_init(&f->rand, test_seed());
    f->world = world_real_new();
    f->keyring = getenv("QUARRY_TEST_ENCRYPTED")
                     ? keyring_new_ephemeral(f->world)
                     : NULL;
    snprintf(f->dir, sizeof(f->dir), "%s", test_tmpdir());
    snprintf(f->spill, sizeof(f->spill), "%s/m00000.1.spill", f->dir);
    f->memory_bytes = memory;
    f->memory = aligned_alloc(4096, memory);
    f->model = calloc(1, sizeof(*f->model));
    make_keys(f->model, &f->rand);
    sorting = f->model;
    qsort(f->model->order, KEYS, sizeof(uint32_t), by_key);
}

static void teardown(struct fixture *f)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        mem_free((void *)(uintptr_t)f->model->keys[i].data);
        buf_close(&f->model->values[i]);
    }
    free(f->model);
    free(f->memory);
    keyring_unref(f->keyring);
    world_free(f->world);
}

static void
open_collector(struct fixture *f, struct collector *c, const struct mr_job *job)
{
    struct collector_options o = {.world = f->world,
                                  .job = job,
                                  .partition_count = PARTITIONS,
                                  .spill_path = f->spill,
                                  .memory = f->memory,
                                  .memory_bytes = f->memory_bytes,
                                  .level = 1,
                                  .keyring = f->keyring};
    collector_init(c, &o);
}

/* Appends: not commutative, so only right if order is kept. */
static void append_combine(struct mr_task *t,
                           struct slice key,
                           struct buf *acc,
                           struct slice value)
{
    (void)t;
    (void)key;
    buf_append_slice(acc, value);
}

static void add_random(struct fixture *f, struct collector *c, unsigned pairs)
{
    struct model *m = f->model;
    for (unsigned n = 0; n < pairs; n++) {
        /* Some keys are much more frequent than others. */
        uint64_t bound = 1 + rand_below(&f->rand, KEYS);
        size_t i = rand_below(&f->rand, bound);
        if (c->kind == COLLECT_COUNTS) {
            int64_t by = (int64_t)rand_below(&f->rand, 2000) - 1000;
            m->sums[i] += by;
            collector_add_count(c, m->keys[i], by);
        } else {
            char text[16];
            int len = snprintf(text, sizeof(text), "%u.", n);
            buf_append(&m->values[i], text, (size_t)len);
            collector_add(c, m->keys[i], slice_make(text, (size_t)len));
        }
    }
}

/* The runs of one partition, those of the file and the one in memory. */
static void open_sources(struct fixture *f,
                         struct collector *c,
                         uint32_t partition,
                         size_t memory,
                         struct spill_sources *s)
{
    struct spill_sources_options o = {.world = f->world,
                                      .work_dir = f->dir,
                                      .prefix = "t",
                                      .partition = partition,
                                      .own_spill = c->spilled ? f->spill : NULL,
                                      .memory_bytes = memory,
                                      .descending = c->opts.job->sort ==
                                                    MR_SORT_DESCENDING,
                                      .level = 1,
                                      .keyring = f->keyring};
    ck_assert_int_eq(spill_sources_open(s, &o, NULL), 0);
    if (c->ref_count > 0)
        spill_sources_add(s, collector_source(c, partition));
}

/* Everything of one key, taken from the merge. */
static bool take_key(struct run_merge *m,
                     bool *more,
                     struct slice key,
                     bool counts,
                     struct buf *text,
                     int64_t *sum)
{
    bool found = false;
    buf_clear(text);
    *sum = 0;
    while (*more && slice_eq(run_merge_current(m)->key, key)) {
        found = true;
        if (counts)
            *sum += mr_value_count(run_merge_current(m)->value);
        else
            buf_append_slice(text, run_merge_current(m)->value);
        ck_assert_int_eq(run_merge_next(m, more, NULL), 0);
    }
    return found;
}

/* Walk the model in order; each of its keys with values must be what the merge
 * of its partition gives next. */
static void check_all(struct fixture *f, struct collector *c, size_t memory)
{
    bool down = c->opts.job->sort == MR_SORT_DESCENDING;
    bool counts = c->kind == COLLECT_COUNTS;
    struct buf text = BUF_INIT;
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        struct spill_sources s;
        struct run_merge m;
        bool more;
        int64_t sum;
        open_sources(f, c, p, memory, &s);
        run_merge_init(&m, s.sources, s.count, down);
        ck_assert_int_eq(run_merge_next(&m, &more, NULL), 0);
        for (uint32_t n = 0; n < KEYS; n++) {
            uint32_t i = f->model->order[down ? KEYS - 1 - n : n];
            struct slice key = f->model->keys[i];
            if (collector_partition(c, key) != p)
                continue;
            if (!take_key(&m, &more, key, counts, &text, &sum)) {
                ck_assert_uint_eq(f->model->values[i].len, 0);
                ck_assert_int_eq(f->model->sums[i], 0);
            } else if (counts) {
                ck_assert_int_eq(sum, f->model->sums[i]);
            } else {
                ck_assert(slice_eq(buf_slice(&text),
                                   buf_slice(&f->model->values[i])));
            }
        }
        ck_assert(!more);
        run_merge_close(&m);
        spill_sources_close(&s);
    }
    buf_close(&text);
}

static void check_job(const struct mr_job *job,
                      size_t memory,
                      unsigned pairs,
                      bool to_file,
                      size_t merge_memory,
                      uint64_t runs_min)
{
    struct fixture f;
    struct collector c;
    setup(&f, memory);
    open_collector(&f, &c, job);
    add_random(&f, &c, pairs);
    ck_assert_int_eq(collector_finish(&c, to_file, NULL), 0);
    ck_assert_uint_ge(c.spill_count, runs_min);
    check_all(&f, &c, merge_memory);
    collector_close(&c);
    teardown(&f);
}

static const struct mr_job plain = {.abi_version = MR_ABI_VERSION};
static const struct mr_job counting = {.abi_version = MR_ABI_VERSION,
                                       .combine = mr_combine_sum};
static const struct mr_job folding = {.abi_version = MR_ABI_VERSION,
                                      .combine = append_combine};
static const struct mr_job downward = {.abi_version = MR_ABI_VERSION,
                                       .sort = MR_SORT_DESCENDING};

#define SMALL ((size_t)1 << 20)

/* Values of a key keep their order through spills and merges in many passes. */
START_TEST(test_plain)
{
    check_job(&plain, SMALL, 300, false, 1 << 20, 0);
    check_job(&plain, SMALL, 100000, false, 1 << 20, 3);
    check_job(&plain, SMALL, 100000, true, 1, 4);
}

END_TEST

START_TEST(test_descending)
{
    check_job(&downward, SMALL, 60000, false, 1, 3);
}

END_TEST

START_TEST(test_counts)
{
    check_job(&counting, SMALL, 300, false, 1 << 20, 0);
    check_job(&counting, SMALL, 200000, false, 1 << 20, 1);
    check_job(&counting, SMALL, 200000, true, 1, 2);
    check_job(&counting, (size_t)16 << 20, 200000, false, 1 << 20, 0);
}

END_TEST

/* A value that grows is moved, and what is behind it still found. */
START_TEST(test_folded)
{
    check_job(&folding, SMALL, 300, false, 1 << 20, 0);
    check_job(&folding, SMALL, 100000, false, 1 << 20, 2);
    check_job(&folding, SMALL, 100000, true, 1, 2);
}

END_TEST

/* One damaged byte of a spill is an error, never a wrong pair. */
START_TEST(test_damaged_spill)
{
    struct fixture f;
    struct collector c;
    struct spill_sources s;
    struct run_merge m;
    char *bytes = malloc(8 << 20);
    size_t n;
    FILE *file;
    setup(&f, SMALL);
    open_collector(&f, &c, &plain);
    add_random(&f, &c, 30000);
    ck_assert_int_eq(collector_finish(&c, true, NULL), 0);
    file = fopen(f.spill, "rb");
    n = fread(bytes, 1, 8 << 20, file);
    fclose(file);
    for (int i = 0; i < 100; i++) {
        size_t at = i < 40 ? n - 1 - (size_t)i : 8 + rand_below(&f.rand, n - 8);
        int rc = 0;
        bool more = true;
        bytes[at] ^= 4;
        file = fopen(f.spill, "wb");
        ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
        fclose(file);
        bytes[at] ^= 4;
        for (uint32_t p = 0; p < PARTITIONS && rc == 0; p++) {
            struct spill_sources_options o = {.world = f.world,
                                              .work_dir = f.dir,
                                              .prefix = "t",
                                              .partition = p,
                                              .own_spill = f.spill,
                                              .memory_bytes = 1 << 20,
                                              .level = 1,
                                              .keyring = f.keyring};
            rc = spill_sources_open(&s, &o, NULL);
            run_merge_init(&m, s.sources, s.count, false);
            for (more = true; rc == 0 && more;)
                rc = run_merge_next(&m, &more, NULL);
            run_merge_close(&m);
            spill_sources_close(&s);
        }
        ck_assert_int_eq(rc, ERR_CORRUPT);
    }
    free(bytes);
    collector_close(&c);
    teardown(&f);
}

END_TEST

/* Does the spill of a pair, uncompressed, have its value in it? */
static bool spill_says(struct fixture *f, struct keyring *k)
{
    static const struct mr_job plain_job = {.name = "plain"};
    const struct collector_options o = {.world = f->world,
                                        .job = &plain_job,
                                        .partition_count = 1,
                                        .spill_path = f->spill,
                                        .memory = f->memory,
                                        .memory_bytes = f->memory_bytes,
                                        .keyring = k};
    struct collector c;
    char bytes[4096];
    bool found = false;
    size_t n;
    FILE *in;
    collector_init(&c, &o);
    collector_add(&c, SLICE_LIT("key"), SLICE_LIT("plainly"));
    ck_assert_int_eq(collector_finish(&c, true, NULL), 0);
    collector_close(&c);
    in = fopen(f->spill, "rb");
    ck_assert_ptr_nonnull(in);
    n = fread(bytes, 1, sizeof(bytes), in);
    fclose(in);
    for (size_t i = 0; i + 7 <= n; i++)
        found |= memcmp(bytes + i, "plainly", 7) == 0;
    return found;
}

/* A spill that is encrypted cannot be read in its file. */
START_TEST(test_encrypted_spill_says_nothing)
{
    struct fixture f;
    struct keyring *k;
    setup(&f, COLLECTOR_BYTES_MIN);
    k = keyring_new_ephemeral(f.world);
    ck_assert(spill_says(&f, NULL));
    ck_assert(!spill_says(&f, k));
    keyring_unref(k);
    teardown(&f);
}

END_TEST

TEST_MAIN("collector",
          test_plain,
          test_descending,
          test_counts,
          test_folded,
          test_damaged_spill,
          test_encrypted_spill_says_nothing)
