/* Dropping backups, and then the files that none needs any more. Which these
 * are is known only if every manifest can be read, and if no backup is being
 * made, which may count on files that no manifest names.
 */
#include <inttypes.h>
#include <string.h>

#include "base/core/hash_map.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "bigtable/backup/backup_archive.h"
#include "bigtable/backup/backup_place.h"
#include "bigtable/backup/backup_run.h"
#include "gfs-lite/fs.h"

struct dropping {
    struct quarry_backups *backups;
    struct backup_run *run;
    struct hash_map needed; /* Names of files. */
    const char *directory;  /* Of the files that are looked at. */
};

/* --- manifests ----------------------------------------------------------- */

static int drop_manifest(struct dropping *d, const char *name, struct err *err)
{
    struct quarry_backups *b = d->backups;
    struct buf path = BUF_INIT;
    struct buf dir = BUF_INIT;
    int rc = backup_check_name(slice_str(name), err);
    if (rc)
        return rc;
    rc = fs_remove(b->place.fs, backup_manifest_path(b, name, &path), err);
    if (rc == 0)
        rc = fs_sync_dir(
            b->place.fs,
            fs_location_path(&b->place, BACKUP_MANIFESTS_DIR, &dir), err);
    buf_close(&path);
    buf_close(&dir);
    return rc;
}

static int drop_named(struct dropping *d,
                      const char *const *names,
                      size_t count,
                      struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct err why = ERR_INIT;
        struct backup_held h;
        /* A damaged one is dropped as well. */
        rc = backup_held_read(d->backups, names[i], &h, &why);
        backup_held_close(&h);
        if (rc == 0 || rc == ERR_CORRUPT)
            rc = drop_manifest(d, names[i], err);
        else
            err_copy(err, &why);
    }
    return rc;
}

static int drop_oldest(struct dropping *d, size_t keep, struct err *err)
{
    struct backup_all all;
    size_t whole = 0;
    int rc = backup_all_read(d->backups, &all, err);
    for (size_t i = 0; i < all.count; i++)
        whole += !all.list[i].is_damaged;
    for (size_t i = 0; i < all.count && rc == 0 && whole > keep; i++) {
        if (all.list[i].is_damaged)
            continue;
        rc = drop_manifest(d, all.list[i].name, err);
        whole--;
    }
    backup_all_close(&all);
    return rc;
}

/* --- files --------------------------------------------------------------- */

static int learn_needed(struct dropping *d, struct err *err)
{
    struct quarry_backups *b = d->backups;
    struct backup_all all;
    struct buf path = BUF_INIT;
    int rc = backup_all_read(b, &all, err);
    for (size_t i = 0; i < all.count && rc == 0; i++) {
        const struct backup_manifest *m = &all.list[i].manifest;
        if (all.list[i].is_damaged) {
            rc = err_copy(err, &all.list[i].err);
            err_hint(err, "nobody knows which files it needs: drop it by its "
                          "name, or put it back");
        }
        for (size_t k = 0; k < m->file_count && rc == 0; k++) {
            const char *full = backup_file_path(b, m->files[k].digest, &path);
            hash_map_put(&d->needed, slice_str(strrchr(full, '/') + 1), NULL);
        }
    }
    if (rc == 0)
        rc = archive_prune(b, &all, err);
    buf_close(&path);
    backup_all_close(&all);
    return rc;
}

static int consider_file(void *ctx,
                         const char *name,
                         const struct fs_info *info,
                         struct err *err)
{
    struct dropping *d = ctx;
    struct quarry_backups *b = d->backups;
    struct buf path = BUF_INIT;
    int rc;
    if (info->is_directory || hash_map_get(&d->needed, slice_str(name)))
        return 0;
    rc = backup_run_check(d->run, err);
    buf_printf(&path, "%s/%s", d->directory, name);
    if (rc == 0)
        rc = fs_remove(b->place.fs, buf_cstr(&path), err);
    if (rc == ERR_NOTFOUND)
        rc = 0; /* Another drop was first. */
    else if (rc == 0) {
        b->counts.removed_files++;
        b->counts.removed_bytes += info->size_bytes;
    }
    buf_close(&path);
    return rc;
}

static int consider_directory(void *ctx,
                              const char *name,
                              const struct fs_info *info,
                              struct err *err)
{
    struct dropping *d = ctx;
    struct quarry_backups *b = d->backups;
    struct buf path = BUF_INIT;
    int rc = 0;
    if (!info->is_directory)
        return 0;
    buf_printf(&path, "%s" BACKUP_FILES_DIR "/%s", b->place.path, name);
    d->directory = buf_cstr(&path);
    rc = fs_each(b->place.fs, d->directory, consider_file, d, err);
    if (rc == ERR_NOTFOUND)
        rc = 0;
    /* An empty one goes, where there are such. */
    if (rc == 0) {
        /* It has files. */
        IGNORE_RESULT(fs_remove(b->place.fs, d->directory, NULL));
    }
    buf_close(&path);
    return rc;
}

static int remove_unneeded(struct dropping *d, struct err *err)
{
    struct quarry_backups *b = d->backups;
    struct buf path = BUF_INIT;
    int rc = learn_needed(d, err);
    if (rc == 0)
        rc = fs_each(b->place.fs,
                     fs_location_path(&b->place, BACKUP_FILES_DIR, &path),
                     consider_directory, d, err);
    buf_close(&path);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

int quarry_backup_drop(struct quarry_backups *b,
                       const char *const *names,
                       size_t count,
                       size_t keep,
                       struct quarry_backup_counts *counts,
                       struct err *err)
{
    struct dropping d = {.backups = b};
    bool found = false;
    int rc;
    b->counts = (struct quarry_backup_counts){.tables = 0};
    hash_map_init(&d.needed, HASH_KEYS_COPIED);
    rc = backup_run_begin(b, BACKUP_RUN_DROP, &d.run, err);
    if (rc == 0)
        rc = drop_named(&d, names, count, err);
    if (rc == 0 && keep)
        rc = drop_oldest(&d, keep, err);
    /* Behind this a backup that begins waits for this call's end. */
    if (rc == 0)
        rc = backup_run_look(d.run, BACKUP_RUN_CREATE, &found, err);
    if (rc == 0 && found)
        b->counts.was_interrupted = true;
    else if (rc == 0)
        rc = remove_unneeded(&d, err);
    backup_run_end(d.run);
    hash_map_close(&d.needed);
    if (counts)
        *counts = b->counts;
    return rc;
}
