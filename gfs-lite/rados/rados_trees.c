/* Lists, renames and removals of many names. All names below one top directory
 * are in one map, so that those of a directory are renamed in one step, which
 * asks that the map is still what was listed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/objects/remote_listing.h"
#include "gfs-lite/rados/rados_fs.h"

/* Names of a directory that is renamed at most: two changes each. */
#define RENAME_MAX (RADOS_CHANGES_MAX / 2 - 600)
/* Files whose removal is noted at once. */
#define REMOVE_MAX 500
/* Objects without a name that are older are of a process that was killed. */
#define PENDING_US_MAX (UINT64_C(7) * 24 * 3600 * 1000000)
/* Of a file that is copied between maps. */
#define COPY_BYTES ((size_t)4 << 20)

/* --- keys of a map ------------------------------------------------------- */

struct tree_key {
    char *key; /* Owned. */
    struct rados_entry entry;
    bool is_pending; /* "//ID": objects without a name. */
};

struct tree_keys {
    struct tree_key *items; /* Owned. */
    size_t count;
    size_t cap;
    uint64_t version; /* Of the map. */
};

static void tree_keys_close(struct tree_keys *t)
{
    for (size_t i = 0; i < t->count; i++)
        mem_free(t->items[i].key);
    mem_free(t->items);
    *t = (struct tree_keys){.count = 0};
}

static int
add_tree_key(void *ctx, const char *key, struct slice value, struct err *err)
{
    struct tree_keys *t = ctx;
    struct tree_key *k;
    bool is_pending = strncmp(key, "//", 2) == 0;
    int rc = 0;
    if (t->count == REMOTE_NAMES_MAX)
        return err_set(err, ERR_TOOBIG, "over %d names", REMOTE_NAMES_MAX);
    if (t->count == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->items = mem_realloc(t->items, t->cap * sizeof(*t->items));
    }
    k = &t->items[t->count];
    *k = (struct tree_key){.is_pending = is_pending};
    if (is_pending && value.len < sizeof(k->entry.value) &&
        strlen(key) == RADOS_ID_BYTES + 1) {
        memcpy(k->entry.value, value.data, value.len);
        memcpy(k->entry.id, key + 2, RADOS_ID_BYTES);
        if (sscanf(k->entry.value, "p %" SCNu64 " %" SCNu64,
                   &k->entry.modified_us, &k->entry.size_bytes) != 2)
            return 0;
    } else if (is_pending) {
        return 0;
    } else {
        rc = rados_entry_parse(value, &k->entry, err);
    }
    if (rc)
        return rc;
    k->key = mem_strdup(key);
    t->count++;
    return 0;
}

/* The keys of @map that begin with @prefix. In any case tree_keys_close(). */
static int list_keys(struct fs *fs,
                     const char *map,
                     const char *prefix,
                     struct tree_keys *t,
                     struct err *err)
{
    int rc;
    *t = (struct tree_keys){.count = 0};
    rc = rados_map_list(rados_fs_client(fs), map, prefix, add_tree_key, t,
                        &t->version, err);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* --- lists --------------------------------------------------------------- */

/* Add @k, whose name is @name. */
static int add_entry(struct fs *fs,
                     struct remote_listing *l,
                     struct tree_key *k,
                     const char *name,
                     bool in_root,
                     struct err *err)
{
    struct fs_info info;
    int rc = 0;
    if (k->is_pending)
        return 0;
    if (k->entry.kind == RADOS_DIRECTORY && in_root)
        rc = rados_names_find(fs, name, &k->entry, err);
    if (rc == 0 && k->entry.grows)
        rc = rados_fs_refresh(fs, &k->entry, err);
    if (rc == ERR_NOTFOUND || k->entry.kind == RADOS_NONE)
        return 0;
    info = (struct fs_info){.is_directory = k->entry.kind == RADOS_DIRECTORY,
                            .size_bytes = k->entry.size_bytes,
                            .modified_us = k->entry.modified_us};
    return rc ? rc : remote_listing_add(l, slice_str(name), &info, err);
}

/* ERR_NOTFOUND or ERR_INVALID if @path is no directory. */
static int check_directory(struct fs *fs, const char *path, struct err *err)
{
    struct rados_entry e;
    const char *place = rados_client_name(rados_fs_client(fs));
    int rc = rados_names_find(fs, path, &e, err);
    if (rc == 0 && e.kind == RADOS_NONE)
        rc =
            err_set(err, ERR_NOTFOUND, "%s/%s: no such directory", place, path);
    else if (rc == 0 && e.kind == RADOS_FILE)
        rc = err_set(err, ERR_INVALID, "%s/%s: no directory", place, path);
    return rc;
}

static int list_keys_again(struct fs *fs,
                           const char *map,
                           const char *prefix,
                           struct tree_keys *t,
                           struct err *err)
{
    unsigned tries = 0;
    int rc = list_keys(fs, map, prefix, t, err);
    while (rc && rados_names_again(fs, rc, &tries)) {
        tree_keys_close(t);
        rc = list_keys(fs, map, prefix, t, err);
    }
    return rc;
}

/* All of the directory @path. In any case remote_listing_close(). */
static int list_directory(struct fs *fs,
                          const char *path,
                          struct remote_listing *l,
                          struct err *err)
{
    struct tree_keys t = {.count = 0};
    struct buf prefix = BUF_INIT;
    struct buf map = BUF_INIT;
    int rc = rados_fs_check(fs, path, err);
    *l = REMOTE_LISTING_INIT;
    buf_append_str(&map, "names");
    if (*path) {
        buf_printf(&map, "/%.*s", (int)strcspn(path, "/"), path);
        buf_printf(&prefix, "%s//", path);
    }
    if (rc == 0)
        rc = list_keys_again(fs, buf_cstr(&map), buf_cstr(&prefix), &t, err);
    for (size_t i = 0; i < t.count && rc == 0; i++)
        rc = add_entry(fs, l, &t.items[i], t.items[i].key + prefix.len, !*path,
                       err);
    if (rc == 0 && l->count == 0)
        rc = check_directory(fs, path, err);
    tree_keys_close(&t);
    buf_close(&map);
    buf_close(&prefix);
    return rc;
}

/* Paths may end in a slash. Owned. */
static char *without_slashes(const char *path)
{
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    return mem_strndup(path, len);
}

int rados_fs_list(struct fs *fs,
                  const char *path,
                  char ***names,
                  size_t *count,
                  struct err *err)
{
    struct remote_listing l;
    char *plain = without_slashes(path);
    int rc = list_directory(fs, plain, &l, err);
    if (rc == 0)
        remote_listing_names(&l, names, count);
    remote_listing_close(&l);
    mem_free(plain);
    return rc;
}

int rados_fs_each(struct fs *fs,
                  const char *path,
                  fs_each_fn visit,
                  void *ctx,
                  struct err *err)
{
    struct remote_listing l;
    char *plain = without_slashes(path);
    int rc = list_directory(fs, plain, &l, err);
    if (rc == 0)
        rc = remote_listing_each(&l, visit, ctx, err);
    remote_listing_close(&l);
    mem_free(plain);
    return rc;
}

/* --- renames ------------------------------------------------------------- */

static bool is_same_map(const char *a, const char *b)
{
    char *maps[2];
    char *key;
    bool same;
    rados_names_key(a, &maps[0], &key);
    mem_free(key);
    rados_names_key(b, &maps[1], &key);
    mem_free(key);
    same = strcmp(maps[0], maps[1]) == 0;
    mem_free(maps[0]);
    mem_free(maps[1]);
    return same;
}

/* Copy the bytes of @e to a file @to, and take its old name away. Not one step:
 * in between both are there. */
static int copy_file(struct fs *fs,
                     const char *from,
                     const struct rados_entry *e,
                     const char *to,
                     struct err *err)
{
    const struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    struct fs_reader *r = NULL;
    struct fs_writer *w = NULL;
    char *part = mem_alloc(COPY_BYTES);
    size_t got = 1;
    int rc = 0;
    if (e->grows)
        rc = err_set(err, ERR_BUSY, "%s/%s is being written",
                     rados_client_name(rados_fs_client(fs)), from);
    if (rc == 0)
        rc = fs_open(fs, from, &r, err);
    if (rc == 0)
        rc = fs_create(fs, to, &o, &w, err);
    for (uint64_t at = 0; rc == 0 && got > 0; at += got) {
        rc = fs_read_at(r, at, part, COPY_BYTES, &got, err);
        if (rc == 0 && got > 0)
            rc = fs_writer_append(w, part, got, err);
    }
    if (rc == 0)
        rc = fs_writer_sync(w, err);
    fs_writer_close(w);
    fs_reader_close(r);
    mem_free(part);
    return rc ? rc : rados_names_remove(fs, from, e->value, err);
}

/* Changes of a step; keys are owned. */
struct moves {
    struct rados_change *items;
    char **keys;
    size_t count;
    size_t key_count;
};

static void moves_init(struct moves *m)
{
    m->items = mem_zalloc(RADOS_CHANGES_MAX, sizeof(*m->items));
    m->keys = mem_zalloc(RADOS_CHANGES_MAX, sizeof(*m->keys));
    m->count = 0;
    m->key_count = 0;
}

static void moves_close(struct moves *m)
{
    for (size_t i = 0; i < m->key_count; i++)
        mem_free(m->keys[i]);
    mem_free(m->keys);
    mem_free(m->items);
}

static void
add_move(struct moves *m, const char *key, const char *was, const char *now)
{
    PRE(m->count < RADOS_CHANGES_MAX);
    m->items[m->count++] =
        (struct rados_change){key, slice_str(was), slice_str(now)};
}

/* Move @k, which is below the directory of @skip bytes, to below @to. */
static void
move_key(struct moves *m, const struct tree_key *k, size_t skip, const char *to)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s%s", to, k->key + skip);
    m->keys[m->key_count] = buf_take(&b);
    add_move(m, k->key, k->entry.value, "");
    add_move(m, m->keys[m->key_count++], "", k->entry.value);
}

/* The directories above @to are made before, and @to is no directory with
 * anything in it. */
static int
check_target(struct fs *fs, const char *from, const char *to, struct err *err)
{
    const char *place = rados_client_name(rados_fs_client(fs));
    struct rados_entry e;
    char **names = NULL;
    size_t count = 0;
    size_t len = strlen(from);
    int rc;
    if (strncmp(from, to, len) == 0 && to[len] == '/')
        return err_set(err, ERR_INVALID, "%s/%s cannot be moved into itself",
                       place, from);
    rc = rados_names_find(fs, to, &e, err);
    if (rc || e.kind == RADOS_NONE)
        return rc;
    if (e.kind == RADOS_FILE)
        return err_set(err, ERR_INVALID, "%s/%s: no directory", place, to);
    rc = rados_fs_list(fs, to, &names, &count, err);
    if (rc)
        return rc;
    fs_names_free(names, count);
    return count == 0
               ? 0
               : err_set(err, ERR_EXISTS, "%s/%s is not empty", place, to);
}

/* One try of renaming a directory. */
static int
move_directory(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct rados_change_options o = {.create = false};
    struct tree_keys t = {.count = 0};
    struct buf prefix = BUF_INIT;
    struct moves m;
    char *map;
    char *old_key;
    char *new_map;
    char *new_key;
    int rc = check_target(fs, from, to, err);
    moves_init(&m);
    rados_names_key(from, &map, &old_key);
    rados_names_key(to, &new_map, &new_key);
    buf_printf(&prefix, "%s/", from);
    if (rc == 0) /* Makes the directories above. */
        rc = rados_names_mkdirs(fs, to, err);
    if (rc == 0)
        rc = list_keys(fs, map, buf_cstr(&prefix), &t, err);
    if (rc == 0 && t.count > RENAME_MAX)
        rc = err_set(err, ERR_TOOBIG,
                     "%s/%s: over %d names are not renamed in one step",
                     rados_client_name(rados_fs_client(fs)), from, RENAME_MAX);
    if (rc == 0) {
        add_move(&m, old_key, "d", "");
        add_move(&m, new_key, "d", "d");
        for (size_t i = 0; i < t.count; i++)
            move_key(&m, &t.items[i], strlen(from), to);
        o.version = t.version;
        rc = rados_map_change(rados_fs_client(fs), map, m.items, m.count, &o,
                              err);
    }
    buf_close(&prefix);
    tree_keys_close(&t);
    moves_close(&m);
    mem_free(map);
    mem_free(old_key);
    mem_free(new_map);
    mem_free(new_key);
    return rc;
}

static int rename_directory(struct fs *fs,
                            const char *from,
                            const char *to,
                            struct err *err)
{
    struct rados_entry e;
    unsigned tries = 0;
    bool again = true;
    int rc = 0;
    if (!strchr(from, '/') || !is_same_map(from, to))
        return err_set(err, ERR_UNSUPPORTED,
                       "%s/%s: a directory is renamed below the same top "
                       "directory",
                       rados_client_name(rados_fs_client(fs)), from);
    while (again) {
        rc = move_directory(fs, from, to, err);
        again = rc && rados_names_again(fs, rc, &tries);
        /* A try whose answer was lost has done it. */
        if (again && rc == ERR_UNAVAILABLE &&
            rados_names_find(fs, from, &e, NULL) == 0 && e.kind == RADOS_NONE)
            return 0;
    }
    return rc;
}

int rados_fs_rename(struct fs *fs,
                    const char *from,
                    const char *to,
                    struct err *err)
{
    struct rados_entry e;
    int rc = rados_fs_check(fs, from, err);
    if (rc == 0)
        rc = rados_fs_check(fs, to, err);
    if (rc == 0)
        rc = rados_fs_may_write(fs, err);
    if (rc == 0)
        rc = rados_names_find(fs, from, &e, err);
    if (rc == 0 && (e.kind == RADOS_NONE || !*from))
        rc = err_set(err, ERR_NOTFOUND, "%s/%s: not there",
                     rados_client_name(rados_fs_client(fs)), from);
    if (rc || strcmp(from, to) == 0)
        return rc;
    if (e.kind == RADOS_DIRECTORY)
        return rename_directory(fs, from, to, err);
    if (!is_same_map(from, to))
        return copy_file(fs, from, &e, to, err);
    return rados_names_move(fs, from, &e, to, err);
}

/* --- removing ------------------------------------------------------------ */

/* Take the names of some files of @t, and then their objects. *@files: how many
 * there were. */
static int remove_files(struct fs *fs,
                        const char *map,
                        struct tree_keys *t,
                        size_t *files,
                        struct err *err)
{
    const struct rados_change_options o = {.create = false};
    struct rados_client *c = rados_fs_client(fs);
    struct moves m;
    char pending[RADOS_VALUE_BYTES];
    int rc = 0;
    moves_init(&m);
    *files = 0;
    snprintf(pending, sizeof(pending), "p %" PRIu64 " 0",
             world_now_us(fs->world));
    for (size_t i = 0; i < t->count && *files < REMOVE_MAX; i++) {
        struct tree_key *k = &t->items[i];
        struct buf key = BUF_INIT;
        if (k->is_pending || k->entry.kind != RADOS_FILE)
            continue;
        buf_printf(&key, "//%s", k->entry.id);
        m.keys[m.key_count] = buf_take(&key);
        add_move(&m, k->key, k->entry.value, "");
        add_move(&m, m.keys[m.key_count++], "", pending);
        ++*files;
    }
    if (m.count > 0)
        rc = rados_map_change(c, map, m.items, m.count, &o, err);
    m.count = 0;
    for (size_t i = 0, n = 0; i < t->count && n < *files && rc == 0; i++) {
        const struct tree_key *k = &t->items[i];
        if (k->is_pending || k->entry.kind != RADOS_FILE)
            continue;
        rc = rados_fs_drop_objects(fs, k->entry.id, k->entry.size_bytes,
                                   !k->entry.grows, err);
        if (rc == 0)
            add_move(&m, m.keys[n++], pending, "");
    }
    if (m.count > 0)
        (void)!rados_map_change(c, map, m.items, m.count, &o, NULL);
    moves_close(&m);
    return rc;
}

/* Objects without a name, at least @age_us old, go. */
static int remove_pending(struct fs *fs,
                          const char *map,
                          const struct tree_keys *t,
                          uint64_t age_us,
                          struct err *err)
{
    const struct rados_change_options o = {.create = false};
    uint64_t now = world_now_us(fs->world);
    int rc = 0;
    for (size_t i = 0; i < t->count && rc == 0; i++) {
        const struct tree_key *k = &t->items[i];
        const struct rados_change gone = {k->key, slice_str(k->entry.value),
                                          SLICE_EMPTY};
        if (!k->is_pending || k->entry.modified_us + age_us > now)
            continue;
        /* The key first: its writer, if it lives, can give it no name. */
        rc = rados_map_change(rados_fs_client(fs), map, &gone, 1, &o, err);
        if (rc == 0)
            rc = rados_fs_drop_objects(fs, k->entry.id, k->entry.size_bytes,
                                       false, err);
        rc = rc == ERR_ABORTED ? 0 : rc;
    }
    return rc;
}

/* Remove the directories of @t, which has no files, and that of @path. */
static int remove_directories(struct fs *fs,
                              const char *map,
                              const char *path,
                              const struct tree_keys *t,
                              struct err *err)
{
    struct rados_change_options o = {.version = t->version};
    struct moves m;
    char *own_map;
    char *own_key;
    bool is_top = !strchr(path, '/');
    bool all = t->count < RADOS_CHANGES_MAX - 1;
    int rc;
    moves_init(&m);
    rados_names_key(path, &own_map, &own_key);
    /* Of more, those with the longest names, which have none below them. */
    for (size_t i = all ? 0 : t->count - (RADOS_CHANGES_MAX - 1); i < t->count;
         i++)
        add_move(&m, t->items[i].key, t->items[i].entry.value, "");
    if (all && !is_top)
        add_move(&m, own_key, "d", "");
    o.remove = all && is_top;
    rc = rados_map_change(rados_fs_client(fs), map, m.items, m.count, &o, err);
    if (rc == 0 && !all)
        rc = err_set(err, ERR_ABORTED, "more directories are left");
    moves_close(&m);
    mem_free(own_map);
    mem_free(own_key);
    return rc;
}

static int by_depth(const void *a, const void *b)
{
    size_t x = strlen(((const struct tree_key *)a)->key);
    size_t y = strlen(((const struct tree_key *)b)->key);
    return (x > y) - (x < y);
}

/* One try. ERR_ABORTED: something was written meanwhile, or is left. */
static int remove_tree_once(struct fs *fs,
                            const char *map,
                            const char *path,
                            struct err *err)
{
    struct tree_keys t;
    struct buf prefix = BUF_INIT;
    bool is_top = !strchr(path, '/');
    size_t files = 0;
    int rc;
    if (!is_top)
        buf_printf(&prefix, "%s/", path);
    rc = list_keys(fs, map, buf_cstr(&prefix), &t, err);
    if (rc == 0)
        rc = remove_files(fs, map, &t, &files, err);
    if (rc == 0 && is_top)
        rc = remove_pending(fs, map, &t, 0, err);
    for (size_t i = 0; i < t.count; i++)
        files += t.items[i].is_pending;
    if (rc == 0 && files > 0) {
        rc = err_set(err, ERR_CONFLICT, "there is more to remove");
    } else if (rc == 0) {
        if (t.count > 1)
            qsort(t.items, t.count, sizeof(*t.items), by_depth);
        rc = remove_directories(fs, map, path, &t, err);
    }
    tree_keys_close(&t);
    buf_close(&prefix);
    return rc;
}

int rados_fs_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    struct rados_entry e;
    struct buf map = BUF_INIT;
    unsigned tries = 0;
    const char *place = rados_client_name(rados_fs_client(fs));
    char *plain = without_slashes(path);
    int rc = rados_fs_check(fs, plain, err);
    if (rc == 0)
        rc = rados_fs_may_write(fs, err);
    if (rc == 0 && !*plain)
        rc = err_set(err, ERR_INVALID, "%s: the root is not removed", place);
    if (rc == 0)
        rc = rados_names_find(fs, plain, &e, err);
    if (rc == 0 && e.kind == RADOS_NONE)
        rc = err_set(err, ERR_NOTFOUND, "%s/%s: not there", place, plain);
    if (rc == 0 && e.kind == RADOS_FILE) {
        rc = rados_names_remove(fs, plain, NULL, err);
    } else if (rc == 0) {
        buf_printf(&map, "names/%.*s", (int)strcspn(plain, "/"), plain);
        do {
            rc = remove_tree_once(fs, buf_cstr(&map), plain, err);
            /* Each round has removed something. */
            tries = rc == ERR_CONFLICT ? 0 : tries;
        } while (rc == ERR_CONFLICT ||
                 (rc && rados_names_again(fs, rc, &tries)));
        rc = rc == ERR_NOTFOUND ? 0 : rc;
    }
    buf_close(&map);
    mem_free(plain);
    return rc;
}

void rados_fs_sweep(struct fs *fs, const char *path)
{
    struct rados_fs *rados = (struct rados_fs *)fs;
    struct tree_keys t;
    char *map;
    char *key;
    if (atomic_exchange(&rados->swept, true))
        return;
    rados_names_key(path, &map, &key);
    if (list_keys(fs, map, "//", &t, NULL) == 0)
        (void)!remove_pending(fs, map, &t, PENDING_US_MAX, NULL);
    tree_keys_close(&t);
    mem_free(map);
    mem_free(key);
}
