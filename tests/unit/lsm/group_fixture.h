/* A group on a temporary directory, with an owner that remembers its edits in
 * memory as a manifest would on disk. For the tests of this directory.
 */
#ifndef TESTS_UNIT_LSM_GROUP_FIXTURE_H
#define TESTS_UNIT_LSM_GROUP_FIXTURE_H

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/block_cache.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

#define FIXTURE_TABLES_MAX 4096

struct fixture {
    struct world *world;
    struct fs *fs;
    struct block_cache *cache;
    struct lsm_options options;
    struct lsm *lsm;
    pthread_mutex_t mutex;
    uint64_t next_number;
    size_t undecided; /* Numbers that were taken, and not told as decided. */
    struct lsm_table tables[FIXTURE_TABLES_MAX]; /* The "manifest". */
    size_t table_count;
    uint64_t flushed_sequence;
    size_t unlinked;
    int fail_commits; /* How many of the next ones fail. */
};

#define OK(call)                                                               \
    do {                                                                       \
        struct err err_ = ERR_INIT;                                            \
        struct err *err = &err_;                                               \
        int rc_ = (call);                                                      \
        ck_assert_msg(rc_ == 0, "%s: %d %s", #call, rc_, err_.text);           \
        (void)err;                                                             \
    } while (0)

static void fixture_decided(void *ctx, uint64_t number)
{
    struct fixture *f = ctx;
    pthread_mutex_lock(&f->mutex);
    ck_assert_uint_lt(number, f->next_number);
    ck_assert_uint_gt(f->undecided--, 0);
    pthread_mutex_unlock(&f->mutex);
}

static uint64_t fixture_new_number(void *ctx)
{
    struct fixture *f = ctx;
    pthread_mutex_lock(&f->mutex);
    uint64_t n = f->next_number++;
    f->undecided++;
    pthread_mutex_unlock(&f->mutex);
    return n;
}

static struct slice fixture_dup(struct slice s)
{
    return slice_make(mem_strndup(s.data, s.len), s.len);
}

static void fixture_drop(struct fixture *f, size_t i)
{
    mem_free((char *)(uintptr_t)f->tables[i].first_key.data);
    mem_free((char *)(uintptr_t)f->tables[i].last_key.data);
    f->tables[i] = f->tables[--f->table_count];
}

static int fixture_commit(void *ctx,
                          struct lsm *lsm,
                          const struct lsm_edit *edit,
                          struct err *err)
{
    struct fixture *f = ctx;
    int rc = 0;
    (void)lsm;
    pthread_mutex_lock(&f->mutex);
    if (f->fail_commits > 0) {
        f->fail_commits--;
        rc = err_set(err, ERR_IO, "no commit for you");
    }
    for (size_t i = 0; i < edit->removed_count && !rc; i++) {
        size_t k = 0;
        while (k < f->table_count && f->tables[k].number != edit->removed[i])
            k++;
        ck_assert_uint_lt(k, f->table_count);
        fixture_drop(f, k);
    }
    for (size_t i = 0; i < edit->added_count && !rc; i++) {
        struct lsm_table t = edit->added[i];
        t.first_key = fixture_dup(t.first_key);
        t.last_key = fixture_dup(t.last_key);
        ck_assert_uint_lt(f->table_count, FIXTURE_TABLES_MAX);
        f->tables[f->table_count++] = t;
    }
    if (!rc && edit->flushed_sequence)
        f->flushed_sequence = edit->flushed_sequence;
    pthread_mutex_unlock(&f->mutex);
    return rc;
}

static void fixture_unlink(void *ctx, uint64_t number)
{
    struct fixture *f = ctx;
    char path[64];
    snprintf(path, sizeof(path), "t/%06" PRIu64 ".sst", number);
    int rc = fs_remove(f->fs, path, NULL);
    pthread_mutex_lock(&f->mutex);
    f->unlinked += rc == 0;
    pthread_mutex_unlock(&f->mutex);
}

static void fixture_open(struct fixture *f)
{
    OK(lsm_open(&f->options, f->tables, f->table_count, &f->lsm, err));
}

/* Over @world, which becomes the fixture's, in its directory @root. */
static void
fixture_init_in(struct fixture *f, struct world *world, const char *root)
{
    memset(f, 0, sizeof(*f));
    pthread_mutex_init(&f->mutex, NULL);
    f->next_number = 1;
    f->world = world;
    OK(fs_local_open(f->world, root, &f->fs, err));
    f->cache = block_cache_new(1 << 20);
    f->options.fs = f->fs;
    f->options.dir = "t";
    f->options.cache = f->cache;
    group_options_default(&f->options.group);
    f->options.group.block_bytes = 1024;
    f->options.hooks.ctx = f;
    f->options.hooks.new_number = fixture_new_number;
    f->options.hooks.decided = fixture_decided;
    f->options.hooks.commit = fixture_commit;
    f->options.hooks.unlink = fixture_unlink;
}

UNUSED static void fixture_init(struct fixture *f)
{
    fixture_init_in(f, world_real_new(), test_tmpdir());
}

static void fixture_close(struct fixture *f)
{
    if (f->lsm)
        lsm_close(f->lsm);
    while (f->table_count)
        fixture_drop(f, 0);
    block_cache_free(f->cache);
    fs_close(f->fs);
}

/* The world is freed apart: in the simulated one the rest runs inside it. */
UNUSED static void fixture_free(struct fixture *f)
{
    fixture_close(f);
    world_free(f->world);
    free(f);
}

/* Encode a cell's key into @out, whose old contents go. */
static struct slice fixture_key(struct buf *out,
                                const char *row,
                                const char *column,
                                int64_t time,
                                uint64_t sequence,
                                enum entry_kind kind)
{
    bool scope = kind == ENTRY_DELETE_ROW || kind == ENTRY_DELETE_FAMILY;
    struct cell_key k = {
        .row = slice_str(row),
        .qualifier = scope ? SLICE_EMPTY : slice_str(column),
        .timestamp_us = time,
        .sequence = sequence,
        .family = kind == ENTRY_DELETE_ROW ? 0 : 1,
        .kind = kind,
    };
    buf_clear(out);
    cell_key_append(out, &k);
    return buf_slice(out);
}

#endif
