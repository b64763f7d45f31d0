/* Readers, a writer, a flusher and a compactor at once: every reader sees a
 * whole prefix of what was written. Worth most under ThreadSanitizer. */

#include "base/core/hash.h"
#include "base/core/rand.h"
#include "bigtable/lsm/skip_batch.h"
#include "tests/unit/lsm/group_fixture.h"

enum {
    ROWS = 200,
    READERS = 3
};

struct shared {
    struct fixture *f;
    atomic_ullong written; /* Sequence numbers up to here are inserted. */
    atomic_bool done;
};

/* Row of sequence number @s, and its value, say which one it is. */
static void row_name(char *row, uint64_t s)
{
    snprintf(row, 16, "r%06d", (int)(s * 7919 % ROWS));
}

static void *write_all(void *arg)
{
    struct shared *sh = arg;
    struct skip_batch *batch = skip_batch_new();
    struct buf key = BUF_INIT;
    for (uint64_t s = 1; s <= 30000; s++) {
        char row[16];
        char value[100];
        row_name(row, s);
        snprintf(value, sizeof(value), "%080llu", (unsigned long long)s);
        fixture_key(&key, row, "c", (int64_t)s, s, ENTRY_PUT);
        lsm_insert_with(sh->f->lsm, batch, buf_slice(&key), slice_str(value));
        if (s % 13 && s % 1500)
            continue;
        skip_batch_end(batch);
        atomic_store(&sh->written, s);
        if (s % 1500 == 0) { /* Past where lists know of their cells. */
            lsm_freeze(sh->f->lsm, s);
            while (lsm_frozen_memory(sh->f->lsm) > 1000000)
                world_sleep_us(sh->f->world, 100);
        }
    }
    skip_batch_end(batch);
    atomic_store(&sh->written, 30000);
    skip_batch_free(batch);
    buf_close(&key);
    atomic_store(&sh->done, true);
    return NULL;
}

static void *flush_all(void *arg)
{
    struct shared *sh = arg;
    while (!atomic_load(&sh->done)) {
        OK(lsm_flush(sh->f->lsm, err));
        world_sleep_us(sh->f->world, 200);
    }
    return NULL;
}

static void *compact_all(void *arg)
{
    struct shared *sh = arg;
    while (!atomic_load(&sh->done)) {
        bool did;
        OK(lsm_compact(sh->f->lsm, &did, err));
        if (!did)
            world_sleep_us(sh->f->world, 500);
    }
    return NULL;
}

/* All entries up to what was written before the snapshot are there. */
static void scan_prefix(struct shared *sh)
{
    struct lsm_read_options opts = {.sequence_max = atomic_load(&sh->written),
                                    .scan = true};
    struct lsm_snapshot *s = lsm_snapshot_new(sh->f->lsm);
    struct lsm_iter *it;
    uint64_t seen = 0;
    OK(lsm_iter_new(s, &opts, &it, err));
    OK(lsm_iter_seek(it, SLICE_EMPTY, err));
    for (; lsm_iter_valid(it); seen++) {
        char digits[81] = "";
        ck_assert_uint_eq(lsm_iter_value(it).len, 80);
        memcpy(digits, lsm_iter_value(it).data, 80);
        ck_assert_uint_eq(cell_key_sequence(lsm_iter_key(it)),
                          strtoull(digits, NULL, 10));
        OK(lsm_iter_next(it, err));
    }
    ck_assert_uint_eq(seen, opts.sequence_max);
    lsm_iter_free(it);
    lsm_snapshot_free(s);
}

/* The newest value of a row is not older than what was written before. */
static void get_newest(struct shared *sh, struct rand_gen *r)
{
    uint64_t before = atomic_load(&sh->written);
    struct buf row_key = BUF_INIT;
    struct buf column = BUF_INIT;
    struct buf value = BUF_INIT;
    struct lsm_snapshot *s;
    enum lsm_found found;
    uint64_t least;
    int64_t time;
    char row[16];
    if (before < ROWS)
        return;
    least = before - rand_below(r, ROWS);
    row_name(row, least);
    cell_key_append_row(&row_key, slice_str(row));
    cell_key_append_column(&column, slice_str(row), 1, SLICE_LIT("c"));
    s = lsm_snapshot_new(sh->f->lsm);
    OK(lsm_get_newest(s, buf_slice(&row_key), buf_slice(&column),
                      hash64_slice(buf_slice(&column)), UINT64_MAX, &found,
                      &value, &time, err));
    ck_assert_int_eq(found, LSM_FOUND);
    ck_assert_uint_ge((uint64_t)time, least);
    ck_assert_uint_eq(value.len, 80);
    lsm_snapshot_free(s);
    buf_close(&row_key);
    buf_close(&column);
    buf_close(&value);
}

static void *read_some(void *arg)
{
    struct shared *sh = arg;
    struct rand_gen r;
    rand_init(&r, (uint64_t)(uintptr_t)&r);
    while (!atomic_load(&sh->done)) {
        scan_prefix(sh);
        for (int i = 0; i < 300; i++)
            get_newest(sh, &r);
    }
    return NULL;
}

START_TEST(test_everything_at_once)
{
    struct fixture *f = malloc(sizeof(*f));
    struct shared sh = {.f = f};
    pthread_t threads[3 + READERS];
    fixture_init(f);
    fixture_open(f);
    pthread_create(&threads[0], NULL, write_all, &sh);
    pthread_create(&threads[1], NULL, flush_all, &sh);
    pthread_create(&threads[2], NULL, compact_all, &sh);
    for (int i = 0; i < READERS; i++)
        pthread_create(&threads[3 + i], NULL, read_some, &sh);
    for (int i = 0; i < 3 + READERS; i++)
        pthread_join(threads[i], NULL);
    scan_prefix(&sh);
    fixture_free(f);
}

END_TEST

TEST_MAIN("concurrency", test_everything_at_once)
