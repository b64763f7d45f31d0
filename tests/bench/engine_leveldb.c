/* LevelDB under measurement. Debian's has no zstd: it takes part without
 * compression alone. */
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/engine.h"

const char *const engine_name = "leveldb";

struct engine_thread {
    leveldb_writebatch_t *batch;
    leveldb_writeoptions_t *write;
};

static leveldb_t *db;
static leveldb_readoptions_t *read_options;
static leveldb_readoptions_t *scan_options;
static bool sync_commits;

static void check(char *error)
{
    if (error) {
        fprintf(stderr, "leveldb: %s\n", error);
        exit(1);
    }
}

void engine_open(const struct engine_config *c)
{
    leveldb_options_t *o = leveldb_options_create();
    char *error = NULL;
    if (c->zstd) {
        fprintf(stderr, "leveldb: no zstd\n");
        exit(3);
    }
    leveldb_options_set_create_if_missing(o, 1);
    leveldb_options_set_write_buffer_size(o, c->memtable_bytes);
    leveldb_options_set_max_open_files(o, 5000);
    leveldb_options_set_block_size(o, c->block_bytes);
    leveldb_options_set_max_file_size(o, 64 << 20);
    leveldb_options_set_compression(o, leveldb_no_compression);
    leveldb_options_set_cache(o, leveldb_cache_create_lru(c->cache_bytes));
    leveldb_options_set_filter_policy(o, leveldb_filterpolicy_create_bloom(10));
    sync_commits = c->sync;
    db = leveldb_open(o, c->dir, &error);
    check(error);
    read_options = leveldb_readoptions_create();
    leveldb_readoptions_set_verify_checksums(read_options, 1);
    scan_options = leveldb_readoptions_create();
    leveldb_readoptions_set_verify_checksums(scan_options, 1);
    leveldb_readoptions_set_fill_cache(scan_options, 0);
}

void engine_close(void)
{
    leveldb_close(db);
}

struct engine_thread *engine_thread_new(void)
{
    struct engine_thread *t = malloc(sizeof(*t));
    t->batch = leveldb_writebatch_create();
    t->write = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(t->write, sync_commits);
    return t;
}

void engine_thread_free(struct engine_thread *t)
{
    leveldb_writebatch_destroy(t->batch);
    leveldb_writeoptions_destroy(t->write);
    free(t);
}

void engine_put(struct engine_thread *t,
                const char *key,
                const char *value,
                size_t len)
{
    leveldb_writebatch_put(t->batch, key, ENGINE_KEY_BYTES, value, len);
}

void engine_commit(struct engine_thread *t)
{
    char *error = NULL;
    leveldb_write(db, t->write, t->batch, &error);
    check(error);
    leveldb_writebatch_clear(t->batch);
}

long engine_get(struct engine_thread *t, const char *key)
{
    char *error = NULL;
    size_t len = 0;
    char *v =
        leveldb_get(db, read_options, key, ENGINE_KEY_BYTES, &len, &error);
    (void)t;
    check(error);
    if (!v)
        return -1;
    leveldb_free(v);
    return (long)len;
}

long engine_scan(struct engine_thread *t, const char *from, long max)
{
    leveldb_iterator_t *it = leveldb_create_iterator(db, scan_options);
    volatile char sink = 0;
    long count = 0;
    (void)t;
    for (leveldb_iter_seek(it, from, ENGINE_KEY_BYTES);
         leveldb_iter_valid(it) && count < max; leveldb_iter_next(it)) {
        size_t key_len;
        size_t len;
        const char *k = leveldb_iter_key(it, &key_len);
        const char *v = leveldb_iter_value(it, &len);
        sink = (char)(sink + k[key_len - 1] + v[len - 1]);
        count++;
    }
    leveldb_iter_destroy(it);
    return count;
}

void engine_compact(void)
{
    leveldb_compact_range(db, NULL, 0, NULL, 0);
}

bool engine_is_busy(void)
{
    return false;
}
