/* Opening a place, its paths, and its manifests. A place is any file system
 * that a name can stand for; the paths below it are the same in all of them.
 */
#include "bigtable/backup/backup_place.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"

#define JOBS_DEFAULT  4
#define JOBS_MAX      64
#define LEASE_DEFAULT (UINT64_C(300) * 1000000)

static const char *no_variable(const char *name)
{
    (void)name;
    return NULL;
}

int quarry_backups_open(const char *name,
                        const struct quarry_backup_options *opts,
                        struct quarry_backups **out,
                        struct err *err)
{
    struct quarry_backups *b = mem_zalloc(1, sizeof(*b));
    int rc;
    *out = NULL;
    if (opts)
        b->options = *opts;
    if (!b->options.variable)
        b->options.variable = no_variable;
    if (b->options.jobs == 0)
        b->options.jobs = JOBS_DEFAULT;
    b->options.jobs = MIN_OF(b->options.jobs, (unsigned)JOBS_MAX);
    if (b->options.lease_us == 0)
        b->options.lease_us = LEASE_DEFAULT;
    b->owns_world = !b->options.world;
    b->world = b->owns_world ? world_real_new() : b->options.world;
    mutex_init(&b->lock);
    rc = fs_location_open(b->world, name, b->options.security,
                          b->options.variable, &b->place, err);
    if (rc) {
        quarry_backups_close(b);
        return rc;
    }
    *out = b;
    return 0;
}

void quarry_backups_close(struct quarry_backups *b)
{
    if (!b)
        return;
    fs_location_close(&b->place);
    mutex_close(&b->lock);
    if (b->owns_world)
        world_free(b->world);
    mem_free(b);
}

const char *backup_manifest_path(const struct quarry_backups *b,
                                 const char *name,
                                 struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s" BACKUP_MANIFESTS_DIR "/%s" BACKUP_SUFFIX,
               b->place.path, name);
    return buf_cstr(out);
}

const char *backup_file_path(const struct quarry_backups *b,
                             const unsigned char digest[SHA256_BYTES],
                             struct buf *out)
{
    char text[SHA256_TEXT_BYTES];
    sha256_text(digest, text);
    buf_clear(out);
    buf_printf(out, "%s" BACKUP_FILES_DIR "/%.2s/%s" BACKUP_FILE_SUFFIX,
               b->place.path, text, text);
    return buf_cstr(out);
}

/* --- manifests ----------------------------------------------------------- */

/* The name of the backup whose manifest is in @file; NULL: it is none. Owned.
 */
static char *name_of_manifest(const char *file)
{
    struct slice s = slice_str(file);
    size_t n = strlen(BACKUP_SUFFIX);
    if (s.len <= n ||
        !slice_eq_str(slice_sub(s, s.len - n, s.len), BACKUP_SUFFIX) ||
        backup_check_name(slice_sub(s, 0, s.len - n), NULL))
        return NULL;
    return mem_strndup(file, s.len - n);
}

static int backup_names_read(struct quarry_backups *b,
                             char ***names,
                             size_t *count,
                             struct err *err)
{
    struct buf path = BUF_INIT;
    int rc = fs_list(b->place.fs,
                     fs_location_path(&b->place, BACKUP_MANIFESTS_DIR, &path),
                     names, count, err);
    buf_close(&path);
    if (rc == ERR_NOTFOUND) {
        *names = NULL;
        *count = 0;
        return 0;
    }
    return rc;
}

static int
no_backup(struct quarry_backups *b, const char *name, struct err *err)
{
    struct buf list = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    if (backup_names_read(b, &names, &count, NULL)) {
        names = NULL;
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        char *known = name_of_manifest(names[i]);
        if (known)
            buf_printf(&list, "%s%s", list.len ? ", " : "", known);
        mem_free(known);
    }
    if (list.len)
        err_set(err, ERR_NOTFOUND, "no backup %s in %s; there are: %s", name,
                b->place.name, buf_cstr(&list));
    else
        err_set(err, ERR_NOTFOUND, "no backup %s in %s; there are none", name,
                b->place.name);
    fs_names_free(names, count);
    buf_close(&list);
    return ERR_NOTFOUND;
}

int backup_held_read(struct quarry_backups *b,
                     const char *name,
                     struct backup_held *out,
                     struct err *err)
{
    struct buf path = BUF_INIT;
    int rc = backup_check_name(slice_str(name), err);
    *out = (struct backup_held){.name = mem_strdup(name)};
    arena_init(&out->arena);
    if (rc)
        return rc;
    backup_manifest_path(b, name, &path);
    rc = fs_read_all(b->place.fs, buf_cstr(&path), BACKUP_MANIFEST_BYTES_MAX,
                     &out->bytes, err);
    if (rc == ERR_NOTFOUND)
        rc = no_backup(b, name, err);
    else if (rc == 0)
        rc = backup_manifest_get(buf_slice(&out->bytes), &out->arena,
                                 &out->manifest, err);
    if (rc == 0 && !slice_eq_str(out->manifest.name, name))
        rc = err_set(err, ERR_CORRUPT, "it is of backup %.*s",
                     SLICE_ARG(out->manifest.name));
    if (rc == ERR_CORRUPT)
        err_wrap(err, "%s/%s", b->place.name,
                 buf_cstr(&path) + strlen(b->place.path));
    buf_close(&path);
    return rc;
}

void backup_held_close(struct backup_held *h)
{
    buf_close(&h->bytes);
    arena_close(&h->arena);
    mem_free(h->name);
    h->name = NULL;
}

static int compare_ages(const void *a, const void *b)
{
    const struct backup_held *x = a;
    const struct backup_held *y = b;
    if (x->manifest.created_us != y->manifest.created_us)
        return x->manifest.created_us < y->manifest.created_us ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int backup_all_add(struct quarry_backups *b,
                          struct backup_all *all,
                          const char *name,
                          struct err *err)
{
    struct backup_held h;
    int rc;
    err_init(&h.err);
    rc = backup_held_read(b, name, &h, err);
    if (rc == ERR_NOTFOUND) { /* Dropped meanwhile. */
        backup_held_close(&h);
        return 0;
    }
    if (rc == ERR_CORRUPT) {
        h.is_damaged = true;
        h.manifest = (struct backup_manifest){.created_us = 0};
        err_copy(&h.err, err);
        rc = 0;
    }
    all->list = mem_realloc(all->list, (all->count + 1) * sizeof(h));
    all->list[all->count++] = h;
    return rc;
}

int backup_all_read(struct quarry_backups *b,
                    struct backup_all *out,
                    struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = backup_names_read(b, &names, &count, err);
    *out = (struct backup_all){.list = NULL};
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct err own = ERR_INIT;
        char *name = name_of_manifest(names[i]);
        rc = name ? backup_all_add(b, out, name, &own) : 0;
        if (rc)
            err_copy(err, &own);
        mem_free(name);
    }
    fs_names_free(names, count);
    if (out->count > 1)
        qsort(out->list, out->count, sizeof(*out->list), compare_ages);
    return rc;
}

void backup_all_close(struct backup_all *all)
{
    for (size_t i = 0; i < all->count; i++)
        backup_held_close(&all->list[i]);
    mem_free(all->list);
    *all = (struct backup_all){.list = NULL};
}
