/* quarry check: verifies a store that is not in use: every SSTable that the
 * manifest or a snapshot names, the manifest, the records of snapshots and the
 * commit log. It changes nothing, and continues behind a damaged file.
 */
#include "cli/cmd_check.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/runtime/world.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/sstable/verify.h"
#include "bigtable/store/manifest.h"
#include "bigtable/wire/snapshot_record.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/table_printer.h"
#include "gfs-lite/fs.h"

#define CACHE_BYTES ((size_t)16 << 20)
#define LOCK_NAME   "LOCK"
#define KEYS_NAME   "KEYS"
#define LOG_DIR     "log"
#define PATH_BYTES  64

struct check {
    struct cli *cli;           /* Borrowed. */
    struct fs *fs;             /* Owned. */
    struct block_cache *cache; /* Owned. */
    struct sheet sheet;
    struct progress progress;
    uint64_t bytes_done;
    uint64_t damaged;
    uint64_t log_entries;
    struct hash_map seen; /* Paths of SSTables. */
};

/* *@count: how many entries it should have and, if that is 0, has. */
static int
check_file(struct check *c, const char *path, uint64_t *count, struct err *err)
{
    struct sstable_reader_options opts = {.cache = c->cache};
    struct sstable_reader *reader;
    uint64_t found = 0;
    int rc = sstable_reader_open(c->fs, path, &opts, &reader, err);
    if (rc)
        return rc;
    rc = sstable_verify(reader, &found, err);
    if (!rc && *count > 0 && found != *count)
        rc = err_set(err, ERR_CORRUPT,
                     "%" PRIu64 " entries, the manifest says %" PRIu64, found,
                     *count);
    if (*count == 0)
        *count = found;
    sstable_reader_unref(reader);
    return rc;
}

static void add_result(struct check *c,
                       const char *what,
                       uint64_t entries,
                       uint64_t bytes,
                       int r,
                       const struct err *err)
{
    sheet_add_str(&c->sheet, what);
    sheet_add_u64(&c->sheet, entries);
    sheet_add_u64(&c->sheet, bytes);
    sheet_add_str(&c->sheet, r ? err->text : "ok");
    c->damaged += r != 0;
}

/* Table file @number of @count entries (0: who knows) and @bytes, unless it was
 * checked before: tables and snapshots share files. */
static void
check_table(struct check *c, uint64_t number, uint64_t count, uint64_t bytes)
{
    char path[PATH_BYTES];
    struct err err = ERR_INIT;
    bool is_new;
    int rc;
    snprintf(path, sizeof(path), STORE_TABLES_DIR "/%06" PRIu64 ".sst", number);
    (void)hash_map_put(&c->seen, slice_str(path), &is_new);
    if (!is_new || interrupted())
        return;
    rc = check_file(c, path, &count, &err);
    add_result(c, path, count, bytes, rc, &err);
    c->bytes_done += bytes;
    progress_bytes(&c->progress, c->bytes_done, 0, path);
}

static void check_group(struct check *c, const struct manifest_group *g)
{
    for (size_t i = 0; i < g->file_count; i++)
        check_table(c, g->files[i].number, g->files[i].entry_count,
                    g->files[i].bytes);
}

/* --- snapshots ----------------------------------------------------------- */

static void check_held(void *ctx, uint64_t number)
{
    struct check *c = ctx;
    char path[PATH_BYTES];
    struct fs_info info = {.size_bytes = 0};
    snprintf(path, sizeof(path), STORE_TABLES_DIR "/%06" PRIu64 ".sst", number);
    (void)!fs_stat(c->fs, path, &info, NULL);
    check_table(c, number, 0, info.size_bytes);
}

/* The record @path, and the files that it holds. */
static void check_snapshot(struct check *c, const char *path)
{
    struct snapshot_record record;
    struct buf bytes = BUF_INIT;
    struct arena a;
    struct err err = ERR_INIT;
    int rc = fs_read_all_sealed(c->fs, path, SNAPSHOT_BYTES_MAX, &bytes, &err);
    arena_init(&a);
    if (!rc)
        rc = snapshot_record_get(buf_slice(&bytes), &a, &record, &err);
    if (!rc)
        rc = snapshot_each_file(&record, check_held, c, &err);
    add_result(c, path, 0, bytes.len, rc, &err);
    arena_close(&a);
    buf_close(&bytes);
}

/* The records that the manifest names are there. */
static void check_named_snapshots(struct check *c,
                                  const struct manifest_state *state)
{
    for (size_t i = 0; i < state->snapshot_count; i++) {
        struct buf path = BUF_INIT;
        struct fs_info info;
        struct err err = ERR_INIT;
        int rc;
        buf_printf(&path, SNAPSHOTS_DIR "/%s" SNAPSHOT_SUFFIX,
                   state->snapshots[i]);
        rc = fs_stat(c->fs, buf_cstr(&path), &info, &err);
        if (rc == ERR_NOTFOUND)
            err_set(&err, rc, "the record is missing");
        if (rc)
            add_result(c, buf_cstr(&path), 0, 0, rc, &err);
        buf_close(&path);
    }
}

static void check_snapshots(struct check *c, const struct manifest_state *state)
{
    char **names = NULL;
    size_t count = 0;
    struct slice name;
    check_named_snapshots(c, state);
    if (fs_list(c->fs, SNAPSHOTS_DIR, &names, &count, NULL))
        return; /* There were never any. */
    for (size_t i = 0; i < count; i++) {
        struct buf path = BUF_INIT;
        buf_printf(&path, SNAPSHOTS_DIR "/%s", names[i]);
        if (snapshot_of_file(slice_str(names[i]), &name))
            check_snapshot(c, buf_cstr(&path));
        buf_close(&path);
    }
    fs_names_free(names, count);
}

/* --- the rest ------------------------------------------------------------ */

static int count_record(void *ctx,
                        uint64_t sequence,
                        uint32_t count,
                        struct slice payload,
                        struct err *err)
{
    struct check *c = ctx;
    (void)sequence;
    (void)payload;
    (void)err;
    c->log_entries += count;
    return ERR_OK;
}

static void
check_log(struct check *c, const struct manifest_state *state, const char *dir)
{
    struct buf path = BUF_INIT;
    struct commit_log_options opts = {.world = c->cli->world,
                                      .keyring = fs_keyring(c->fs),
                                      .named = {state->log_segments,
                                                state->log_segment_count,
                                                state->log_position}};
    struct log_end end;
    struct err err = ERR_INIT;
    int rc;
    buf_printf(&path, "%s/" LOG_DIR, dir);
    opts.dir = buf_cstr(&path);
    rc = log_read(&opts, false, count_record, c, &end, &err);
    if (rc == ERR_NOTFOUND)
        rc = ERR_OK;
    add_result(c, LOG_DIR, c->log_entries, rc ? 0 : end.position, rc, &err);
    buf_close(&path);
}

static int check_manifest(struct check *c, const char *dir, struct err *err)
{
    struct manifest *m;
    const struct manifest_state *s;
    bool fresh;
    int rc = manifest_open(c->fs, false, false, &m, &fresh, err);
    if (rc)
        return rc;
    s = manifest_state(m);
    if (fresh) {
        rc = err_set(err, ERR_NOTFOUND, "%s: no store there", dir);
        err_hint(err, "a store is a directory with the file CURRENT");
    }
    for (size_t i = 0; i < s->tablet_count; i++)
        for (size_t g = 0; g < s->tablets[i].group_count; g++)
            check_group(c, &s->tablets[i].groups[g]);
    if (!rc)
        check_snapshots(c, s);
    if (!rc)
        check_log(c, s, dir);
    manifest_close(m);
    return rc;
}

static int check_all(struct check *c, const char *dir, struct err *err)
{
    static const struct sheet_column columns[] = {{"file", SHEET_TEXT},
                                                  {"entries", SHEET_NUMBER},
                                                  {"bytes", SHEET_BYTES},
                                                  {"state", SHEET_TEXT}};
    int rc;
    sheet_init(&c->sheet, columns, ARRAY_LEN(columns));
    c->cache = block_cache_new(CACHE_BYTES);
    hash_map_init(&c->seen, HASH_KEYS_COPIED);
    (void)interrupt_watch();
    progress_start(&c->progress, c->cli, "check");
    rc = check_manifest(c, dir, err);
    progress_end(&c->progress);
    if (!rc)
        sheet_print(&c->sheet, c->cli->format);
    if (!rc && interrupted())
        rc = err_set(err, ERR_CANCELLED, "check: interrupted");
    if (!rc && c->damaged > 0) {
        rc = err_set(err, ERR_CORRUPT,
                     "%s: %" PRIu64 " of its files are damaged", dir,
                     c->damaged);
        err_hint(err, "export what can be read, and import it again");
    }
    hash_map_close(&c->seen);
    block_cache_free(c->cache);
    sheet_close(&c->sheet);
    return rc;
}

int check_store(struct cli *cli, const char *dir, struct err *err)
{
    struct check c = {.cli = cli};
    struct master_keys *masters;
    struct fs_lock *lock;
    struct file_info info;
    int rc = world_stat(cli->world, dir, &info, err);
    if (rc)
        return rc;
    rc = cli_master_keys(cli, &masters, err);
    if (!rc)
        rc = fs_local_open(cli->world, dir, &c.fs, err);
    if (rc)
        return rc;
    rc = fs_open_keyring(c.fs, KEYS_NAME, masters, false, err);
    if (rc) {
        fs_close(c.fs);
        return rc;
    }
    rc = cli_lock(cli, c.fs, LOCK_NAME, &lock, err);
    if (!rc) {
        rc = check_all(&c, dir, err);
        fs_unlock(lock);
    }
    fs_close(c.fs);
    return rc;
}
