/* Making a backup: snapshots first, so that files stay and moments are close to
 * each other; then every file that is not known, and the manifest last.
 *
 * A file of the store is known by number, size, time and a hash of its end,
 * from an earlier manifest: table files are never changed. Any other is read to
 * learn its digest, and sent unless the place has a file of that name and size:
 * of another table, another store, or a call that was interrupted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/hash_map.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "bigtable/backup/backup_archive.h"
#include "bigtable/backup/backup_place.h"
#include "bigtable/backup/backup_run.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/client/table_import.h"
#include "bigtable/wire/snapshot_record.h"
#include "gfs-lite/fs.h"

#define KEYS_PATH  "KEYS"
#define TAIL_BYTES ((size_t)64 << 10)
/* Of a snapshot whose call died. */
#define SNAPSHOT_TTL_US (UINT64_C(3) * 24 * 3600 * 1000000)
/* Between looks at a drop, which takes seconds. */
#define DROP_POLL_US UINT64_C(200000)

struct backup_making {
    struct quarry_backups *backups;
    struct quarry *quarry;
    const char *name;
    struct backup_run *run;
    struct fs *source;         /* The store's files. Owned. */
    struct backup_all earlier; /* Their files are known, */
    struct hash_map known;     /* by identity -> struct backup_file. */
    char **tables;             /* Owned. */
    struct buf *records;       /* One a table. Owned. */
    uint64_t *archives;        /* ID and number of each. Owned. */
    size_t table_count;
    size_t snapshot_count;     /* That are there. */
    struct backup_file *files; /* Owned; by number. */
    size_t file_count;
    struct buf keys;
};

/* --- which tables -------------------------------------------------------- */

static void
copy_names(struct backup_making *m, const char *const *tables, size_t count)
{
    m->tables = mem_zalloc(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        bool twice = false;
        for (size_t k = 0; k < m->table_count && !twice; k++)
            twice = strcmp(m->tables[k], tables[i]) == 0;
        if (!twice)
            m->tables[m->table_count++] = mem_strdup(tables[i]);
    }
}

static int choose_tables(struct backup_making *m,
                         const char *const *tables,
                         size_t count,
                         struct err *err)
{
    char **all = NULL;
    size_t all_count = 0;
    int rc = 0;
    if (count > 0) {
        copy_names(m, tables, count);
        return 0;
    }
    rc = quarry_table_list(m->quarry, &all, &all_count, err);
    if (rc == 0 && all_count == 0)
        rc = err_set(err, ERR_NOTFOUND, "there are no tables to back up");
    if (rc == 0)
        copy_names(m, (const char *const *)all, all_count);
    quarry_names_free(all, all_count);
    return rc;
}

/* --- snapshots ----------------------------------------------------------- */

static void snapshot_name(const struct backup_making *m, size_t i, char *out)
{
    snprintf(out, 64, "backup-%s-%zu", backup_run_id(m->run), i);
}

/* Before the snapshots: what is archived by now is in them. */
static int find_archives(struct backup_making *m, struct err *err)
{
    int rc = 0;
    m->archives = mem_zalloc(2 * m->table_count + 1, sizeof(*m->archives));
    for (size_t i = 0; i < m->table_count && rc == 0; i++)
        rc =
            archive_position(m->backups, m->quarry, m->tables[i],
                             &m->archives[2 * i], &m->archives[2 * i + 1], err);
    return rc;
}

static int take_snapshots(struct backup_making *m, struct err *err)
{
    char name[64];
    int rc = 0;
    for (size_t i = 0; i < m->table_count && rc == 0; i++) {
        snapshot_name(m, i, name);
        rc = quarry_table_snapshot(m->quarry, m->tables[i], name,
                                   SNAPSHOT_TTL_US, err);
        m->snapshot_count += rc == 0;
    }
    m->records = mem_zalloc(m->table_count + 1, sizeof(*m->records));
    for (size_t i = 0; i < m->table_count && rc == 0; i++) {
        snapshot_name(m, i, name);
        rc = quarry_snapshot_record(m->quarry, name, &m->records[i], err);
        if (rc)
            err_wrap(err, "table %s", m->tables[i]);
    }
    return rc;
}

static void drop_snapshots(struct backup_making *m)
{
    char name[64];
    for (size_t i = 0; i < m->snapshot_count; i++) {
        snapshot_name(m, i, name);
        /* It expires. */
        IGNORE_RESULT(quarry_snapshot_drop(m->quarry, name, NULL));
    }
}

/* --- files --------------------------------------------------------------- */

static void add_file(void *ctx, uint64_t number)
{
    struct backup_making *m = ctx;
    if ((m->file_count & (m->file_count + 1)) == 0)
        m->files =
            mem_realloc(m->files, 2 * (m->file_count + 1) * sizeof(*m->files));
    m->files[m->file_count++] = (struct backup_file){.number = number};
}

static int compare_files(const void *a, const void *b)
{
    uint64_t x = ((const struct backup_file *)a)->number;
    uint64_t y = ((const struct backup_file *)b)->number;
    return x < y ? -1 : x > y;
}

/* The files of all records, each once, by number. */
static int list_files(struct backup_making *m, struct err *err)
{
    size_t kept = 0;
    int rc = 0;
    for (size_t i = 0; i < m->table_count && rc == 0; i++) {
        struct snapshot_record r;
        struct arena a;
        arena_init(&a);
        rc = snapshot_record_get(buf_slice(&m->records[i]), &a, &r, err);
        if (rc == 0)
            rc = snapshot_each_file(&r, add_file, m, err);
        arena_close(&a);
    }
    if (m->file_count > 1)
        qsort(m->files, m->file_count, sizeof(*m->files), compare_files);
    for (size_t i = 0; i < m->file_count; i++)
        if (kept == 0 || m->files[kept - 1].number != m->files[i].number)
            m->files[kept++] = m->files[i];
    m->file_count = kept;
    return rc;
}

/* All but the digest: what tells a file of the store from another. */
static struct slice identity_of(const struct backup_file *f)
{
    return slice_make((const char *)f, offsetof(struct backup_file, digest));
}

static int learn_known(struct backup_making *m, struct err *err)
{
    int rc = backup_all_read(m->backups, &m->earlier, err);
    for (size_t i = 0; i < m->earlier.count && rc == 0; i++) {
        const struct backup_held *h = &m->earlier.list[i];
        for (size_t k = 0; k < h->manifest.file_count; k++) {
            bool added;
            hash_map_put(&m->known, identity_of(&h->manifest.files[k]), &added)
                ->pointer = &h->manifest.files[k];
        }
    }
    return rc;
}

static void source_path(uint64_t number, char out[64])
{
    snprintf(out, 64, "tables/%06" PRIu64 ".sst", number);
}

/* Size, time and end of the file. */
static int
identify_file(struct backup_making *m, struct backup_file *f, struct err *err)
{
    char path[64];
    struct fs_info info;
    struct fs_reader *r;
    char *tail;
    size_t got = 0;
    size_t len;
    int rc;
    source_path(f->number, path);
    rc = fs_stat(m->source, path, &info, err);
    if (rc == 0)
        rc = fs_open(m->source, path, &r, err);
    if (rc)
        return rc;
    f->bytes = fs_reader_size(r);
    f->modified_us = info.modified_us;
    len = (size_t)MIN_OF(f->bytes, (uint64_t)TAIL_BYTES);
    tail = mem_alloc(len + 1);
    rc = fs_read_at(r, f->bytes - len, tail, len, &got, err);
    if (rc == 0)
        f->tail = hash64_slice(slice_make(tail, got));
    mem_free(tail);
    fs_reader_close(r);
    return rc;
}

/* Send the file, whose digest is known, unless the place has it. */
static int
send_file(struct backup_making *m, const struct backup_file *f, struct err *err)
{
    struct quarry_backups *b = m->backups;
    char source[64];
    struct buf path = BUF_INIT;
    struct buf beside = BUF_INIT;
    struct fs_info info;
    struct backup_copy c = {.src = m->source,
                            .from = source,
                            .dst = b->place.fs,
                            .digest = f->digest};
    int rc;
    source_path(f->number, source);
    c.to = backup_file_path(b, f->digest, &path);
    buf_printf(&beside, "%s.%s-%" PRIu64, c.to, backup_run_id(m->run),
               f->number);
    c.beside = buf_cstr(&beside);
    rc = fs_stat(b->place.fs, c.to, &info, err);
    if (rc == ERR_NOTFOUND || (rc == 0 && info.size_bytes != f->bytes)) {
        rc = backup_copy_file(b, &c, err);
        if (rc == 0) {
            mutex_lock(&b->lock);
            b->counts.moved_files++;
            mutex_unlock(&b->lock);
        }
    }
    buf_close(&path);
    buf_close(&beside);
    return rc;
}

static int back_up_file(void *ctx, size_t index, struct err *err)
{
    struct backup_making *m = ctx;
    struct backup_file *f = &m->files[index];
    const union hash_value *known;
    char path[64];
    uint64_t bytes;
    int rc = backup_run_check(m->run, err);
    if (rc == 0)
        rc = identify_file(m, f, err);
    if (rc)
        return rc;
    known = hash_map_get(&m->known, identity_of(f));
    source_path(f->number, path);
    if (known) {
        memcpy(f->digest, ((const struct backup_file *)known->pointer)->digest,
               SHA256_BYTES);
    } else {
        rc = backup_digest_file(m->backups, m->source, path, false, &bytes,
                                f->digest, err);
        if (rc == 0)
            rc = send_file(m, f, err);
    }
    if (rc)
        err_wrap(err, "file %" PRIu64, f->number);
    else
        backup_count_done(m->backups, f->bytes);
    return rc;
}

/* --- the manifest -------------------------------------------------------- */

static int publish_manifest(struct backup_making *m, struct err *err)
{
    struct quarry_backups *b = m->backups;
    struct buf source = BUF_INIT;
    struct backup_manifest manifest = {
        .name = slice_str(m->name),
        .created_us = world_now_us(b->world),
        .keys = buf_slice(&m->keys),
        .tables = mem_zalloc(m->table_count + 1, sizeof(*manifest.tables)),
        .table_count = m->table_count,
        .files = m->files,
        .file_count = m->file_count};
    struct buf bytes = BUF_INIT;
    struct buf path = BUF_INIT;
    int rc = backup_run_check(m->run, err);
    quarry_put_target(m->quarry, &source);
    manifest.source = buf_slice(&source);
    for (size_t i = 0; i < m->table_count; i++)
        manifest.tables[i] = (struct backup_table){
            slice_str(m->tables[i]), buf_slice(&m->records[i]),
            m->archives[2 * i], m->archives[2 * i + 1]};
    backup_manifest_put(&manifest, &bytes);
    if (rc == 0)
        rc = fs_publish(b->place.fs, backup_manifest_path(b, m->name, &path),
                        buf_slice(&bytes), err);
    mem_free(manifest.tables);
    buf_close(&source);
    buf_close(&bytes);
    buf_close(&path);
    return rc;
}

static int name_is_free(struct backup_making *m, struct err *err)
{
    struct buf path = BUF_INIT;
    struct fs_info info;
    int rc =
        fs_stat(m->backups->place.fs,
                backup_manifest_path(m->backups, m->name, &path), &info, err);
    buf_close(&path);
    if (rc == 0)
        return err_set(err, ERR_EXISTS, "backup %s exists already", m->name);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Until no drop removes files: its own sign of life was seen or is seen. */
static int wait_for_drops(struct backup_making *m, struct err *err)
{
    uint64_t waited_us = 0;
    bool found = true;
    int rc = 0;
    while (rc == 0 && found) {
        rc = backup_run_look(m->run, BACKUP_RUN_DROP, &found, err);
        if (rc || !found)
            continue;
        if (waited_us > 2 * m->backups->options.lease_us)
            rc = err_set(err, ERR_BUSY, "files are being removed from %s",
                         m->backups->place.name);
        else
            world_sleep_us(m->backups->world, DROP_POLL_US);
        waited_us += DROP_POLL_US;
    }
    return rc;
}

static int read_keys(struct backup_making *m, struct err *err)
{
    int rc = fs_read_all(m->source, KEYS_PATH, KEYRING_FILE_BYTES_MAX, &m->keys,
                         err);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static int making_run(struct backup_making *m, struct err *err)
{
    struct quarry_backups *b = m->backups;
    int rc = wait_for_drops(m, err);
    if (rc == 0)
        rc = name_is_free(m, err);
    if (rc == 0)
        rc = learn_known(m, err);
    if (rc == 0)
        rc = quarry_bulk_files(m->quarry, &m->source, err);
    if (rc == 0)
        rc = find_archives(m, err);
    if (rc == 0)
        rc = take_snapshots(m, err);
    /* After the snapshots: keys of all their files are in it. */
    if (rc == 0)
        rc = read_keys(m, err);
    if (rc == 0)
        rc = list_files(m, err);
    if (rc)
        return rc;
    b->counts.tables = m->table_count;
    b->counts.files = m->file_count;
    rc = backup_each(b, m->file_count, back_up_file, m, err);
    for (size_t i = 0; i < m->file_count; i++)
        b->counts.bytes += m->files[i].bytes;
    return rc ? rc : publish_manifest(m, err);
}

static void making_close(struct backup_making *m)
{
    drop_snapshots(m);
    backup_run_end(m->run);
    for (size_t i = 0; i < m->table_count; i++) {
        mem_free(m->tables[i]);
        if (m->records)
            buf_close(&m->records[i]);
    }
    mem_free(m->tables);
    mem_free(m->records);
    mem_free(m->archives);
    mem_free(m->files);
    fs_close(m->source);
    hash_map_close(&m->known);
    backup_all_close(&m->earlier);
    buf_close(&m->keys);
}

int quarry_backup_create(struct quarry_backups *b,
                         struct quarry *q,
                         const char *name,
                         const char *const *tables,
                         size_t table_count,
                         struct quarry_backup_counts *counts,
                         struct err *err)
{
    struct backup_making m = {.backups = b, .quarry = q, .name = name};
    int rc = backup_check_name(slice_str(name), err);
    b->counts = (struct quarry_backup_counts){.tables = 0};
    if (rc)
        return rc;
    hash_map_init(&m.known, HASH_KEYS_COPIED);
    rc = choose_tables(&m, tables, table_count, err);
    if (rc == 0)
        rc = backup_run_begin(b, BACKUP_RUN_CREATE, &m.run, err);
    if (rc == 0)
        rc = making_run(&m, err);
    making_close(&m);
    if (rc)
        err_wrap(err, "backup %s", name);
    if (counts)
        *counts = b->counts;
    return rc;
}
