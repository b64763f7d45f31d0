/* Snapshots of tables of a directory. A record is written first and then named
 * in the manifest; it is taken out of the manifest first and then removed. So a
 * record that the manifest names and that is not there was lost, which the next
 * open reports. While the store is open, all records are in memory, and hold
 * their files by file_refs.h.
 */
#include "bigtable/store/snapshot.h"

#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/store/capture.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/store.h"
#include "bigtable/wire/snapshot_record.h"
#include "bigtable/wire/tablet_files.h"
#include "gfs-lite/fs.h"

#define PATH_BYTES                                                             \
    (sizeof(SNAPSHOTS_DIR SNAPSHOT_SUFFIX) + TABLE_NAME_BYTES_MAX + 2)

static void path_of(char path[PATH_BYTES], const char *name)
{
    snprintf(path, PATH_BYTES, SNAPSHOTS_DIR "/%s" SNAPSHOT_SUFFIX, name);
}

/* --- the list ------------------------------------------------------------ */

/* Index of @name, or of where it belongs. */
static size_t held_snapshots_find(const struct held_snapshots *h,
                                  const char *name,
                                  bool *found)
{
    size_t i = 0;
    while (i < h->count && strcmp(h->list[i].name, name) < 0)
        i++;
    *found = i < h->count && strcmp(h->list[i].name, name) == 0;
    POST(i <= h->count);
    return i;
}

/* @bytes move in. */
static void held_snapshots_insert(struct held_snapshots *h,
                                  const char *name,
                                  struct buf *bytes,
                                  uint64_t expires_us)
{
    bool found;
    size_t i = held_snapshots_find(h, name, &found);
    PRE(!found); /* INV-2 */
    PRE(bytes->len > 0);
    h->list = mem_realloc(h->list, (h->count + 1) * sizeof(*h->list));
    memmove(&h->list[i + 1], &h->list[i], (h->count - i) * sizeof(*h->list));
    h->list[i] = (struct held_snapshot){mem_strdup(name), *bytes, expires_us};
    h->count++;
    *bytes = BUF_INIT;
}

static void take_out(struct held_snapshots *h, size_t i)
{
    PRE(i < h->count);
    mem_free(h->list[i].name);
    buf_close(&h->list[i].bytes);
    h->count--;
    memmove(&h->list[i], &h->list[i + 1], (h->count - i) * sizeof(*h->list));
}

static void hold_file(void *ctx, uint64_t number)
{
    struct store *s = ctx;
    file_refs_add(&s->files, number);
}

static void let_go(void *ctx, uint64_t number)
{
    store_drop_file(ctx, number);
}

/* PRE: it was read before, so that it is well-formed. */
static void
each_file(struct slice bytes, void (*fn)(void *ctx, uint64_t number), void *ctx)
{
    struct snapshot_record r;
    struct arena a;
    struct err err = ERR_INIT;
    arena_init(&a);
    if (snapshot_record_get(bytes, &a, &r, &err) ||
        snapshot_each_file(&r, fn, ctx, &err))
        PANIC("a snapshot that was understood is not any more: %s", err.text);
    arena_close(&a);
}

static void append_number(void *ctx, uint64_t number)
{
    buf_append(ctx, &number, sizeof(number));
}

uint64_t *snapshots_files(struct store *s, size_t *count)
{
    struct buf list = BUF_INIT;
    for (size_t i = 0; i < s->snapshots.count; i++)
        each_file(buf_slice(&s->snapshots.list[i].bytes), append_number, &list);
    *count = list.len / sizeof(uint64_t);
    buf_reserve(&list, sizeof(uint64_t));
    return (uint64_t *)(void *)list.data;
}

static void held_snapshots_ignore(void *ctx, uint64_t number)
{
    (void)ctx;
    (void)number;
}

static int
check_record(struct slice bytes, uint64_t *expires_us, struct err *err)
{
    struct snapshot_record r;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = snapshot_record_get(bytes, &a, &r, err);
    if (rc == 0)
        rc = snapshot_each_file(&r, held_snapshots_ignore, NULL, err);
    if (rc == 0)
        *expires_us = r.expires_us;
    arena_close(&a);
    return rc;
}

static int open_named(struct store *s, const char *name, struct err *err)
{
    char path[PATH_BYTES];
    struct buf bytes = BUF_INIT;
    uint64_t expires_us = 0;
    int rc;
    path_of(path, name);
    rc = fs_read_all_sealed(s->fs, path, SNAPSHOT_BYTES_MAX, &bytes, err);
    if (rc == 0)
        rc = check_record(buf_slice(&bytes), &expires_us, err);
    if (rc == 0) {
        each_file(buf_slice(&bytes), hold_file, s);
        held_snapshots_insert(&s->snapshots, name, &bytes, expires_us);
    }
    buf_close(&bytes);
    if (rc)
        err_wrap(err, "%s", path);
    return rc == ERR_CORRUPT && s->options.repair ? 0 : rc;
}

static int open_one(struct store *s, const char *file, struct err *err)
{
    struct slice name;
    char *own;
    int rc;
    if (!snapshot_of_file(slice_str(file), &name))
        return 0; /* Left by a crash: the next one replaces it. */
    own = mem_strndup(name.data, name.len);
    rc = open_named(s, own, err);
    mem_free(own);
    return rc;
}

/* Are the records there that the manifest names? */
static int check_named(const struct store *s, struct err *err)
{
    const struct manifest_state *state =
        s->manifest ? manifest_state(s->manifest) : NULL;
    for (size_t i = 0; state && i < state->snapshot_count; i++) {
        char path[PATH_BYTES];
        bool found;
        (void)held_snapshots_find(&s->snapshots, state->snapshots[i], &found);
        if (found || s->options.repair)
            continue;
        path_of(path, state->snapshots[i]);
        err_set(err, ERR_CORRUPT, "%s is missing", path);
        err_hint(err, "restore the file, or open with repair to give up the "
                      "snapshot");
        return ERR_CORRUPT;
    }
    return 0;
}

/* Have the manifest name the snapshot, or no more. */
static int
name_in_manifest(struct store *s, const char *name, bool there, struct err *err)
{
    struct buf edit = BUF_INIT;
    int rc;
    PRE(name[0] != '\0');
    if (!s->manifest)
        return 0;
    if (there)
        edit_put_snapshot(&edit, name);
    else
        edit_drop_snapshot(&edit, name);
    rc = manifest_commit(s->manifest, buf_slice(&edit), err);
    buf_close(&edit);
    return rc;
}

int snapshots_open(struct store *s, struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = fs_list(s->fs, SNAPSHOTS_DIR, &names, &count, err);
    PRE(s->snapshots.count == 0);
    if (rc && rc != ERR_NOTFOUND)
        return rc;
    rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = open_one(s, names[i], err);
    fs_names_free(names, count);
    return rc ? rc : check_named(s, err);
}

void snapshots_close(struct store *s)
{
    while (s->snapshots.count > 0)
        take_out(&s->snapshots, s->snapshots.count - 1);
    mem_free(s->snapshots.list);
    s->snapshots.list = NULL;
}

/* --- making -------------------------------------------------------------- */

static void make_record(struct store *s,
                        const struct capture *c,
                        const char *table,
                        const char *name,
                        uint64_t ttl_us,
                        struct snapshot_record *out)
{
    uint64_t now_us = world_now_us(s->world);
    PRE(c->tablet_count > 0);
    *out = (struct snapshot_record){
        .name = slice_str(name),
        .table = slice_str(table),
        .created_us = now_us,
        .expires_us = ttl_us ? now_us + ttl_us : 0,
        .schema = buf_slice(&c->schema),
        .tablet_count = c->tablet_count,
        .tablets = mem_alloc(c->tablet_count * sizeof(*out->tablets))};
    for (size_t i = 0; i < c->tablet_count; i++) {
        const struct captured_tablet *t = &c->tablets[i];
        out->tablets[i] = (struct snapshot_tablet){
            buf_slice(&t->start), buf_slice(&t->end), buf_slice(&t->groups),
            t->sequence,          t->bytes,           t->stamped_us};
    }
}

static int capture_named(struct store *s,
                         const char *name,
                         struct capture *c,
                         struct err *err)
{
    struct table_part *t;
    int rc = store_find_table(s, name, &t, err);
    PRE(name);
    if (rc)
        return rc;
    rc = table_capture(s, t, c, err);
    table_part_unref(t);
    return rc;
}

/* A record could not be written, at least not durably. Is it certain that no
 * open will find it? Its files may be released only then. */
static bool take_back(struct store *s, const char *path)
{
    int rc = fs_remove(s->fs, path, NULL);
    if (rc && rc != ERR_NOTFOUND)
        return false;
    return fs_sync_dir(s->fs, SNAPSHOTS_DIR, NULL) == 0;
}

static int outcome_unknown(const char *name, struct err *err)
{
    PRE(name[0] != '\0');
    err_wrap(err, "snapshot %s is there now, and may not be after a crash",
             name);
    err_hint(err, "drop it and take it again when the disk works");
    if (err)
        err->code = ERR_UNKNOWN_OUTCOME;
    return ERR_UNKNOWN_OUTCOME;
}

/* The bytes of the record, and its files held: also when the record only
 * @*may_be_there. PRE: the catalog is locked. */
static int write_record(struct store *s,
                        const struct capture *c,
                        const char *table,
                        const char *name,
                        uint64_t ttl_us,
                        bool *may_be_there,
                        struct err *err)
{
    char path[PATH_BYTES];
    struct snapshot_record r;
    struct buf bytes = BUF_INIT;
    int rc;
    PRE(!*may_be_there);
    make_record(s, c, table, name, ttl_us, &r);
    snapshot_record_put(&r, &bytes);
    path_of(path, name);
    rc = fs_mkdirs(s->fs, SNAPSHOTS_DIR, err);
    if (rc == 0) {
        rc = fs_replace_sealed(s->fs, path, buf_slice(&bytes), err);
        *may_be_there = rc && !take_back(s, path);
    }
    /* A later open may find the name: then the record must be there. */
    if (rc == 0) {
        rc = name_in_manifest(s, name, true, err);
        *may_be_there =
            rc && (rc == ERR_UNKNOWN_OUTCOME || !take_back(s, path));
    }
    if (rc == 0 || *may_be_there)
        held_snapshots_insert(&s->snapshots, name, &bytes, r.expires_us);
    if (*may_be_there)
        rc = outcome_unknown(name, err);
    POST(!*may_be_there || rc == ERR_UNKNOWN_OUTCOME);
    mem_free(r.tablets);
    buf_close(&bytes);
    return rc;
}

int store_snapshot(struct store *s,
                   const char *table,
                   const char *name,
                   uint64_t ttl_us,
                   struct err *err)
{
    struct capture c;
    bool may_be_there = false;
    bool found;
    int rc = tablet_env_check_writable(&s->env, err);
    if (rc == 0)
        rc = snapshot_check_name(slice_str(name), err);
    if (rc)
        return rc;
    snapshots_expire(s);
    mutex_lock(&s->catalog_lock);
    (void)held_snapshots_find(&s->snapshots, name, &found);
    if (found)
        rc = err_set(err, ERR_EXISTS, "snapshot %s exists already", name);
    if (rc == 0)
        rc = capture_named(s, table, &c, err);
    if (rc == 0) {
        rc = write_record(s, &c, table, name, ttl_us, &may_be_there, err);
        if (rc && !may_be_there)
            capture_release(s, &c);
        else
            capture_keep(&c);
    }
    mutex_unlock(&s->catalog_lock);
    if (rc)
        err_wrap(err, "snapshot table %s", table);
    return rc;
}

/* --- dropping ------------------------------------------------------------ */

static int no_snapshot(struct store *s, const char *name, struct err *err)
{
    struct buf list = BUF_INIT;
    for (size_t i = 0; i < s->snapshots.count; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", s->snapshots.list[i].name);
    if (list.len)
        err_set(err, ERR_NOTFOUND, "no snapshot %s; there are: %s", name,
                buf_cstr(&list));
    else
        err_set(err, ERR_NOTFOUND, "no snapshot %s; there are none", name);
    buf_close(&list);
    return ERR_NOTFOUND;
}

static int drop_in_doubt(const char *name, struct err *err)
{
    if (err) {
        err_wrap(err, "snapshot %s may be gone when the store is opened again",
                 name);
        err->code = ERR_UNKNOWN_OUTCOME;
    }
    return ERR_UNKNOWN_OUTCOME;
}

/* PRE: the catalog is locked. */
static int drop_at(struct store *s, size_t i, struct err *err)
{
    char path[PATH_BYTES];
    struct buf bytes;
    int rc;
    PRE(i < s->snapshots.count);
    path_of(path, s->snapshots.list[i].name);
    rc = name_in_manifest(s, s->snapshots.list[i].name, false, err);
    if (rc)
        return rc;
    rc = fs_remove(s->fs, path, err);
    if (rc == 0 || rc == ERR_NOTFOUND)
        rc = fs_sync_dir(s->fs, SNAPSHOTS_DIR, err);
    if (rc)
        return drop_in_doubt(s->snapshots.list[i].name, err);
    bytes = s->snapshots.list[i].bytes;
    s->snapshots.list[i].bytes = BUF_INIT;
    take_out(&s->snapshots, i);
    each_file(buf_slice(&bytes), let_go, s);
    buf_close(&bytes);
    return 0;
}

int store_snapshot_drop(struct store *s, const char *name, struct err *err)
{
    bool found;
    size_t i;
    int rc = tablet_env_check_writable(&s->env, err);
    if (rc)
        return rc;
    mutex_lock(&s->catalog_lock);
    i = held_snapshots_find(&s->snapshots, name, &found);
    rc = found ? drop_at(s, i, err) : no_snapshot(s, name, err);
    mutex_unlock(&s->catalog_lock);
    return rc;
}

void snapshots_expire(struct store *s)
{
    uint64_t now_us = world_now_us(s->world);
    if (s->options.read_only)
        return;
    mutex_lock(&s->catalog_lock);
    for (size_t i = s->snapshots.count; i > 0; i--) {
        uint64_t expires_us = s->snapshots.list[i - 1].expires_us;
        /* A file that cannot be removed is tried again the next time. */
        if (expires_us && expires_us <= now_us && drop_at(s, i - 1, NULL))
            break;
    }
    mutex_unlock(&s->catalog_lock);
}

/* --- tables of snapshots ------------------------------------------------- */

int store_snapshot_restore(struct store *s,
                           const char *name,
                           const char *table,
                           struct err *err)
{
    struct snapshot_record r;
    struct arena a;
    bool found;
    size_t i;
    int rc = tablet_env_check_writable(&s->env, err);
    PRE(!s->sharing);
    if (rc)
        return rc;
    snapshots_expire(s);
    arena_init(&a);
    mutex_lock(&s->catalog_lock);
    i = held_snapshots_find(&s->snapshots, name, &found);
    if (!found)
        rc = no_snapshot(s, name, err);
    else
        rc = snapshot_record_get(buf_slice(&s->snapshots.list[i].bytes), &a, &r,
                                 err);
    if (rc == 0)
        rc = store__make_table(s, table, &r, err);
    mutex_unlock(&s->catalog_lock);
    arena_close(&a);
    return rc;
}

int store_clone_table(struct store *s,
                      const char *from,
                      const char *to,
                      struct err *err)
{
    struct snapshot_record r;
    struct capture c;
    int rc = tablet_env_check_writable(&s->env, err);
    PRE(!s->sharing);
    if (rc)
        return rc;
    mutex_lock(&s->catalog_lock);
    rc = capture_named(s, from, &c, err);
    if (rc == 0) {
        make_record(s, &c, from, to, 0, &r);
        rc = store__make_table(s, to, &r, err);
        mem_free(r.tablets);
        capture_release(s, &c);
    }
    mutex_unlock(&s->catalog_lock);
    if (rc)
        err_wrap(err, "clone table %s", from);
    return rc;
}

/* --- looking ------------------------------------------------------------- */

int store_snapshot_record(struct store *s,
                          const char *name,
                          struct buf *out,
                          struct err *err)
{
    bool found;
    size_t i;
    int rc = 0;
    snapshots_expire(s);
    mutex_lock(&s->catalog_lock);
    i = held_snapshots_find(&s->snapshots, name, &found);
    if (found)
        buf_append_slice(out, buf_slice(&s->snapshots.list[i].bytes));
    else
        rc = no_snapshot(s, name, err);
    mutex_unlock(&s->catalog_lock);
    return rc;
}

void store_snapshot_names(struct store *s, char ***names, size_t *count)
{
    snapshots_expire(s);
    mutex_lock(&s->catalog_lock);
    *count = s->snapshots.count;
    *names = mem_alloc((*count + 1) * sizeof(char *));
    for (size_t i = 0; i < *count; i++)
        (*names)[i] = mem_strdup(s->snapshots.list[i].name);
    mutex_unlock(&s->catalog_lock);
}
