/* Restoring: the files of a table are brought into a directory of the store,
 * each checked, and then the store makes a table of them at once.
 *
 * Where neither side is encrypted, files are copied as they are. Else they are
 * written again, entry by entry, with the key that the store lends: it need not
 * know the keys of the backup, nor they it.
 *
 * The directory's name is made of backup and table, so that a call that was
 * interrupted continues with what is there: a file with its last name is whole
 * and was checked.
 */
#include "bigtable/backup/backup_restore.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/hash_map.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "bigtable/backup/backup_archive.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/client/table_import.h"
#include "bigtable/row/schema.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/sstable/sstable_writer.h"
#include "bigtable/store/add_files.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/snapshot_calls.h"
#include "bigtable/wire/tablet_files.h"
#include "gfs-lite/fs.h"

#define CACHE_BYTES ((uint64_t)16 << 20)
#define ID_BYTES    32

/* A file of the table: what the record says, and what was written. */
struct restored_file {
    struct tablet_file_entry entry;
    const struct backup_file *file;
    uint64_t bytes; /* As written. */
};

struct restored_table {
    struct backup_restoring *of;
    const char *as;
    char id[ID_BYTES]; /* Of the load. */
    struct snapshot_record record;
    struct schema *schema;
    struct arena arena;
    struct hash_map places; /* Number -> index in `files`. */
    struct restored_file *files;
    size_t file_count;
    bool rewrites;        /* One side is encrypted. */
    struct keyring *keys; /* Of what is written. */
};

/* --- one file ------------------------------------------------------------ */

static void load_paths(const struct restored_table *t,
                       uint64_t number,
                       char path[LOAD_PATH_BYTES],
                       char beside[LOAD_PATH_BYTES + 8])
{
    char name[IMPORT_FILE_NAME_BYTES];
    import_file_name(number, name);
    load_path(slice_str(t->id), slice_str(name), path);
    snprintf(beside, LOAD_PATH_BYTES + 8, "%s.part", path);
}

static int copy_entries(struct sstable_reader *r,
                        struct sstable_writer *w,
                        struct err *err)
{
    struct sstable_iter it;
    int rc;
    sstable_iter_init(&it);
    sstable_iter_open(&it, r, SSTABLE_READ_ONCE);
    rc = sstable_iter_seek(&it, SLICE_EMPTY, err);
    while (rc == 0 && sstable_iter_valid(&it)) {
        rc = sstable_writer_add(w, sstable_iter_key(&it),
                                sstable_iter_value(&it), err);
        if (rc == 0)
            rc = sstable_iter_next(&it, err);
    }
    sstable_iter_close(&it);
    return rc;
}

/* Compare the digest first: nothing of a damaged file is interpreted. */
static int rewrite_file(struct restored_table *t,
                        const struct restored_file *f,
                        const char *from,
                        const char *to,
                        struct err *err)
{
    struct quarry_backups *b = t->of->backups;
    const struct locality_group *g =
        schema_group_by_id(t->schema, f->entry.group);
    struct block_cache *cache = block_cache_new(CACHE_BYTES);
    const struct sstable_reader_options opts = {.cache = cache};
    unsigned char digest[SHA256_BYTES];
    struct sstable_reader *r = NULL;
    struct sstable_writer *w = NULL;
    uint64_t bytes;
    int rc =
        g ? 0
          : err_set(err, ERR_CORRUPT, "no locality group %u", f->entry.group);
    bytes = f->file->bytes;
    if (rc == 0 && !t->of->from_store)
        rc =
            backup_digest_file(b, b->place.fs, from, true, &bytes, digest, err);
    if (rc == 0 && !t->of->from_store &&
        memcmp(digest, f->file->digest, SHA256_BYTES) != 0)
        rc = err_set(err, ERR_CORRUPT, "%s: its digest does not match", from);
    if (rc == 0)
        rc = sstable_reader_open(b->place.fs, from, &opts, &r, err);
    if (rc == 0) {
        /* There was none. */
        IGNORE_RESULT(fs_remove(t->of->store, to, NULL));
    }
    if (rc == 0)
        rc = sstable_writer_open_sealed(t->of->store, to, &g->options, bytes,
                                        false, t->keys, &w, err);
    if (rc == 0)
        rc = copy_entries(r, w, err);
    if (rc == 0)
        rc = sstable_writer_finish(w, err);
    sstable_writer_free(w);
    sstable_reader_unref(r);
    block_cache_free(cache);
    return rc;
}

/* Where @f is at the place; borrowed from @out. */
static const char *restored_from(const struct restored_table *t,
                                 const struct restored_file *f,
                                 struct buf *out)
{
    if (!t->of->from_store)
        return backup_file_path(t->of->backups, f->file->digest, out);
    buf_printf(out, "tables/%06" PRIu64 ".sst", f->entry.number);
    return buf_cstr(out);
}

static int fetch_file(struct restored_table *t,
                      const struct restored_file *f,
                      const char *beside,
                      struct err *err)
{
    struct quarry_backups *b = t->of->backups;
    struct buf from = BUF_INIT;
    struct buf scratch = BUF_INIT;
    struct backup_copy c = {.src = b->place.fs,
                            .from = restored_from(t, f, &from),
                            .dst = t->of->store,
                            .to = beside,
                            .digest =
                                t->of->from_store ? NULL : f->file->digest};
    int rc;
    buf_printf(&scratch, "%s.new", beside);
    c.beside = buf_cstr(&scratch);
    rc = t->rewrites ? rewrite_file(t, f, c.from, beside, err)
                     : backup_copy_file(b, &c, err);
    buf_close(&from);
    buf_close(&scratch);
    return rc;
}

static int check_fetched(struct restored_table *t,
                         const struct restored_file *f,
                         const char *path,
                         struct err *err)
{
    struct new_file n = {.path = path,
                         .group = f->entry.group,
                         .entries = f->entry.entries,
                         .first_key = f->entry.first_key,
                         .last_key = f->entry.last_key,
                         .sequence_min = f->entry.sequence_min,
                         .sequence_max = f->entry.sequence_max};
    struct fs_info info;
    int rc = fs_stat(t->of->store, path, &info, err);
    n.bytes = rc ? 0 : info.size_bytes;
    return rc ? rc : quarry_import_check(t->of->store, &n, t->schema, err);
}

static int restore_file(void *ctx, size_t index, struct err *err)
{
    struct restored_table *t = ctx;
    struct quarry_backups *b = t->of->backups;
    struct restored_file *f = &t->files[index];
    char path[LOAD_PATH_BYTES];
    char beside[LOAD_PATH_BYTES + 8];
    struct fs_info info;
    int rc;
    load_paths(t, f->entry.number, path, beside);
    rc = fs_stat(t->of->store, path, &info, err);
    if (rc == ERR_NOTFOUND) {
        rc = fetch_file(t, f, beside, err);
        if (rc == 0)
            rc = check_fetched(t, f, beside, err);
        if (rc == 0)
            rc = fs_rename(t->of->store, beside, path, err);
        if (rc == 0)
            rc = fs_stat(t->of->store, path, &info, err);
        mutex_lock(&b->lock);
        b->counts.moved_files += rc == 0;
        mutex_unlock(&b->lock);
    }
    if (rc)
        err_wrap(err, "file %" PRIu64, f->entry.number);
    else
        backup_count_done(b, f->file->bytes);
    f->bytes = rc ? 0 : info.size_bytes;
    return rc;
}

/* --- one table ----------------------------------------------------------- */

static int note_file(void *ctx, struct tablet_file_entry *e, struct err *err)
{
    struct restored_table *t = ctx;
    const struct backup_file *file =
        backup_manifest_file(t->of->manifest, e->number);
    bool added;
    union hash_value *v =
        hash_map_put(&t->places, hash_key_u64(&e->number), &added);
    if (!file)
        return err_set(err, ERR_CORRUPT, "file %" PRIu64 " is not listed",
                       e->number);
    if (!added)
        return 0;
    v->number = t->file_count;
    t->files = mem_realloc(t->files, (t->file_count + 1) * sizeof(*t->files));
    t->files[t->file_count++] = (struct restored_file){*e, file, 0};
    return 0;
}

/* A file that was written again has another size. */
static int size_file(void *ctx, struct tablet_file_entry *e, struct err *err)
{
    struct restored_table *t = ctx;
    const union hash_value *v =
        hash_map_get(&t->places, hash_key_u64(&e->number));
    (void)err;
    PRE(v && v->number < t->file_count);
    e->bytes = t->files[v->number].bytes;
    return 0;
}

/* Have each tablet's groups changed by @change; they are in the arena then. */
static int
each_tablet(struct restored_table *t,
            int (*change)(void *ctx, struct tablet_file_entry *e, struct err *),
            struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < t->record.tablet_count && rc == 0; i++) {
        struct buf groups = BUF_INIT;
        rc = tablet_files_change(t->record.tablets[i].groups, change, t,
                                 &groups, err);
        t->record.tablets[i].groups = arena_dup(&t->arena, buf_slice(&groups));
        buf_close(&groups);
    }
    return rc;
}

/* The id is the same for the same backup, table and name. */
static void make_id(struct restored_table *t, struct slice table)
{
    struct sha256 *d = sha256_new();
    unsigned char out[SHA256_BYTES];
    char text[SHA256_TEXT_BYTES];
    sha256_add(d, slice_make((const char *)t->of->digest, SHA256_BYTES));
    sha256_add(d, table);
    sha256_add(d, SLICE_LIT("\n"));
    sha256_add(d, slice_str(t->as));
    sha256_end(d, out);
    sha256_free(d);
    sha256_text(out, text);
    snprintf(t->id, sizeof(t->id), "restore-%.20s", text);
}

static int prepare_keys(struct restored_table *t, struct err *err)
{
    struct backup_restoring *r = t->of;
    struct key_loan loan = {.key_id = 0};
    int rc = quarry_import_lend(r->quarry, t->as, t->id, &loan, err);
    if (rc == 0 && loan.key_id)
        t->keys = keyring_new_borrowed(r->backups->world, &loan);
    key_loan_close(&loan);
    t->rewrites = t->keys || r->manifest->keys.len;
    fs_set_keyring(r->store, t->keys);
    return rc;
}

static int import_restored(struct restored_table *t, struct err *err)
{
    struct buf bytes = BUF_INIT;
    char dir[LOAD_PATH_BYTES];
    int rc;
    if (!t->of->rights)
        t->record.has_access = false;
    rc = each_tablet(t, size_file, err);
    if (rc)
        return rc;
    snapshot_record_put(&t->record, &bytes);
    rc = quarry_import_table(t->of->quarry, t->as, t->id, buf_slice(&bytes),
                             err);
    buf_close(&bytes);
    load_path(slice_str(t->id), SLICE_EMPTY, dir);
    if (rc == 0) {
        /* It is removed as a load that nobody writes to. */
        IGNORE_RESULT(fs_remove_tree(t->of->store, dir, NULL));
    }
    return rc;
}

static int restore_record(struct restored_table *t,
                          const struct backup_table *from,
                          struct err *err)
{
    struct quarry_backups *b = t->of->backups;
    char dir[LOAD_PATH_BYTES];
    int rc = snapshot_record_get(from->record, &t->arena, &t->record, err);
    if (rc == 0)
        rc = schema_decode(t->record.schema, &t->schema, err);
    if (rc == 0)
        rc = each_tablet(t, note_file, err);
    if (rc)
        return rc;
    make_id(t, from->name);
    load_path(slice_str(t->id), SLICE_EMPTY, dir);
    rc = fs_mkdirs(t->of->store, dir, err);
    if (rc == 0)
        rc = prepare_keys(t, err);
    mutex_lock(&b->lock);
    b->counts.files += t->file_count;
    for (size_t i = 0; i < t->file_count; i++)
        b->counts.bytes += t->files[i].file->bytes;
    mutex_unlock(&b->lock);
    if (rc == 0)
        rc = backup_each(b, t->file_count, restore_file, t, err);
    return rc ? rc : import_restored(t, err);
}

int backup_restore_table(struct backup_restoring *r,
                         const struct backup_table *from,
                         const char *as,
                         struct err *err)
{
    struct restored_table t = {.of = r, .as = as};
    int rc;
    arena_init(&t.arena);
    hash_map_init(&t.places, HASH_KEYS_COPIED);
    rc = restore_record(&t, from, err);
    if (rc == 0)
        r->backups->counts.tables++;
    else
        err_wrap(err, "restore table %s", as);
    fs_set_keyring(r->store, NULL);
    keyring_unref(t.keys);
    schema_free(t.schema);
    mem_free(t.files);
    hash_map_close(&t.places);
    arena_close(&t.arena);
    return rc;
}

/* --- the keys of the backup ---------------------------------------------- */

/* KEYS as the manifest has them: a place that is only read. */
static int read_backup_keys(void *ctx, struct buf *out, struct err *err)
{
    const struct buf *keys = ctx;
    (void)err;
    buf_append_slice(out, buf_slice(keys));
    return 0;
}

static int
replace_backup_keys(void *ctx, struct slice contents, struct err *err)
{
    (void)ctx;
    (void)contents;
    return err_set(err, ERR_DENIED, "the keys of a backup are not changed");
}

static void close_backup_keys(void *ctx)
{
    buf_close(ctx);
    mem_free(ctx);
}

int backup_restore_keys(struct backup_restoring *r, struct err *err)
{
    struct quarry_backups *b = r->backups;
    struct keyring_place place = {NULL, read_backup_keys, replace_backup_keys,
                                  close_backup_keys};
    struct keyring *k = NULL;
    struct buf *bytes;
    int rc;
    if (r->manifest->keys.len == 0)
        return 0;
    if (!b->options.master_keys) {
        err_set(err, ERR_DENIED,
                "backup %.*s is encrypted, and no master key "
                "is given",
                SLICE_ARG(r->manifest->name));
        err_hint(err, "--encryption-key FILE: that of the store it is of");
        return ERR_DENIED;
    }
    bytes = mem_zalloc(1, sizeof(*bytes));
    buf_append_slice(bytes, r->manifest->keys);
    place.ctx = bytes;
    rc = keyring_open(b->world, place, b->options.master_keys, false, &k, err);
    if (rc == 0)
        fs_set_keyring(b->place.fs, k);
    else
        err_wrap(err, "keys of backup %.*s", SLICE_ARG(r->manifest->name));
    keyring_unref(k);
    return rc;
}

/* --- the whole ----------------------------------------------------------- */

static const struct backup_table *
find_table(const struct backup_manifest *m, const char *name, struct err *err)
{
    struct buf list = BUF_INIT;
    for (size_t i = 0; i < m->table_count; i++)
        if (slice_eq_str(m->tables[i].name, name))
            return &m->tables[i];
    for (size_t i = 0; i < m->table_count; i++)
        buf_printf(&list, "%s%.*s", i ? ", " : "",
                   SLICE_ARG(m->tables[i].name));
    err_set(err, ERR_NOTFOUND, "no table %s in backup %.*s; there are: %s",
            name, SLICE_ARG(m->name), buf_cstr(&list));
    buf_close(&list);
    return NULL;
}

int backup_restore_is_free(struct quarry *q, const char *name, struct err *err)
{
    struct quarry_table_info *info = NULL;
    int rc = quarry_table_describe(q, name, &info, err);
    quarry_table_info_free(info);
    if (rc == 0) {
        err_set(err, ERR_EXISTS, "table %s exists already", name);
        err_hint(err, "restore it under another name: --table %s=NEW", name);
        return ERR_EXISTS;
    }
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* The table @as of @from at the moment: first one of another name, which system
 * tables have; it is continued, and a clone of it appears. One that an earlier
 * call left is dropped. */
static int restore_to_moment(struct backup_restoring *r,
                             const struct backup_table *from,
                             const char *as,
                             struct err *err)
{
    struct buf hidden = BUF_INIT;
    int rc;
    buf_printf(&hidden, ".restore-%016" PRIx64,
               hash64(as, strlen(as), (uint64_t)r->to_us));
    rc = quarry_table_drop(r->quarry, buf_cstr(&hidden), err);
    if (rc == 0 || rc == ERR_NOTFOUND)
        rc = backup_restore_table(r, from, buf_cstr(&hidden), err);
    if (rc == 0) {
        rc = archive_replay(r->backups, from, r->quarry, buf_cstr(&hidden),
                            r->to_us, err);
        if (rc == 0)
            rc = quarry_table_clone(r->quarry, buf_cstr(&hidden), as, err);
        /* A failure leaves it to the next call, which drops it. */
        IGNORE_RESULT(quarry_table_drop(r->quarry, buf_cstr(&hidden), NULL));
    }
    if (rc)
        err_wrap(err, "restore table %s", as);
    buf_close(&hidden);
    return rc;
}

static int restore_one(struct backup_restoring *r,
                       const struct backup_table *from,
                       const char *as,
                       struct err *err)
{
    return r->to_us ? restore_to_moment(r, from, as, err)
                    : backup_restore_table(r, from, as, err);
}

static int restore_choices(struct backup_restoring *r,
                           const struct quarry_backup_choice *choices,
                           size_t count,
                           struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const char *as = choices[i].as ? choices[i].as : choices[i].table;
        rc = find_table(r->manifest, choices[i].table, err)
                 ? backup_restore_is_free(r->quarry, as, err)
                 : ERR_NOTFOUND;
        if (rc == 0 && r->to_us)
            rc = archive_reaches(
                r->backups, find_table(r->manifest, choices[i].table, NULL),
                r->to_us, err);
    }
    for (size_t i = 0; i < count && rc == 0; i++) {
        const char *as = choices[i].as ? choices[i].as : choices[i].table;
        rc = restore_one(r, find_table(r->manifest, choices[i].table, NULL), as,
                         err);
    }
    return rc;
}

static int restore_all(struct backup_restoring *r, struct err *err)
{
    const struct backup_manifest *m = r->manifest;
    struct quarry_backup_choice *choices =
        mem_zalloc(m->table_count + 1, sizeof(*choices));
    struct arena a;
    int rc;
    arena_init(&a);
    for (size_t i = 0; i < m->table_count; i++) {
        struct slice name = m->tables[i].name;
        char *copy = arena_alloc(&a, name.len + 1);
        memcpy(copy, name.data, name.len);
        copy[name.len] = '\0';
        choices[i].table = copy;
    }
    rc = restore_choices(r, choices, m->table_count, err);
    arena_close(&a);
    mem_free(choices);
    return rc;
}

/* The name of the newest backup. Owned. */
static int newest_name(struct quarry_backups *b, char **out, struct err *err)
{
    struct backup_all all;
    int rc = backup_all_read(b, &all, err);
    *out = NULL;
    for (size_t i = all.count; i-- > 0 && !*out;)
        if (!all.list[i].is_damaged)
            *out = mem_strdup(all.list[i].name);
    backup_all_close(&all);
    if (rc == 0 && !*out)
        rc = err_set(err, ERR_NOTFOUND, "there is no backup in %s",
                     b->place.name);
    return rc;
}

/* Can the backup be continued to the moment? All of its tables, or those that
 * are chosen. */
static int check_backup(struct quarry_backups *b,
                        const struct backup_manifest *m,
                        const struct quarry_backup_choice *choices,
                        size_t count,
                        int64_t to_us,
                        struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct backup_table *t = find_table(m, choices[i].table, err);
        rc = t ? archive_reaches(b, t, to_us, err) : ERR_NOTFOUND;
    }
    for (size_t i = 0; i < m->table_count && count == 0 && rc == 0; i++)
        rc = archive_reaches(b, &m->tables[i], to_us, err);
    return rc;
}

/* The name of the newest backup that can be continued to the moment; the error
 * is that of the newest that is not later. Owned. */
static int newest_before(struct quarry_backups *b,
                         const struct quarry_backup_choice *choices,
                         size_t count,
                         int64_t to_us,
                         char **out,
                         struct err *err)
{
    struct err first = ERR_INIT;
    struct backup_all all;
    int rc = backup_all_read(b, &all, err);
    int why = 0;
    *out = NULL;
    for (size_t i = all.count; i-- > 0 && !*out && rc == 0;) {
        struct err e = ERR_INIT;
        int found;
        if (all.list[i].is_damaged)
            continue;
        found =
            check_backup(b, &all.list[i].manifest, choices, count, to_us, &e);
        if (found == 0) {
            *out = mem_strdup(all.list[i].name);
        } else if (why == 0 || why == ERR_INVALID) {
            why = err_copy(&first, &e);
            err_wrap(&first, "backup %s", all.list[i].name);
        }
    }
    backup_all_close(&all);
    if (rc == 0 && !*out)
        rc = why ? err_copy(err, &first)
                 : err_set(err, ERR_NOTFOUND, "there is no backup in %s",
                           b->place.name);
    return rc;
}

int quarry_backup_restore(struct quarry_backups *b,
                          const char *name,
                          struct quarry *q,
                          const struct quarry_backup_choice *choices,
                          size_t choice_count,
                          bool rights,
                          struct quarry_backup_counts *counts,
                          struct err *err)
{
    return quarry_backup_restore_to(b, name, q, choices, choice_count, rights,
                                    0, counts, err);
}

int quarry_backup_restore_to(struct quarry_backups *b,
                             const char *name,
                             struct quarry *q,
                             const struct quarry_backup_choice *choices,
                             size_t choice_count,
                             bool rights,
                             int64_t to_us,
                             struct quarry_backup_counts *counts,
                             struct err *err)
{
    struct backup_restoring r = {
        .backups = b, .quarry = q, .rights = rights, .to_us = to_us};
    struct backup_held h = {.name = NULL};
    char *newest = NULL;
    int rc = 0;
    b->counts = (struct quarry_backup_counts){.tables = 0};
    if (!name)
        rc = to_us
                 ? newest_before(b, choices, choice_count, to_us, &newest, err)
                 : newest_name(b, &newest, err);
    if (rc)
        return rc;
    rc = backup_held_read(b, name ? name : newest, &h, err);
    r.manifest = &h.manifest;
    if (rc == 0) {
        sha256_of(buf_slice(&h.bytes), r.digest);
        rc = backup_restore_keys(&r, err);
    }
    if (rc == 0)
        rc = quarry_bulk_files(q, &r.store, err);
    if (rc == 0)
        rc = choice_count ? restore_choices(&r, choices, choice_count, err)
                          : restore_all(&r, err);
    fs_close(r.store);
    fs_set_keyring(b->place.fs, NULL);
    backup_held_close(&h);
    mem_free(newest);
    if (counts)
        *counts = b->counts;
    return rc;
}
