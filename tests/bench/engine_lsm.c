/* A bare group (bigtable/lsm) under measurement: what the layers above it can
 * reach at best. One writer at a time, a plain log, two background tasks; no
 * recovery, no group commit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/hash.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/block_cache.h"
#include "gfs-lite/fs.h"
#include "tests/bench/engine.h"

#define TABLES_MAX 4096

const char *const engine_name = "lsm";

struct engine_thread {
    struct buf record; /* Of the log. */
    struct buf key;
    struct buf row;
    struct buf value;
    struct buf entries; /* key, value of the batch, length-prefixed. */
};

static struct world *world;
static struct fs *fs;
static struct block_cache *cache;
static struct lsm *lsm;
static struct lsm_options options;
static struct fs_writer *log_writer;
static struct mutex write_mutex;
static uint64_t sequence;
static bool sync_commits;

static struct mutex mutex; /* Of the tables and the flags below. */
static struct cond changed;
static struct lsm_table tables[TABLES_MAX];
static size_t table_count;
static uint64_t next_number = 1;
static bool closing;
static bool want_flush;
static bool busy;
static struct task *flusher;
static struct task *compactor;

static void check(int rc, const struct err *err)
{
    if (rc) {
        fprintf(stderr, "lsm: %s\n", err->text);
        exit(1);
    }
}

#define CHECK(call)                                                            \
    do {                                                                       \
        struct err error = ERR_INIT;                                           \
        check((call), &error);                                                 \
    } while (0)

/* --- the owner's part ---------------------------------------------------- */

static uint64_t new_number(void *ctx)
{
    uint64_t n;
    (void)ctx;
    mutex_lock(&mutex);
    n = next_number++;
    mutex_unlock(&mutex);
    return n;
}

static struct slice dup(struct slice s)
{
    char *p = malloc(s.len);
    memcpy(p, s.data, s.len);
    return slice_make(p, s.len);
}

/* The list of tables as text, rewritten whole. */
static void save_tables(void)
{
    struct buf out = BUF_INIT;
    buf_put_le64(&out, next_number);
    buf_put_le64(&out, sequence);
    for (size_t i = 0; i < table_count; i++) {
        buf_put_le64(&out, tables[i].number);
        buf_put_le64(&out, tables[i].bytes);
        buf_put_le64(&out, tables[i].entry_count);
        buf_put_le64(&out, tables[i].sequence_min);
        buf_put_le64(&out, tables[i].sequence_max);
        buf_put_le64(&out, tables[i].run);
        buf_put_lslice(&out, tables[i].first_key);
        buf_put_lslice(&out, tables[i].last_key);
    }
    CHECK(fs_replace(fs, "tables", buf_slice(&out), &error));
    buf_close(&out);
}

static void load_tables(void)
{
    struct buf in = BUF_INIT;
    struct cursor c;
    if (fs_read_all(fs, "tables", 1 << 24, &in, NULL))
        return;
    c = cursor_make(buf_slice(&in));
    next_number = cursor_le64(&c);
    sequence = cursor_le64(&c);
    while (cursor_left(&c) > 0 && !c.bad) {
        struct lsm_table *t = &tables[table_count++];
        t->number = cursor_le64(&c);
        t->bytes = cursor_le64(&c);
        t->entry_count = cursor_le64(&c);
        t->sequence_min = cursor_le64(&c);
        t->sequence_max = cursor_le64(&c);
        t->run = (uint32_t)cursor_le64(&c);
        t->first_key = dup(cursor_lslice(&c));
        t->last_key = dup(cursor_lslice(&c));
    }
    buf_close(&in);
}

static int
commit(void *ctx, struct lsm *l, const struct lsm_edit *edit, struct err *err)
{
    (void)ctx;
    (void)l;
    (void)err;
    mutex_lock(&mutex);
    for (size_t i = 0; i < edit->removed_count; i++)
        for (size_t k = 0; k < table_count; k++)
            if (tables[k].number == edit->removed[i])
                tables[k--] = tables[--table_count];
    for (size_t i = 0; i < edit->added_count; i++) {
        tables[table_count] = edit->added[i];
        tables[table_count].first_key = dup(edit->added[i].first_key);
        tables[table_count].last_key = dup(edit->added[i].last_key);
        table_count++;
    }
    save_tables();
    mutex_unlock(&mutex);
    return 0;
}

static void unlink_table(void *ctx, uint64_t number)
{
    char path[64];
    (void)ctx;
    snprintf(path, sizeof(path), "t/%06" PRIu64 ".sst", number);
    CHECK(fs_remove(fs, path, &error));
}

/* --- background ---------------------------------------------------------- */

static void flush_loop(void *arg)
{
    (void)arg;
    mutex_lock(&mutex);
    for (;;) {
        while (!want_flush && !closing)
            cond_wait(&changed, &mutex);
        if (!want_flush)
            break;
        want_flush = false;
        mutex_unlock(&mutex);
        CHECK(lsm_flush(lsm, &error));
        mutex_lock(&mutex);
        cond_broadcast(&changed);
    }
    mutex_unlock(&mutex);
}

static void compact_loop(void *arg)
{
    (void)arg;
    mutex_lock(&mutex);
    while (!closing) {
        bool did;
        mutex_unlock(&mutex);
        CHECK(lsm_compact(lsm, &did, &error));
        mutex_lock(&mutex);
        busy = did;
        if (!did && !closing)
            cond_wait(&changed, &mutex);
    }
    mutex_unlock(&mutex);
}

/* --- the engine ---------------------------------------------------------- */

void engine_open(const struct engine_config *c)
{
    struct fs_write_options log = {.mode = FS_WRITE_LOG};
    world = world_real_new();
    CHECK(fs_local_open(world, c->dir, &fs, &error));
    cache = block_cache_new(c->cache_bytes);
    mutex_init(&mutex);
    mutex_init(&write_mutex);
    cond_init(&changed);
    options.fs = fs;
    options.dir = "t";
    options.cache = cache;
    group_options_default(&options.group);
    options.group.compression = c->zstd ? COMPRESSION_ZSTD : COMPRESSION_NONE;
    options.group.level = 1;
    options.group.block_bytes = (uint32_t)c->block_bytes;
    options.group.memtable_bytes = c->memtable_bytes;
    options.hooks.new_number = new_number;
    options.hooks.commit = commit;
    options.hooks.unlink = unlink_table;
    load_tables();
    CHECK(lsm_open(&options, tables, table_count, &lsm, &error));
    CHECK(fs_create(fs, "log", &log, &log_writer, &error));
    sync_commits = c->sync;
    flusher = task_start(world, "flush", flush_loop, NULL);
    compactor = task_start(world, "compact", compact_loop, NULL);
}

static void freeze(void)
{
    lsm_freeze(lsm, sequence);
    mutex_lock(&mutex);
    want_flush = true;
    cond_broadcast(&changed);
    mutex_unlock(&mutex);
}

void engine_close(void)
{
    freeze();
    mutex_lock(&mutex);
    closing = true;
    cond_broadcast(&changed);
    mutex_unlock(&mutex);
    task_join(flusher);
    task_join(compactor);
    CHECK(lsm_flush(lsm, &error));
    fs_writer_close(log_writer);
    lsm_close(lsm);
    block_cache_free(cache);
    fs_close(fs);
    world_free(world);
}

struct engine_thread *engine_thread_new(void)
{
    return calloc(1, sizeof(struct engine_thread));
}

void engine_thread_free(struct engine_thread *t)
{
    buf_close(&t->record);
    buf_close(&t->key);
    buf_close(&t->row);
    buf_close(&t->value);
    buf_close(&t->entries);
    free(t);
}

void engine_put(struct engine_thread *t,
                const char *key,
                const char *value,
                size_t len)
{
    buf_put_lslice(&t->entries, slice_make(key, ENGINE_KEY_BYTES));
    buf_put_lslice(&t->entries, slice_make(value, len));
}

static void insert(struct engine_thread *t)
{
    struct cursor c = cursor_make(buf_slice(&t->entries));
    while (cursor_left(&c) > 0) {
        struct cell_key k = {.row = cursor_lslice(&c),
                             .qualifier = SLICE_LIT("q"),
                             .timestamp_us = 1,
                             .sequence = ++sequence,
                             .family = 1,
                             .kind = ENTRY_PUT};
        k.timestamp_us = (int64_t)sequence;
        buf_clear(&t->key);
        cell_key_append(&t->key, &k);
        lsm_insert(lsm, buf_slice(&t->key), cursor_lslice(&c));
    }
}

void engine_commit(struct engine_thread *t)
{
    char header[8];
    mutex_lock(&write_mutex);
    put_le32(header, (uint32_t)t->entries.len);
    put_le32(header + 4, crc32c(t->entries.data, t->entries.len));
    buf_clear(&t->record);
    buf_append(&t->record, header, 8);
    buf_append_slice(&t->record, buf_slice(&t->entries));
    CHECK(fs_writer_append(log_writer, t->record.data, t->record.len, &error));
    if (sync_commits)
        CHECK(fs_writer_sync(log_writer, &error));
    insert(t);
    buf_clear(&t->entries);
    if (lsm_active_bytes(lsm) >= options.group.memtable_bytes) {
        mutex_lock(&mutex);
        while (lsm_frozen_memory(lsm) >= options.group.memtable_bytes)
            cond_wait(&changed, &mutex);
        mutex_unlock(&mutex);
        freeze();
    }
    mutex_unlock(&write_mutex);
}

long engine_get(struct engine_thread *t, const char *key)
{
    struct lsm_snapshot *s = lsm_snapshot_new(lsm);
    struct slice row = slice_make(key, ENGINE_KEY_BYTES);
    enum lsm_found found;
    int64_t time;
    buf_clear(&t->row);
    buf_clear(&t->key);
    buf_clear(&t->value);
    cell_key_append_row(&t->row, row);
    cell_key_append_column(&t->key, row, 1, SLICE_LIT("q"));
    CHECK(lsm_get_newest(s, buf_slice(&t->row), buf_slice(&t->key),
                         hash64_slice(buf_slice(&t->key)), UINT64_MAX, &found,
                         &t->value, &time, &error));
    lsm_snapshot_free(s);
    return found == LSM_FOUND ? (long)t->value.len : -1;
}

long engine_scan(struct engine_thread *t, const char *from, long max)
{
    struct lsm_read_options o = {.sequence_max = UINT64_MAX, .scan = true};
    struct lsm_snapshot *s = lsm_snapshot_new(lsm);
    struct lsm_iter *it;
    volatile char sink = 0;
    long count = 0;
    buf_clear(&t->row);
    cell_key_append_row(&t->row, slice_make(from, ENGINE_KEY_BYTES));
    CHECK(lsm_iter_new(s, &o, &it, &error));
    CHECK(lsm_iter_seek(it, buf_slice(&t->row), &error));
    while (lsm_iter_valid(it) && count < max) {
        struct slice k = lsm_iter_key(it);
        struct slice v = lsm_iter_value(it);
        sink = (char)(sink + k.data[k.len - 1] + v.data[v.len - 1]);
        count++;
        CHECK(lsm_iter_next(it, &error));
    }
    lsm_iter_free(it);
    lsm_snapshot_free(s);
    return count;
}

void engine_compact(void)
{
    freeze();
    mutex_lock(&mutex);
    while (want_flush || lsm_frozen_memory(lsm) > 0)
        cond_wait(&changed, &mutex);
    mutex_unlock(&mutex);
    CHECK(lsm_compact_major(lsm, &error));
}

bool engine_is_busy(void)
{
    return busy || lsm_frozen_memory(lsm) > 0;
}
