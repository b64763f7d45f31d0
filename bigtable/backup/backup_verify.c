/* Verifying: manifests by their digests, and then every file that one of them
 * names, once, by its own. Findings are reported one by one, and all of them.
 */
#include <inttypes.h>
#include <string.h>

#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "bigtable/backup/backup_place.h"
#include "gfs-lite/fs.h"

struct verifying {
    struct quarry_backups *backups;
    struct backup_all all;
    struct hash_map seen; /* Digests. */
    const struct backup_file **files;
    size_t file_count;
};

static void backup_problem(struct quarry_backups *b, const char *text)
{
    mutex_lock(&b->lock);
    b->counts.problems++;
    if (b->options.problem)
        b->options.problem(b->options.ctx, text);
    mutex_unlock(&b->lock);
}

static int verify_file(void *ctx, size_t index, struct err *err)
{
    struct verifying *v = ctx;
    struct quarry_backups *b = v->backups;
    const struct backup_file *f = v->files[index];
    unsigned char digest[SHA256_BYTES];
    struct err why = ERR_INIT;
    struct buf path = BUF_INIT;
    struct buf text = BUF_INIT;
    uint64_t bytes = 0;
    int rc = backup_digest_file(b, b->place.fs,
                                backup_file_path(b, f->digest, &path), true,
                                &bytes, digest, &why);
    if (rc == ERR_NOTFOUND)
        buf_printf(&text, "it is missing");
    else if (rc == ERR_CORRUPT)
        buf_printf(&text, "%s", why.text);
    else if (rc == 0 && bytes != f->bytes)
        buf_printf(&text, "%" PRIu64 " bytes, where %" PRIu64 " were written",
                   bytes, f->bytes);
    else if (rc == 0 && memcmp(digest, f->digest, SHA256_BYTES) != 0)
        buf_printf(&text, "its digest does not match");
    if (text.len) {
        struct buf line = BUF_INIT;
        buf_printf(&line, "%s/%s: %s", b->place.name,
                   buf_cstr(&path) + strlen(b->place.path), buf_cstr(&text));
        backup_problem(b, buf_cstr(&line));
        buf_close(&line);
        rc = 0;
    }
    if (rc)
        err_copy(err, &why);
    backup_count_done(b, f->bytes);
    buf_close(&path);
    buf_close(&text);
    return rc;
}

static bool is_chosen(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return count == 0;
}

static void verify_add(struct verifying *v, const struct backup_held *h)
{
    const struct backup_manifest *m = &h->manifest;
    v->files = mem_realloc(v->files, (v->file_count + m->file_count + 1) *
                                         sizeof(struct backup_file *));
    for (size_t i = 0; i < m->file_count; i++) {
        bool added;
        hash_map_put(&v->seen,
                     slice_make((const char *)m->files[i].digest, SHA256_BYTES),
                     &added);
        if (!added)
            continue;
        v->files[v->file_count++] = &m->files[i];
        v->backups->counts.bytes += m->files[i].bytes;
    }
}

static int check_there(struct verifying *v,
                       const char *const *names,
                       size_t count,
                       struct err *err)
{
    struct backup_held h;
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        bool found = false;
        for (size_t k = 0; k < v->all.count && !found; k++)
            found = strcmp(v->all.list[k].name, names[i]) == 0;
        if (found)
            continue;
        rc = backup_held_read(v->backups, names[i], &h, err);
        backup_held_close(&h);
    }
    return rc;
}

int quarry_backup_verify(struct quarry_backups *b,
                         const char *const *names,
                         size_t count,
                         struct quarry_backup_counts *counts,
                         struct err *err)
{
    struct verifying v = {.backups = b};
    int rc;
    b->counts = (struct quarry_backup_counts){.tables = 0};
    hash_map_init(&v.seen, HASH_KEYS_COPIED);
    rc = backup_all_read(b, &v.all, err);
    if (rc == 0)
        rc = check_there(&v, names, count, err);
    for (size_t i = 0; i < v.all.count && rc == 0; i++) {
        const struct backup_held *h = &v.all.list[i];
        if (!is_chosen(h->name, names, count))
            continue;
        if (h->is_damaged)
            backup_problem(b, h->err.text);
        b->counts.tables += h->manifest.table_count;
        verify_add(&v, h);
    }
    b->counts.files = v.file_count;
    if (rc == 0)
        rc = backup_each(b, v.file_count, verify_file, &v, err);
    if (rc == 0 && b->counts.problems)
        rc = err_set(err, ERR_CORRUPT, "%s: %" PRIu64 " damaged", b->place.name,
                     b->counts.problems);
    mem_free(v.files);
    hash_map_close(&v.seen);
    backup_all_close(&v.all);
    if (counts)
        *counts = b->counts;
    return rc;
}
