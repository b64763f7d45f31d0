/* RocksDB under measurement: level compaction, direct I/O for flush and
 * compaction (its best setting where page allocation is expensive), zstd
 * level 1.
 */
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/engine.h"

const char *const engine_name = "rocksdb";

struct engine_thread {
    rocksdb_writebatch_t *batch;
    rocksdb_writeoptions_t *write;
};

static rocksdb_t *db;
static rocksdb_readoptions_t *read_options;
static rocksdb_readoptions_t *scan_options;
static bool sync_commits;

static void check(char *error)
{
    if (error) {
        fprintf(stderr, "rocksdb: %s\n", error);
        exit(1);
    }
}

static rocksdb_block_based_table_options_t *
table_options(const struct engine_config *c)
{
    rocksdb_block_based_table_options_t *t =
        rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_size(t, c->block_bytes);
    rocksdb_block_based_options_set_format_version(t, 5);
    rocksdb_block_based_options_set_block_cache(
        t, rocksdb_cache_create_lru(c->cache_bytes));
    rocksdb_block_based_options_set_filter_policy(
        t, rocksdb_filterpolicy_create_bloom_full(10));
    return t;
}

void engine_open(const struct engine_config *c)
{
    rocksdb_options_t *o = rocksdb_options_create();
    char *error = NULL;
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_write_buffer_size(o, c->memtable_bytes);
    rocksdb_options_set_max_open_files(o, 5000);
    rocksdb_options_set_compression(o, c->zstd ? rocksdb_zstd_compression
                                               : rocksdb_no_compression);
    rocksdb_options_set_compression_options(o, -14, 1, 0, 0);
    rocksdb_options_set_max_background_jobs(o, 2);
    rocksdb_options_set_bytes_per_sync(o, 1 << 20);
    rocksdb_options_set_target_file_size_base(o, 64 << 20);
    rocksdb_options_set_max_bytes_for_level_base(o, 256 << 20);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
    rocksdb_options_set_max_write_buffer_number(o, 3);
    rocksdb_options_set_use_direct_io_for_flush_and_compaction(o, 1);
    if (c->direct_reads)
        rocksdb_options_set_use_direct_reads(o, 1);
    if (c->sync)
        rocksdb_options_set_enable_pipelined_write(o, 1);
    rocksdb_options_set_block_based_table_factory(o, table_options(c));
    sync_commits = c->sync;
    db = rocksdb_open(o, c->dir, &error);
    check(error);
    read_options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(read_options, 1);
    scan_options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(scan_options, 1);
    rocksdb_readoptions_set_fill_cache(scan_options, 0);
    rocksdb_readoptions_set_readahead_size(scan_options, 2 << 20);
}

void engine_close(void)
{
    rocksdb_close(db);
}

struct engine_thread *engine_thread_new(void)
{
    struct engine_thread *t = malloc(sizeof(*t));
    t->batch = rocksdb_writebatch_create();
    t->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(t->write, sync_commits);
    return t;
}

void engine_thread_free(struct engine_thread *t)
{
    rocksdb_writebatch_destroy(t->batch);
    rocksdb_writeoptions_destroy(t->write);
    free(t);
}

void engine_put(struct engine_thread *t,
                const char *key,
                const char *value,
                size_t len)
{
    rocksdb_writebatch_put(t->batch, key, ENGINE_KEY_BYTES, value, len);
}

void engine_commit(struct engine_thread *t)
{
    char *error = NULL;
    rocksdb_write(db, t->write, t->batch, &error);
    check(error);
    rocksdb_writebatch_clear(t->batch);
}

long engine_get(struct engine_thread *t, const char *key)
{
    char *error = NULL;
    size_t len = 0;
    rocksdb_pinnableslice_t *v =
        rocksdb_get_pinned(db, read_options, key, ENGINE_KEY_BYTES, &error);
    (void)t;
    check(error);
    if (!v)
        return -1;
    rocksdb_pinnableslice_value(v, &len);
    rocksdb_pinnableslice_destroy(v);
    return (long)len;
}

long engine_scan(struct engine_thread *t, const char *from, long max)
{
    rocksdb_iterator_t *it = rocksdb_create_iterator(db, scan_options);
    volatile char sink = 0;
    long count = 0;
    (void)t;
    for (rocksdb_iter_seek(it, from, ENGINE_KEY_BYTES);
         rocksdb_iter_valid(it) && count < max; rocksdb_iter_next(it)) {
        size_t key_len;
        size_t len;
        const char *k = rocksdb_iter_key(it, &key_len);
        const char *v = rocksdb_iter_value(it, &len);
        sink = (char)(sink + k[key_len - 1] + v[len - 1]);
        count++;
    }
    rocksdb_iter_destroy(it);
    return count;
}

void engine_compact(void)
{
    rocksdb_compact_range(db, NULL, 0, NULL, 0);
}

bool engine_is_busy(void)
{
    static const char *const names[] = {
        "rocksdb.compaction-pending", "rocksdb.num-running-compactions",
        "rocksdb.num-running-flushes", "rocksdb.mem-table-flush-pending"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint64_t value = 0;
        if (rocksdb_property_int(db, names[i], &value) == 0 && value)
            return true;
    }
    return false;
}
