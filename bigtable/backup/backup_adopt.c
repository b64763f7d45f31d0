/* A cluster adopts tables of a store in a directory: their files are read where
 * they lie, and become tables of the cluster at once; no row is taken apart.
 *
 * A snapshot of the directory, with the table's name in its own, is made before
 * anything is written and dropped at the very end. It says to a later call that
 * one was interrupted: then the table is the same as the one before saw, what
 * was brought over already is used, and a table that is there in the cluster is
 * that call's own work.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "bigtable/backup/backup_restore.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/client/table_import.h"
#include "bigtable/wire/snapshot_record.h"
#include "gfs-lite/fs.h"

#define KEYS_PATH  "KEYS"
#define SNAPSHOT   "adopt-%s"
#define NAME_BYTES 512

struct backup_adopting {
    struct backup_restoring restoring; /* Its manifest is that below. */
    struct quarry *from;
    struct backup_manifest manifest; /* Of one table. */
    struct buf keys;
};

/* --- what there is ------------------------------------------------------- */

/* Was a call for @table interrupted? */
static int find_snapshot(struct backup_adopting *a,
                         const char *name,
                         bool *found,
                         struct err *err)
{
    struct quarry_snapshots *s = NULL;
    int rc = quarry_snapshot_list(a->from, &s, err);
    *found = false;
    for (size_t i = 0; rc == 0 && i < s->count; i++)
        *found |= strcmp(s->list[i].name, name) == 0;
    quarry_snapshots_free(s);
    return rc;
}

/* Changes are records of the directory: say so. A call that was interrupted may
 * have dropped the table. */
static void
tell_left(struct backup_adopting *a, const char *table, const char *as)
{
    struct quarry_backups *b = a->restoring.backups;
    struct quarry_table_info *info = NULL;
    struct buf text = BUF_INIT;
    if (quarry_table_describe(a->from, table, &info, NULL) == 0 &&
        b->options.problem && info->changes &&
        strcmp(info->changes, "off") != 0) {
        buf_printf(
            &text,
            "table %s: its changes are not taken over; to keep them from "
            "now on: quarry table alter %s --changes %s",
            table, as, info->changes);
        b->options.problem(b->options.ctx, buf_cstr(&text));
    }
    quarry_table_info_free(info);
    buf_close(&text);
}

/* --- one table ----------------------------------------------------------- */

static void adopt_add_file(void *ctx, uint64_t number)
{
    struct backup_manifest *m = ctx;
    m->files = mem_realloc(m->files, (m->file_count + 1) * sizeof(*m->files));
    m->files[m->file_count++] = (struct backup_file){.number = number};
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = ((const struct backup_file *)a)->number;
    uint64_t y = ((const struct backup_file *)b)->number;
    return x < y ? -1 : x > y;
}

/* Each file once, by number, with its size. */
static int
list_adopted(struct backup_adopting *a, struct slice record, struct err *err)
{
    struct backup_manifest *m = &a->manifest;
    struct fs *fs = a->restoring.backups->place.fs;
    struct snapshot_record r;
    struct arena arena;
    size_t kept = 0;
    int rc;
    arena_init(&arena);
    m->file_count = 0;
    rc = snapshot_record_get(record, &arena, &r, err);
    if (rc == 0)
        rc = snapshot_each_file(&r, adopt_add_file, m, err);
    arena_close(&arena);
    if (m->file_count > 1)
        qsort(m->files, m->file_count, sizeof(*m->files), compare_numbers);
    for (size_t i = 0; i < m->file_count; i++)
        if (kept == 0 || m->files[kept - 1].number != m->files[i].number)
            m->files[kept++] = m->files[i];
    m->file_count = kept;
    for (size_t i = 0; i < kept && rc == 0; i++) {
        char path[64];
        struct fs_info info;
        snprintf(path, sizeof(path), "tables/%06" PRIu64 ".sst",
                 m->files[i].number);
        rc = fs_stat(fs, path, &info, err);
        m->files[i].bytes = rc ? 0 : info.size_bytes;
    }
    return rc;
}

static int bring_over(struct backup_adopting *a,
                      const char *table,
                      const char *as,
                      const char *snapshot,
                      struct err *err)
{
    struct buf record = BUF_INIT;
    struct backup_table t = {.name = slice_str(table)};
    int rc = quarry_snapshot_record(a->from, snapshot, &record, err);
    t.record = buf_slice(&record);
    /* The same for each call that has this snapshot: so is the load. */
    sha256_of(t.record, a->restoring.digest);
    if (rc == 0)
        rc = list_adopted(a, t.record, err);
    if (rc == 0)
        rc = backup_restore_table(&a->restoring, &t, as, err);
    buf_close(&record);
    return rc;
}

static int adopt_table(struct backup_adopting *a,
                       const struct quarry_backup_choice *choice,
                       bool drop,
                       struct err *err)
{
    const char *as = choice->as ? choice->as : choice->table;
    char snapshot[NAME_BYTES];
    bool was_interrupted;
    int rc;
    snprintf(snapshot, sizeof(snapshot), SNAPSHOT, choice->table);
    rc = find_snapshot(a, snapshot, &was_interrupted, err);
    if (rc == 0)
        rc = backup_restore_is_free(a->restoring.quarry, as, err);
    if (rc == 0 && !was_interrupted)
        rc = quarry_table_snapshot(a->from, choice->table, snapshot, 0, err);
    if (rc == 0)
        rc = bring_over(a, choice->table, as, snapshot, err);
    else if (rc == ERR_EXISTS && was_interrupted)
        rc = 0; /* That call got so far. */
    if (rc == 0)
        tell_left(a, choice->table, as);
    if (rc == 0 && drop) {
        rc = quarry_table_drop(a->from, choice->table, err);
        if (rc == ERR_NOTFOUND && was_interrupted)
            rc = 0;
    }
    if (rc == 0)
        rc = quarry_snapshot_drop(a->from, snapshot, err);
    if (rc)
        err_wrap(err, "table %s", choice->table);
    return rc;
}

/* --- all ----------------------------------------------------------------- */

static int read_adopted_keys(struct backup_adopting *a, struct err *err)
{
    int rc = fs_read_all(a->restoring.backups->place.fs, KEYS_PATH,
                         KEYRING_FILE_BYTES_MAX, &a->keys, err);
    a->manifest.keys = buf_slice(&a->keys);
    a->manifest.name = SLICE_LIT("of the directory");
    if (rc == ERR_NOTFOUND)
        return 0;
    return rc ? rc : backup_restore_keys(&a->restoring, err);
}

int quarry_backup_adopt(struct quarry_backups *b,
                        struct quarry *from,
                        struct quarry *into,
                        const struct quarry_backup_choice *choices,
                        size_t choice_count,
                        bool drop,
                        struct quarry_backup_counts *counts,
                        struct err *err)
{
    struct backup_adopting a = {
        .from = from,
        .restoring = {
            .backups = b, .quarry = into, .rights = true, .from_store = true}};
    int rc;
    PRE(from != into);
    a.restoring.manifest = &a.manifest;
    b->counts = (struct quarry_backup_counts){.tables = 0};
    rc = read_adopted_keys(&a, err);
    if (rc == 0)
        rc = quarry_bulk_files(into, &a.restoring.store, err);
    for (size_t i = 0; i < choice_count && rc == 0; i++)
        rc = adopt_table(&a, &choices[i], drop, err);
    fs_close(a.restoring.store);
    fs_set_keyring(b->place.fs, NULL);
    mem_free(a.manifest.files);
    buf_close(&a.keys);
    if (counts)
        *counts = b->counts;
    return rc;
}
