/* Names in maps: looking one up, giving one to a file, taking it away. Each is
 * a read of all keys that it depends on and a change that compares them, again
 * when somebody else was faster. After a time-out the next read tells what
 * became of the change.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/rados/rados_fs.h"

#define ROOT_MAP "names"
/* Times that a change is begun again because others were faster, and because
 * its outcome was unclear. */
#define TRIES_MAX     200
#define UNCLEAR_MAX   2
#define WAIT_US_MAX   UINT64_C(20000)
#define UNCLEAR_COUNT 65536
/* Objects behind the known end of a file that may be there. */
#define GAP_MAX 8

/* --- keys and values ----------------------------------------------------- */

/* The map of all below the top directory of @path, which has a slash. Owned. */
static char *map_below(const char *path)
{
    struct buf b = BUF_INIT;
    buf_append_str(&b, ROOT_MAP "/");
    buf_append(&b, path, strcspn(path, "/"));
    return buf_take(&b);
}

/* The key of @path, which is @len long. Owned. */
static char *key_of(const char *path, size_t len)
{
    struct buf b = BUF_INIT;
    size_t slash = len;
    while (slash > 0 && path[slash - 1] != '/')
        slash--;
    if (slash > 0) {
        buf_append(&b, path, slash);
        buf_append_byte(&b, '/');
    }
    buf_append(&b, path + slash, len - slash);
    return buf_take(&b);
}

void rados_names_key(const char *path, char **map, char **key)
{
    *map = strchr(path, '/') ? map_below(path) : mem_strdup(ROOT_MAP);
    *key = key_of(path, strlen(path));
}

void rados_entry_of_file(struct rados_entry *e,
                         const char *id,
                         uint64_t size_bytes,
                         uint64_t modified_us,
                         bool grows)
{
    *e = (struct rados_entry){.kind = RADOS_FILE,
                              .grows = grows,
                              .size_bytes = size_bytes,
                              .modified_us = modified_us};
    PRE(strlen(id) == RADOS_ID_BYTES - 1);
    memcpy(e->id, id, RADOS_ID_BYTES);
    snprintf(e->value, sizeof(e->value), "f %s %" PRIu64 " %" PRIu64 " %c", id,
             size_bytes, modified_us, grows ? 'g' : 's');
}

int rados_entry_parse(struct slice value,
                      struct rados_entry *out,
                      struct err *err)
{
    char grows = 0;
    int end = 0;
    *out = (struct rados_entry){.kind = RADOS_NONE};
    if (value.len >= sizeof(out->value) || memchr(value.data, 0, value.len))
        return err_set(err, ERR_CORRUPT, "a name has a value of %zu bytes",
                       value.len);
    memcpy(out->value, value.data, value.len);
    if (value.len == 0)
        return 0;
    out->kind = RADOS_DIRECTORY;
    if (slice_eq_str(value, "d"))
        return 0;
    out->kind = RADOS_FILE;
    if (sscanf(out->value, "f %32[0-9a-f] %" SCNu64 " %" SCNu64 " %c%n",
               out->id, &out->size_bytes, &out->modified_us, &grows,
               &end) != 4 ||
        (size_t)end != value.len || strlen(out->id) != RADOS_ID_BYTES - 1 ||
        (grows != 'g' && grows != 's'))
        return err_set(err, ERR_CORRUPT, "a name has the value \"%.80s\"",
                       out->value);
    out->grows = grows == 'g';
    return 0;
}

bool rados_names_again(struct fs *fs, int rc, unsigned *tries)
{
    if (rc == ERR_UNAVAILABLE)
        *tries += UNCLEAR_COUNT;
    else if (rc == ERR_ABORTED)
        ++*tries;
    else
        return false;
    if (*tries / UNCLEAR_COUNT > UNCLEAR_MAX ||
        *tries % UNCLEAR_COUNT > TRIES_MAX)
        return false;
    world_sleep_us(fs->world, world_random(fs->world) % WAIT_US_MAX);
    return true;
}

/* --- reading a name and its directories ---------------------------------- */

/* Directories of a name from the top, the name, and where the file was before:
 * among the objects without a name, or at another name. */
struct name_keys {
    char *map;
    char **keys;
    struct buf *values;
    size_t dirs;
    size_t count;
    bool missing; /* There is no such map. */
};

static void add_key(struct name_keys *k, char *key)
{
    k->keys = mem_realloc(k->keys, (k->count + 1) * sizeof(*k->keys));
    k->keys[k->count++] = key;
}

/* The key of objects without a name. Owned. */
static char *pending_key(const char *id)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "//%s", id);
    return buf_take(&b);
}

/* @before: a key that is read, too; owned from now on. NULL: none. */
static void name_keys_init(struct name_keys *k, const char *path, char *before)
{
    const char *top = strchr(path, '/');
    *k = (struct name_keys){.count = 0};
    k->map = top ? map_below(path) : mem_strdup(ROOT_MAP);
    for (const char *p = top ? strchr(top + 1, '/') : NULL; p;
         p = strchr(p + 1, '/'))
        add_key(k, key_of(path, (size_t)(p - path)));
    k->dirs = k->count;
    add_key(k, key_of(path, strlen(path)));
    if (before)
        add_key(k, before);
    k->values = mem_zalloc(k->count, sizeof(*k->values));
}

static void name_keys_close(struct name_keys *k)
{
    for (size_t i = 0; i < k->count; i++) {
        mem_free(k->keys[i]);
        buf_close(&k->values[i]);
    }
    mem_free(k->keys);
    mem_free(k->values);
    mem_free(k->map);
}

static int name_keys_read(struct fs *fs, struct name_keys *k, struct err *err)
{
    int rc;
    for (size_t i = 0; i < k->count; i++)
        buf_clear(&k->values[i]);
    rc = rados_map_get(rados_fs_client(fs), k->map,
                       (const char *const *)k->keys, k->count, k->values, err);
    k->missing = rc == ERR_NOTFOUND;
    return k->missing ? 0 : rc;
}

/* The map of the top directory of @path, which has a slash. */
static int make_top(struct fs *fs, const char *path, struct err *err)
{
    struct rados_client *c = rados_fs_client(fs);
    const struct rados_change_options create = {.create = true};
    char *top = mem_strndup(path, strcspn(path, "/"));
    char *map = map_below(path);
    const char *keys[] = {top};
    struct buf value = BUF_INIT;
    unsigned tries = 0;
    int rc;
    do {
        buf_clear(&value);
        rc = rados_map_get(c, ROOT_MAP, keys, 1, &value, err);
        if (rc == ERR_NOTFOUND)
            rc = 0;
        if (rc == 0 && value.len > 0 && !slice_eq_str(buf_slice(&value), "d"))
            rc = err_set(err, ERR_INVALID, "%s/%s: no directory",
                         rados_client_name(c), top);
        if (rc == 0 && value.len == 0) {
            const struct rados_change k = {top, SLICE_EMPTY, SLICE_LIT("d")};
            rc = rados_map_change(c, ROOT_MAP, &k, 1, &create, err);
        }
        if (rc == 0) /* INV-2 */
            rc = rados_map_change(c, map, NULL, 0, &create, err);
    } while (rc && rados_names_again(fs, rc, &tries));
    buf_close(&value);
    mem_free(map);
    mem_free(top);
    return rc;
}

int rados_names_find(struct fs *fs,
                     const char *path,
                     struct rados_entry *out,
                     struct err *err)
{
    struct name_keys k;
    int rc;
    *out = (struct rados_entry){.kind = RADOS_NONE};
    if (*path == '\0') {
        out->kind = RADOS_DIRECTORY;
        return 0;
    }
    name_keys_init(&k, path, NULL);
    rc = name_keys_read(fs, &k, err);
    if (rc == 0 && !k.missing)
        rc = rados_entry_parse(buf_slice(&k.values[k.dirs]), out, err);
    if (rc)
        err_wrap(err, "%s", path);
    name_keys_close(&k);
    if (rc == 0 && out->kind == RADOS_DIRECTORY && !strchr(path, '/')) {
        struct buf below = BUF_INIT;
        buf_printf(&below, ROOT_MAP "/%s", path);
        rc = rados_object_exists(rados_fs_client(fs), buf_cstr(&below), err);
        buf_close(&below);
        if (rc == ERR_NOTFOUND) { /* INV-2 */
            out->kind = RADOS_NONE;
            rc = 0;
        }
    }
    return rc;
}

/* --- changing ------------------------------------------------------------ */

/* Changes of one step; their texts are borrowed. */
struct change_set {
    struct rados_change *items;
    size_t count;
};

static void add_change(struct change_set *s,
                       const char *key,
                       struct slice was,
                       struct slice now)
{
    s->items[s->count++] = (struct rados_change){key, was, now};
}

/* All directories of the name are there afterwards (INV-1). */
static int add_directories(struct fs *fs,
                           const struct name_keys *k,
                           struct change_set *s,
                           struct err *err)
{
    for (size_t i = 0; i < k->dirs; i++) {
        struct slice was = buf_slice(&k->values[i]);
        if (was.len > 0 && !slice_eq_str(was, "d"))
            return err_set(err, ERR_INVALID, "%s: %s is no directory",
                           rados_client_name(rados_fs_client(fs)), k->keys[i]);
        add_change(s, k->keys[i], was, SLICE_LIT("d"));
    }
    return 0;
}

static void pending_value(struct fs *fs, uint64_t bytes, char *out)
{
    snprintf(out, RADOS_VALUE_BYTES, "p %" PRIu64 " %" PRIu64,
             world_now_us(fs->world), bytes);
}

int rados_names_begin(struct fs *fs,
                      const char *path,
                      const char *id,
                      char *pending,
                      struct err *err)
{
    const struct rados_change_options in_root = {.create = !strchr(path, '/')};
    char *key = pending_key(id);
    char *map;
    char *name;
    unsigned tries = 0;
    int rc = 0;
    rados_names_key(path, &map, &name);
    pending_value(fs, 0, pending);
    do {
        struct rados_change k = {key, SLICE_EMPTY, slice_str(pending)};
        /* A second try may find what the first has made. */
        if (tries >= UNCLEAR_COUNT)
            k.was = k.now;
        rc = rados_map_change(rados_fs_client(fs), map, &k, 1, &in_root, err);
        if (rc == ERR_ABORTED && tries >= UNCLEAR_COUNT) {
            k.was = SLICE_EMPTY;
            rc = rados_map_change(rados_fs_client(fs), map, &k, 1, &in_root,
                                  err);
        }
        if (rc == ERR_NOTFOUND && !in_root.create) {
            rc = make_top(fs, path, err);
            rc = rc ? rc : ERR_ABORTED;
        }
    } while (rc && rados_names_again(fs, rc, &tries));
    mem_free(key);
    mem_free(map);
    mem_free(name);
    return rc;
}

void rados_names_end(struct fs *fs,
                     const char *path,
                     const char *id,
                     const char *pending)
{
    const struct rados_change_options none = {.create = false};
    char *key = pending_key(id);
    const struct rados_change k = {key, slice_str(pending), SLICE_EMPTY};
    char *map;
    char *name;
    rados_names_key(path, &map, &name);
    (void)!rados_map_change(rados_fs_client(fs), map, &k, 1, &none, NULL);
    mem_free(key);
    mem_free(map);
    mem_free(name);
}

int rados_fs_drop_objects(struct fs *fs,
                          const char *id,
                          uint64_t size_bytes,
                          bool exact,
                          struct err *err)
{
    uint64_t end =
        MAX_OF((size_bytes + RADOS_OBJECT_BYTES - 1) / RADOS_OBJECT_BYTES, 1);
    struct buf key = BUF_INIT;
    unsigned gap = 0;
    int rc = 0;
    buf_printf(&key, "f/%s", id);
    for (uint64_t i = 0; rc == 0 && (i < end || (!exact && gap < GAP_MAX));
         i++) {
        char *object = rados_object_name(buf_cstr(&key), i);
        rc = rados_object_remove(rados_fs_client(fs), object, err);
        gap = rc == ERR_NOTFOUND && i >= end ? gap + 1 : 0;
        rc = rc == ERR_NOTFOUND ? 0 : rc;
        mem_free(object);
    }
    buf_close(&key);
    return rc;
}

/* The objects of @old, which lost the name @path, go. Where that fails they and
 * their key stay. */
static void drop_old(struct fs *fs,
                     const char *path,
                     const struct rados_entry *old,
                     const char *pending)
{
    if (rados_fs_drop_objects(fs, old->id, old->size_bytes, !old->grows,
                              NULL) == 0)
        rados_names_end(fs, path, old->id, pending);
}

/* The change that gives the name to @e; @s has room for it. */
static int plan_put(struct fs *fs,
                    const struct name_keys *k,
                    const struct rados_entry *e,
                    const struct rados_put_options *o,
                    const struct rados_entry *old,
                    struct change_set *s,
                    struct err *err)
{
    const char *place = rados_client_name(rados_fs_client(fs));
    const char *key = k->keys[k->dirs];
    int rc = add_directories(fs, k, s, err);
    if (rc)
        return rc;
    if (old->kind == RADOS_DIRECTORY)
        return err_set(err, ERR_INVALID, "%s/%s: a directory", place, key);
    if (o->exclusive && old->kind == RADOS_FILE)
        return err_set(err, ERR_EXISTS, "%s/%s exists already", place, key);
    if (o->was && strcmp(o->was, old->value) != 0)
        return err_set(err, ERR_CONFLICT, "%s/%s was replaced", place, key);
    add_change(s, key, slice_str(old->value), slice_str(e->value));
    if (k->count > k->dirs + 1) { /* INV-3 */
        const char *before = o->from ? e->value : o->pending;
        if (!slice_eq_str(buf_slice(&k->values[k->dirs + 1]), before))
            return err_set(err, ERR_CONFLICT,
                           "%s/%s was removed or changed meanwhile", place,
                           o->from ? o->from : key);
        add_change(s, k->keys[k->dirs + 1], slice_str(before), SLICE_EMPTY);
    }
    return 0;
}

/* One try of rados_names_put(). ERR_CONFLICT: another try does not help. */
static int put_once(struct fs *fs,
                    const char *path,
                    struct name_keys *k,
                    const struct rados_entry *e,
                    const struct rados_put_options *o,
                    struct rados_entry *old,
                    char *old_pending,
                    struct err *err)
{
    struct change_set s = {mem_zalloc(k->count + 2, sizeof(*s.items)), 0};
    const struct rados_change_options options = {.create = !strchr(path, '/')};
    char *old_key = NULL;
    bool done = false;
    int rc = name_keys_read(fs, k, err);
    if (rc == 0 && k->missing && !options.create) {
        rc = make_top(fs, path, err);
        rc = rc ? rc : ERR_ABORTED;
    }
    if (rc == 0)
        rc = rados_entry_parse(buf_slice(&k->values[k->dirs]), old, err);
    /* A try whose answer was lost. */
    done = rc == 0 && strcmp(old->value, e->value) == 0;
    if (done)
        old->kind = RADOS_NONE;
    if (rc == 0 && !done)
        rc = plan_put(fs, k, e, o, old, &s, err);
    if (rc == 0 && !done) {
        if (old->kind == RADOS_FILE && strcmp(old->id, e->id) != 0) {
            old_key = pending_key(old->id);
            pending_value(fs, old->size_bytes, old_pending);
            add_change(&s, old_key, SLICE_EMPTY, slice_str(old_pending));
        } else {
            old->kind = RADOS_NONE;
        }
        rc = rados_map_change(rados_fs_client(fs), k->map, s.items, s.count,
                              &options, err);
    }
    mem_free(old_key);
    mem_free(s.items);
    return rc;
}

int rados_names_put(struct fs *fs,
                    const char *path,
                    const struct rados_entry *e,
                    const struct rados_put_options *o,
                    struct err *err)
{
    struct name_keys k;
    struct rados_entry old;
    char old_pending[RADOS_VALUE_BYTES];
    char *before = NULL;
    unsigned tries = 0;
    int rc = rados_fs_may_write(fs, err);
    if (rc)
        return rc;
    if (o->from)
        before = key_of(o->from, strlen(o->from));
    else if (o->pending)
        before = pending_key(e->id);
    name_keys_init(&k, path, before);
    do {
        rc = put_once(fs, path, &k, e, o, &old, old_pending, err);
    } while (rc && rados_names_again(fs, rc, &tries));
    if (rc == 0 && old.kind == RADOS_FILE)
        drop_old(fs, path, &old, old_pending);
    name_keys_close(&k);
    return rc == ERR_CONFLICT ? ERR_ABORTED : rc;
}

int rados_names_move(struct fs *fs,
                     const char *from,
                     const struct rados_entry *e,
                     const char *to,
                     struct err *err)
{
    const struct rados_put_options o = {.from = from};
    struct rados_entry now = *e;
    unsigned tries = 0;
    int rc;
    /* ERR_ABORTED: the file was replaced meanwhile; another one is moved. */
    while ((rc = rados_names_put(fs, to, &now, &o, err)) == ERR_ABORTED &&
           rados_names_again(fs, rc, &tries)) {
        rc = rados_names_find(fs, from, &now, err);
        if (rc == 0 && now.kind != RADOS_FILE)
            rc = err_set(err, ERR_NOTFOUND, "%s/%s: not there",
                         rados_client_name(rados_fs_client(fs)), from);
        if (rc)
            break;
    }
    return rc;
}

/* One try of rados_names_remove(). */
static int remove_once(struct fs *fs,
                       struct name_keys *k,
                       const char *path,
                       const char *was,
                       bool unclear,
                       struct rados_entry *old,
                       char *pending,
                       struct err *err)
{
    struct rados_client *c = rados_fs_client(fs);
    const struct rados_change_options options = {.create = false};
    struct rados_change changes[2];
    char *key;
    int rc = name_keys_read(fs, k, err);
    if (rc == 0)
        rc = rados_entry_parse(buf_slice(&k->values[k->dirs]), old, err);
    if (rc)
        return rc;
    if (old->kind == RADOS_NONE)
        return unclear ? 0
                       : err_set(err, ERR_NOTFOUND, "%s/%s: not there",
                                 rados_client_name(c), path);
    if (old->kind == RADOS_DIRECTORY)
        return err_set(err, ERR_INVALID, "%s/%s: a directory",
                       rados_client_name(c), path);
    if (was && strcmp(was, old->value) != 0)
        return err_set(err, ERR_CONFLICT, "%s/%s was replaced",
                       rados_client_name(c), path);
    key = pending_key(old->id);
    pending_value(fs, old->size_bytes, pending);
    changes[0] = (struct rados_change){k->keys[k->dirs], slice_str(old->value),
                                       SLICE_EMPTY};
    changes[1] = (struct rados_change){key, SLICE_EMPTY, slice_str(pending)};
    rc = rados_map_change(c, k->map, changes, 2, &options, err);
    mem_free(key);
    return rc;
}

int rados_names_remove(struct fs *fs,
                       const char *path,
                       const char *was,
                       struct err *err)
{
    struct name_keys k;
    struct rados_entry old;
    char pending[RADOS_VALUE_BYTES];
    unsigned tries = 0;
    int rc = rados_fs_may_write(fs, err);
    if (rc)
        return rc;
    name_keys_init(&k, path, NULL);
    do {
        rc = remove_once(fs, &k, path, was, tries >= UNCLEAR_COUNT, &old,
                         pending, err);
    } while (rc && rados_names_again(fs, rc, &tries));
    name_keys_close(&k);
    if (rc == 0 && old.kind == RADOS_FILE)
        drop_old(fs, path, &old, pending);
    return rc == ERR_CONFLICT ? ERR_ABORTED : rc;
}

int rados_names_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    struct name_keys k;
    struct change_set s;
    unsigned tries = 0;
    char *inside;
    struct buf b = BUF_INIT;
    int rc = rados_fs_may_write(fs, err);
    if (rc)
        return rc;
    /* All directories of a name in it. */
    buf_printf(&b, "%s/x", path);
    inside = buf_take(&b);
    name_keys_init(&k, inside, NULL);
    s.items = mem_zalloc(k.count, sizeof(*s.items));
    do {
        const struct rados_change_options options = {.create = false};
        s.count = 0;
        rc = name_keys_read(fs, &k, err);
        if (rc == 0 && k.missing) {
            rc = make_top(fs, inside, err);
            rc = rc ? rc : ERR_ABORTED;
        }
        if (rc == 0)
            rc = add_directories(fs, &k, &s, err);
        if (rc == 0)
            rc = rados_map_change(rados_fs_client(fs), k.map, s.items, s.count,
                                  &options, err);
    } while (rc && rados_names_again(fs, rc, &tries));
    mem_free(s.items);
    name_keys_close(&k);
    mem_free(inside);
    return rc;
}
