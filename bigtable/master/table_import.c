/* Importing a table into the cluster. Its SSTables have numbers of this master,
 * which no tablet server gives out; nothing is swept until the rows of METADATA
 * name them. Those of an import that failed are garbage like others.
 */
#include "bigtable/master/table_import.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/restore.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/snapshot_calls.h"
#include "bigtable/wire/tablet_files.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs.h"

#define TABLES_DIR "tables"

struct import_work {
    struct master_term *term;
    const struct import_order *order;
    struct hash_map numbers; /* Of the record -> of the cluster. */
};

/* The new name shares the chunks of the old one; in a local file system the
 * file is renamed. */
static int
name_file(struct import_work *w, uint64_t from, uint64_t to, struct err *err)
{
    struct fs *fs = w->term->options->fs;
    char name[IMPORT_FILE_NAME_BYTES];
    char path[LOAD_PATH_BYTES];
    char place[64];
    import_file_name(from, name);
    load_path(w->order->id, slice_str(name), path);
    snprintf(place, sizeof(place), TABLES_DIR "/%06" PRIu64 ".sst", to);
    return fs_is_gfs(fs) ? gfs_snapshot(fs, path, place, err)
                         : fs_rename(fs, path, place, err);
}

static int
import_number(void *ctx, struct tablet_file_entry *f, struct err *err)
{
    struct import_work *w = ctx;
    struct master_term *r = w->term;
    bool added;
    union hash_value *v =
        hash_map_put(&w->numbers, hash_key_u64(&f->number), &added);
    int rc = 0;
    if (added) {
        /* The name is kept while this parks, and nobody else has the map. */
        v->number = cluster_id(r->number, r->next_id++);
        rc = name_file(w, f->number, v->number, err);
    }
    if (rc == 0 && !master_term_is_current(r))
        rc = master_term_over(err);
    f->number = v->number;
    return rc;
}

/* The tablets of @r with numbers of the cluster; @groups holds their bytes. */
static int import_files(struct import_work *w,
                        struct snapshot_record *r,
                        struct buf *groups,
                        struct err *err)
{
    struct fs *fs = w->term->options->fs;
    int rc = fs_mkdirs(fs, TABLES_DIR, err);
    for (size_t i = 0; i < r->tablet_count && rc == 0; i++) {
        rc = tablet_files_change(r->tablets[i].groups, import_number, w,
                                 &groups[i], err);
        r->tablets[i].groups = buf_slice(&groups[i]);
    }
    return rc;
}

static int import_run(struct import_work *w,
                      struct slice creator,
                      struct snapshot_record *record,
                      struct err *err)
{
    struct buf *groups = mem_zalloc(record->tablet_count + 1, sizeof(*groups));
    uint64_t table;
    int rc = tables_find(w->term, w->order->table, &table, NULL);
    if (rc == 0)
        rc = err_set(err, ERR_EXISTS, "table %.*s exists already",
                     SLICE_ARG(w->order->table));
    else if (rc == ERR_NOTFOUND)
        rc = import_files(w, record, groups, err);
    if (rc == 0)
        rc = restore_table(w->term, w->order->table, creator, record, err);
    for (size_t i = 0; i < record->tablet_count; i++)
        buf_close(&groups[i]);
    mem_free(groups);
    return rc;
}

int import_take(struct master_term *r,
                struct slice creator,
                const struct import_order *o,
                struct err *err)
{
    struct import_work w = {.term = r, .order = o};
    struct snapshot_record record;
    struct arena a;
    int rc;

    PRE(r->ready);
    arena_init(&a);
    hash_map_init(&w.numbers, HASH_KEYS_COPIED);
    rc = import_record_get(o, &a, &record, err);
    if (rc == 0) {
        /* The sweep recognises by its count that files got names. */
        mutex_lock(&r->snapshot_lock);
        INVARIANT(r->snapshot_steps % 2 == 0);
        r->snapshot_steps++;
        rc = import_run(&w, creator, &record, err);
        r->snapshot_steps++;
        mutex_unlock(&r->snapshot_lock);
    }
    hash_map_close(&w.numbers);
    arena_close(&a);
    return rc;
}

int import_lend(struct master_term *r,
                struct slice principal,
                const struct import_order *o,
                struct key_loan *out,
                struct err *err)
{
    struct keyring *keys = fs_keyring(r->options->fs);
    unsigned char lent[KEYRING_SALT_BYTES];
    int rc = load_check_name("the import's id", o->id, err);

    PRE(r->ready);
    if (rc || !keys)
        return rc;
    load_loan_name(0, principal, o->id, lent);
    return keyring_lend(keys, lent, out, err);
}
