/* Importing a table: each file gets a number and its name among the store's,
 * the record is told the numbers, and then it is a snapshot like others, of
 * which a table is made. A crash before that leaves files that nobody names:
 * the next open removes them.
 */
#include "bigtable/store/import_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/store.h"
#include "bigtable/wire/load_calls.h"
#include "bigtable/wire/snapshot_calls.h"
#include "bigtable/wire/tablet_files.h"
#include "bigtable/write/write_queue.h"
#include "gfs-lite/fs.h"

struct importing {
    struct store *store;
    const struct import_order *order;
    struct hash_map numbers; /* Of the record -> of the store. */
    uint64_t *moved;         /* Owned; each has a reference of ours. */
    size_t moved_count;
    uint64_t sequence; /* The highest. */
};

static int
move_in(struct importing *i, uint64_t from, uint64_t to, struct err *err)
{
    char name[IMPORT_FILE_NAME_BYTES];
    char path[LOAD_PATH_BYTES];
    char place[64];
    PRE(to > 0);
    import_file_name(from, name);
    load_path(i->order->id, slice_str(name), path);
    snprintf(place, sizeof(place), STORE_TABLES_DIR "/%06" PRIu64 ".sst", to);
    return fs_rename(i->store->fs, path, place, err);
}

/* Files that two tablets share are in the record twice. */
static int
import_number(void *ctx, struct tablet_file_entry *f, struct err *err)
{
    struct importing *i = ctx;
    bool added;
    union hash_value *v =
        hash_map_put(&i->numbers, hash_key_u64(&f->number), &added);
    int rc = 0;
    i->sequence = MAX_OF(i->sequence, f->sequence_max);
    if (added) {
        v->number = file_numbers_take(&i->store->numbers);
        rc = move_in(i, f->number, v->number, err);
        if (rc) {
            file_numbers_decide(&i->store->numbers, v->number);
            return rc;
        }
        i->moved =
            mem_realloc(i->moved, (i->moved_count + 1) * sizeof(*i->moved));
        i->moved[i->moved_count++] = v->number;
        file_refs_add(&i->store->files, v->number);
    }
    f->number = v->number;
    return 0;
}

static int import_tablets(struct importing *i,
                          struct snapshot_record *r,
                          struct buf *groups,
                          struct err *err)
{
    int rc = fs_mkdirs(i->store->fs, STORE_TABLES_DIR, err);
    for (size_t k = 0; k < r->tablet_count && rc == 0; k++) {
        i->sequence = MAX_OF(i->sequence, r->tablets[k].sequence);
        rc = tablet_files_change(r->tablets[k].groups, import_number, i,
                                 &groups[k], err);
        r->tablets[k].groups = buf_slice(&groups[k]);
    }
    if (rc == 0)
        rc = fs_sync_dir(i->store->fs, STORE_TABLES_DIR, err);
    return rc;
}

/* PRE: the catalog is locked. */
static int
import_make(struct importing *i, struct snapshot_record *r, struct err *err)
{
    char *name = mem_strndup(i->order->table.data, i->order->table.len);
    struct buf *groups = mem_zalloc(r->tablet_count + 1, sizeof(*groups));
    struct table_part *t;
    int rc;
    PRE(mutex_is_held(&i->store->catalog_lock));
    rc = store_find_table(i->store, name, &t, NULL);
    if (rc == 0) {
        table_part_unref(t);
        rc = err_set(err, ERR_EXISTS, "table %s exists already", name);
    } else {
        rc = import_tablets(i, r, groups, err);
    }
    if (rc == 0) {
        write_queue_raise(&i->store->env, i->sequence);
        rc = store__make_table(i->store, name, r, err);
    }
    for (size_t k = 0; k < r->tablet_count; k++)
        buf_close(&groups[k]);
    mem_free(groups);
    mem_free(name);
    return rc;
}

int store_import_table(struct store *s,
                       const struct import_order *o,
                       struct err *err)
{
    struct importing i = {.store = s, .order = o};
    struct snapshot_record r;
    struct arena a;
    int rc = tablet_env_check_writable(&s->env, err);
    PRE(!s->sharing);
    if (rc)
        return rc;
    arena_init(&a);
    hash_map_init(&i.numbers, HASH_KEYS_COPIED);
    rc = import_record_get(o, &a, &r, err);
    if (rc == 0) {
        mutex_lock(&s->catalog_lock);
        rc = import_make(&i, &r, err);
        mutex_unlock(&s->catalog_lock);
    }
    for (size_t k = 0; k < i.moved_count; k++) {
        file_numbers_decide(&s->numbers, i.moved[k]);
        store_drop_file(s, i.moved[k]);
    }
    mem_free(i.moved);
    hash_map_close(&i.numbers);
    arena_close(&a);
    background_wake(s);
    return rc;
}
