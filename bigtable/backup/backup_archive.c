/* Writing archives. A call continues behind the last file, with its token, and
 * writes files until it is told that nothing up to the moment of its start is
 * missing. A file is there whole or not at all, with a name that only one call
 * can take: whatever is killed, the next call begins where the last file ends.
 */
#include "bigtable/backup/backup_archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/crypt/sha256.h"
#include "base/rpc/codec.h"
#include "base/runtime/world.h"
#include "bigtable/changes/change_batch.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry_changes.h"
#include "bigtable/quarry_replication.h"
#include "bigtable/wire/snapshot_record.h"
#include "gfs-lite/fs.h"

#define ARCHIVE_MAGIC  "QRYARCH1"
#define MAGIC_BYTES    ((size_t)8)
#define HEAD_BYTES     (MAGIC_BYTES + SHA256_BYTES)
#define ARCHIVE_FIELDS 8
#define SUFFIX         ".changes"
/* Between looks for what others write at the moment. */
#define WAIT_US UINT64_C(50000)
/* A table's clock may be that much behind this machine's. */
#define CATCH_UP_US_MAX UINT64_C(60000000)

/* --- files --------------------------------------------------------------- */

void archive_file_put(const struct archive_file *f, struct buf *out)
{
    unsigned char digest[SHA256_BYTES];
    struct buf body = BUF_INIT;
    codec_put_array(&body, ARCHIVE_FIELDS);
    codec_put_str(&body, f->table);
    codec_put_u64(&body, f->id);
    codec_put_u64(&body, f->number);
    codec_put_bool(&body, f->begins);
    codec_put_i64(&body, f->watermark_us);
    codec_put_bin(&body, f->token);
    codec_put_u64(&body, f->count);
    codec_put_bin(&body, f->changes);
    sha256_of(buf_slice(&body), digest);
    buf_append(out, ARCHIVE_MAGIC, MAGIC_BYTES);
    buf_append(out, digest, SHA256_BYTES);
    buf_append_slice(out, buf_slice(&body));
    buf_close(&body);
}

int archive_file_get(struct slice in, struct archive_file *f, struct err *err)
{
    unsigned char digest[SHA256_BYTES];
    struct codec_reader r;
    *f = (struct archive_file){.id = 0};
    if (in.len < HEAD_BYTES || memcmp(in.data, ARCHIVE_MAGIC, MAGIC_BYTES) != 0)
        return err_set(err, ERR_CORRUPT, "not a file of an archive");
    sha256_of(slice_sub(in, HEAD_BYTES, in.len), digest);
    if (memcmp(in.data + MAGIC_BYTES, digest, SHA256_BYTES) != 0)
        return err_set(err, ERR_CORRUPT, "its digest does not match");
    r = codec_reader_make(slice_sub(in, HEAD_BYTES, in.len));
    r.bad |= codec_get_array(&r) < ARCHIVE_FIELDS;
    f->table = codec_get_bytes(&r);
    f->id = codec_get_u64(&r);
    f->number = codec_get_u64(&r);
    f->begins = codec_get_bool(&r);
    f->watermark_us = codec_get_i64(&r);
    f->token = codec_get_bytes(&r);
    f->count = codec_get_u64(&r);
    f->changes = codec_get_bytes(&r);
    return r.bad ? err_set(err, ERR_CORRUPT, "malformed file of an archive")
                 : 0;
}

static const char *archive_path(const struct quarry_backups *b,
                                uint64_t id,
                                uint64_t number,
                                struct buf *out)
{
    char name[64];
    snprintf(name, sizeof(name),
             BACKUP_ARCHIVE_DIR "/%016" PRIx64 "/%010" PRIu64 SUFFIX, id,
             number);
    return fs_location_path(&b->place, name, out);
}

int archive_id(struct quarry *q,
               const char *table,
               const struct quarry_table *t,
               uint64_t *id,
               struct err *err)
{
    uint64_t parts[2] = {0, quarry_table_number(t)};
    int rc = quarry_replication_site(q, table, &parts[0], err);
    *id = hash64((const char *)parts, sizeof(parts), 0) | 1;
    return rc;
}

struct number_list {
    uint64_t *numbers;
    size_t count;
};

static int
add_number(void *ctx, const char *name, const struct fs_info *i, struct err *e)
{
    struct number_list *l = ctx;
    unsigned long long number = 0;
    int end = 0;
    (void)i;
    (void)e;
    if (sscanf(name, "%10llu" SUFFIX "%n", &number, &end) != 1 || end == 0 ||
        name[end] != '\0')
        return 0; /* The rest of a write that was interrupted. */
    l->numbers = mem_realloc(l->numbers, (l->count + 1) * sizeof(*l->numbers));
    l->numbers[l->count++] = number;
    return 0;
}

int archive_list(struct quarry_backups *b,
                 uint64_t id,
                 uint64_t **numbers,
                 size_t *count,
                 struct err *err)
{
    struct number_list l = {NULL, 0};
    struct buf path = BUF_INIT;
    char name[64];
    int rc;
    snprintf(name, sizeof(name), BACKUP_ARCHIVE_DIR "/%016" PRIx64, id);
    rc = fs_each(b->place.fs, fs_location_path(&b->place, name, &path),
                 add_number, &l, err);
    buf_close(&path);
    *numbers = l.numbers;
    *count = l.count;
    return rc == ERR_NOTFOUND ? 0 : rc;
}

int archive_read(struct quarry_backups *b,
                 uint64_t id,
                 uint64_t number,
                 struct buf *bytes,
                 struct archive_file *f,
                 struct err *err)
{
    struct buf path = BUF_INIT;
    const char *name = archive_path(b, id, number, &path);
    int rc;
    buf_clear(bytes);
    rc = fs_read_all(b->place.fs, name, ARCHIVE_BYTES_MAX, bytes, err);
    if (rc == 0)
        rc = archive_file_get(buf_slice(bytes), f, err);
    if (rc == 0 && (f->id != id || f->number != number))
        rc = err_set(err, ERR_CORRUPT, "it is of another place");
    if (rc)
        err_wrap(err, "%s", name);
    buf_close(&path);
    return rc;
}

/* --- where a backup is continued ----------------------------------------- */

int archive_position(struct quarry_backups *b,
                     struct quarry *q,
                     const char *table,
                     uint64_t *id,
                     uint64_t *number,
                     struct err *err)
{
    struct buf path = BUF_INIT;
    struct quarry_table *t = NULL;
    struct fs_info info;
    uint64_t *numbers = NULL;
    size_t count = 0;
    int rc = fs_stat(b->place.fs,
                     fs_location_path(&b->place, BACKUP_ARCHIVE_DIR, &path),
                     &info, err);
    buf_close(&path);
    *id = *number = 0;
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    rc = quarry_table_open(q, table, &t, err);
    if (rc == 0)
        rc = archive_id(q, table, t, id, err);
    if (rc == 0)
        rc = archive_list(b, *id, &numbers, &count, err);
    if (rc == 0 && count > 0)
        *number = numbers[count - 1] + 1;
    else
        *id = 0;
    mem_free(numbers);
    if (t)
        quarry_table_close(t);
    return rc;
}

/* The first file that a backup of @all needs, of the archive @id; UINT64_MAX:
 * none does. */
static uint64_t first_needed(const struct backup_all *all, uint64_t id)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < all->count; i++) {
        const struct backup_manifest *m = &all->list[i].manifest;
        for (size_t k = 0; k < m->table_count; k++)
            if (m->tables[k].archive_id == id)
                first = MIN_OF(first, m->tables[k].archive_number);
    }
    return first;
}

struct pruning {
    struct quarry_backups *backups;
    const struct backup_all *all;
};

/* The last file stays: its token is where the archive continues. */
static int prune_archive(void *ctx,
                         const char *name,
                         const struct fs_info *info,
                         struct err *err)
{
    struct pruning *p = ctx;
    struct quarry_backups *b = p->backups;
    struct buf path = BUF_INIT;
    uint64_t *numbers = NULL;
    size_t count = 0;
    char *end = NULL;
    uint64_t id = strtoull(name, &end, 16);
    uint64_t needed = first_needed(p->all, id);
    int rc = 0;
    if (!info->is_directory || strlen(name) != 16 || *end)
        return 0;
    rc = archive_list(b, id, &numbers, &count, err);
    for (size_t i = 0; i + 1 < count && rc == 0 && numbers[i] < needed; i++) {
        rc =
            fs_remove(b->place.fs, archive_path(b, id, numbers[i], &path), err);
        rc = rc == ERR_NOTFOUND ? 0 : rc;
        b->counts.removed_files += rc == 0;
    }
    mem_free(numbers);
    buf_close(&path);
    return rc;
}

int archive_prune(struct quarry_backups *b,
                  const struct backup_all *all,
                  struct err *err)
{
    struct pruning p = {b, all};
    struct buf path = BUF_INIT;
    int rc = fs_each(b->place.fs,
                     fs_location_path(&b->place, BACKUP_ARCHIVE_DIR, &path),
                     prune_archive, &p, err);
    buf_close(&path);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* --- writing ------------------------------------------------------------- */

struct archiving {
    struct quarry_backups *backups;
    const char *table;
    uint64_t id;
    uint64_t number; /* Of the next file. */
    bool begins;     /* It is the first, or changes are missing before it. */
    struct quarry_changes *changes;
    struct buf gathered;
    uint64_t count;
};

static int publish_file(struct archiving *a, struct err *err)
{
    struct quarry_backups *b = a->backups;
    struct buf token = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct buf path = BUF_INIT;
    struct archive_file f = {.table = slice_str(a->table),
                             .id = a->id,
                             .number = a->number,
                             .begins = a->begins,
                             .watermark_us =
                                 quarry_changes_watermark(a->changes),
                             .count = a->count,
                             .changes = buf_slice(&a->gathered)};
    int rc;
    quarry_changes_token(a->changes, &token);
    f.token = buf_slice(&token);
    archive_file_put(&f, &bytes);
    rc = fs_publish(b->place.fs, archive_path(b, a->id, a->number, &path),
                    buf_slice(&bytes), err);
    if (rc == ERR_EXISTS) {
        err_set(err, ERR_BUSY, "another command continues this archive");
        rc = ERR_BUSY;
    }
    if (rc == 0) {
        b->counts.moved_files++;
        b->counts.moved_bytes += bytes.len;
        a->number++;
        a->begins = false;
        a->count = 0;
        buf_clear(&a->gathered);
    }
    buf_close(&token);
    buf_close(&bytes);
    buf_close(&path);
    return rc;
}

/* Write files until all commits up to @until_us are in them. */
static int archive_changes(struct archiving *a, int64_t until_us, struct err *e)
{
    struct world *w = a->backups->world;
    uint64_t end_us = world_mono_ns(w) / 1000 + CATCH_UP_US_MAX;
    bool more = true;
    int rc = 0;
    while (rc == 0 && more) {
        const struct quarry_change *list;
        size_t count;
        rc = quarry_changes_next(a->changes, WAIT_US, &list, &count, e);
        for (size_t i = 0; i < count && rc == 0; i++)
            change_batch_put(&a->gathered, &list[i]);
        a->count += count;
        if (count > 0)
            end_us = world_mono_ns(w) / 1000 + CATCH_UP_US_MAX;
        more = quarry_changes_watermark(a->changes) < until_us;
        if (more && world_mono_ns(w) / 1000 > end_us)
            rc = err_set(e, ERR_UNAVAILABLE,
                         "no server of the table tells that all is known up "
                         "to now");
        if (rc == 0 && (!more || a->gathered.len >= ARCHIVE_BYTES))
            rc = publish_file(a, e);
    }
    return rc;
}

/* Open the changes where the last file ends; NULL token: now, and say so. */
static int continue_archive(struct archiving *a,
                            struct quarry_table *t,
                            bool restart,
                            struct err *err)
{
    struct quarry_changes_options o = {.since_us = 0};
    struct archive_file last = {.id = 0};
    struct buf bytes = BUF_INIT;
    uint64_t *numbers = NULL;
    size_t count = 0;
    int rc = archive_list(a->backups, a->id, &numbers, &count, err);
    if (rc == 0 && count > 0) {
        a->number = numbers[count - 1] + 1;
        rc = archive_read(a->backups, a->id, a->number - 1, &bytes, &last, err);
    }
    a->begins = count == 0 || restart;
    if (!a->begins)
        o.token = last.token;
    if (rc == 0)
        rc = quarry_changes_open(t, &o, &a->changes, err);
    if (rc == ERR_EXHAUSTED) {
        err_wrap(err, "the table does not keep the changes any more that "
                      "follow the archive");
        err_hint(err, "begin again with --restart, and make a backup then; "
                      "archive more often, or keep changes for longer");
    }
    mem_free(numbers);
    buf_close(&bytes);
    return rc;
}

/* Cells of an encrypted store are not written to another place. */
static int check_encryption(struct quarry *q, struct err *err)
{
    struct fs *files = NULL;
    struct fs_info info;
    int rc = quarry_bulk_files(q, &files, err);
    if (rc)
        return rc;
    rc = fs_stat(files, "KEYS", &info, NULL);
    fs_close(files);
    return rc ? 0
              : err_set(err, ERR_UNSUPPORTED,
                        "the store is encrypted, and archives are not");
}

static int archive_table(struct quarry_backups *b,
                         struct quarry *q,
                         const char *table,
                         bool restart,
                         struct err *err)
{
    struct archiving a = {.backups = b, .table = table};
    struct quarry_table *t = NULL;
    /* Later than all commits that were answered before this call. */
    int64_t until_us = (int64_t)world_now_us(b->world);
    int rc = quarry_table_open(q, table, &t, err);
    if (rc == 0)
        rc = archive_id(q, table, t, &a.id, err);
    if (rc == 0)
        rc = continue_archive(&a, t, restart, err);
    if (rc == 0)
        rc = archive_changes(&a, until_us, err);
    if (rc)
        err_wrap(err, "archive table %s", table);
    else
        b->counts.tables++;
    quarry_changes_close(a.changes);
    if (t)
        quarry_table_close(t);
    buf_close(&a.gathered);
    return rc;
}

int quarry_backup_archive(struct quarry_backups *b,
                          struct quarry *q,
                          const char *const *tables,
                          size_t table_count,
                          bool restart,
                          struct quarry_backup_counts *counts,
                          struct err *err)
{
    char **all = NULL;
    size_t all_count = 0;
    int rc;
    b->counts = (struct quarry_backup_counts){.tables = 0};
    rc = check_encryption(q, err);
    if (rc == 0 && table_count == 0)
        rc = quarry_table_list(q, &all, &all_count, err);
    for (size_t i = 0; i < table_count && rc == 0; i++)
        rc = archive_table(b, q, tables[i], restart, err);
    for (size_t i = 0; i < all_count && rc == 0; i++) {
        struct quarry_table_info *info = NULL;
        rc = quarry_table_describe(q, all[i], &info, err);
        if (rc == 0 && strcmp(info->changes, "off") != 0)
            rc = archive_table(b, q, all[i], restart, err);
        quarry_table_info_free(info);
    }
    if (rc == 0 && b->counts.tables == 0)
        rc = err_set(err, ERR_UNSUPPORTED, "no table keeps its changes");
    quarry_names_free(all, all_count);
    if (counts)
        *counts = b->counts;
    return rc;
}
