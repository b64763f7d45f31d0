/* Names of the simulated disk, and the effect of a loss of power on them.
 * Changes of names form groups (a rename within a directory is one), and a
 * loss keeps or drops a group as a whole, as a journaling file system does. */
#include <errno.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/sim/sim_disk.h"

/* --- entries ------------------------------------------------------------- */

static struct sim_entry *find_entry(const struct sim_entries *e,
                                    struct slice name)
{
    for (size_t i = 0; i < e->count; i++)
        if (slice_eq_str(name, e->items[i].name))
            return &e->items[i];
    return NULL;
}

static void
remove_entry(struct sim_disk *d, struct sim_entries *e, struct slice name)
{
    struct sim_entry *at = find_entry(e, name);
    struct sim_entry old;
    if (!at)
        return;
    old = *at;
    *at = e->items[--e->count];
    mem_free(old.name);
    sim_node_unref(d, old.node);
}

/* Set the entry @name to @node, replacing an older one. */
static void set_entry(struct sim_disk *d,
                      struct sim_entries *e,
                      struct slice name,
                      struct sim_node *node)
{
    sim_node_ref(node);
    remove_entry(d, e, name);
    if (e->count == e->cap) {
        e->cap = e->cap ? e->cap * 2 : 8;
        e->items = mem_realloc(e->items, e->cap * sizeof(*e->items));
    }
    e->items[e->count++] =
        (struct sim_entry){mem_strndup(name.data, name.len), node};
}

static void clear_entries(struct sim_disk *d, struct sim_entries *e)
{
    while (e->count)
        remove_entry(d, e, slice_str(e->items[e->count - 1].name));
}

static void drop_changes(struct sim_disk *d, struct sim_node *dir)
{
    struct sim_change *c = dir->changes;
    dir->changes = NULL;
    dir->changes_end = &dir->changes;
    while (c) {
        struct sim_change *next = c->next;
        if (c->node)
            sim_node_unref(d, c->node);
        mem_free(c->name);
        mem_free(c);
        c = next;
    }
}

void sim__names_free(struct sim_disk *d, struct sim_node *dir)
{
    drop_changes(d, dir);
    clear_entries(d, &dir->entries);
    clear_entries(d, &dir->disk_entries);
    mem_free(dir->entries.items);
    mem_free(dir->disk_entries.items);
}

/* --- paths --------------------------------------------------------------- */

/* Consume the first name of *path; false when none is left. */
static bool take_name(struct slice *path, struct slice *name)
{
    while (path->len && path->data[0] == '/')
        *path = slice_sub(*path, 1, path->len);
    *name = slice_sub(*path, 0, slice_find_byte(*path, '/'));
    *path = slice_sub(*path, name->len, path->len);
    return name->len > 0;
}

struct sim_node *sim_lookup(const struct sim_node *dir, struct slice name)
{
    struct sim_entry *e = find_entry(&dir->entries, name);
    return e ? e->node : NULL;
}

static struct sim_node *
sim_names_walk(struct sim_disk *d, struct slice path, int *errnum)
{
    struct sim_node *n = d->root;
    struct slice name;
    *errnum = 0;
    while (n && take_name(&path, &name)) {
        if (!n->is_dir) {
            *errnum = ENOTDIR;
            return NULL;
        }
        n = sim_lookup(n, name);
    }
    if (!n)
        *errnum = ENOENT;
    return n;
}

struct sim_node *sim_find(struct sim_disk *d, const char *path, int *errnum)
{
    return sim_names_walk(d, slice_str(path), errnum);
}

struct sim_node *sim_find_parent(struct sim_disk *d,
                                 const char *path,
                                 struct slice *name,
                                 int *errnum)
{
    struct slice rest = slice_str(path);
    struct sim_node *dir;
    size_t at;
    while (rest.len && rest.data[rest.len - 1] == '/')
        rest.len--;
    for (at = rest.len; at > 0 && rest.data[at - 1] != '/'; at--)
        ;
    *name = slice_sub(rest, at, rest.len);
    dir = sim_names_walk(d, slice_sub(rest, 0, at), errnum);
    if (dir && (!dir->is_dir || name->len == 0)) {
        *errnum = dir->is_dir ? EINVAL : ENOTDIR;
        return NULL;
    }
    return dir;
}

/* --- changes ------------------------------------------------------------- */

/* Record a change of @name; @node NULL removes it. */
static void sim_names_change(struct sim_disk *d,
                             struct sim_node *dir,
                             struct slice name,
                             struct sim_node *node,
                             uint64_t group)
{
    struct sim_change *c = mem_zalloc(1, sizeof(*c));
    c->group = group;
    c->name = mem_strndup(name.data, name.len);
    c->node = node ? sim_node_ref(node) : NULL;
    *dir->changes_end = c;
    dir->changes_end = &c->next;
    if (node)
        set_entry(d, &dir->entries, name, node);
    else
        remove_entry(d, &dir->entries, name);
}

int sim_create(struct sim_disk *d,
               const char *path,
               bool is_dir,
               uint64_t now_us,
               struct sim_node **out)
{
    struct slice name;
    int errnum;
    struct sim_node *dir = sim_find_parent(d, path, &name, &errnum);
    struct sim_node *n;
    if (!dir)
        return errnum == EINVAL ? EEXIST : errnum;
    if (sim_lookup(dir, name))
        return EEXIST;
    n = sim__node_new(d, is_dir);
    n->modified_us = now_us;
    sim_names_change(d, dir, name, n, ++d->group_count);
    *out = n;
    return 0;
}

int sim_remove(struct sim_disk *d, const char *path, bool is_dir)
{
    struct slice name;
    int errnum;
    struct sim_node *dir = sim_find_parent(d, path, &name, &errnum);
    struct sim_node *n;
    if (!dir)
        return errnum;
    n = sim_lookup(dir, name);
    if (!n)
        return ENOENT;
    if (n->is_dir != is_dir)
        return is_dir ? ENOTDIR : EISDIR;
    if (is_dir && n->entries.count)
        return ENOTEMPTY;
    sim_names_change(d, dir, name, NULL, ++d->group_count);
    return 0;
}

/* 0 if @from may replace @to (NULL: nothing), else an errno value. */
static int check_replace(const struct sim_node *from, const struct sim_node *to)
{
    if (!to)
        return 0;
    if (to->is_dir && !from->is_dir)
        return EISDIR;
    if (!to->is_dir && from->is_dir)
        return ENOTDIR;
    return to->is_dir && to->entries.count ? ENOTEMPTY : 0;
}

int sim_rename(struct sim_disk *d, const char *from, const char *to)
{
    struct slice from_name;
    struct slice to_name;
    int errnum;
    struct sim_node *from_dir = sim_find_parent(d, from, &from_name, &errnum);
    struct sim_node *to_dir;
    struct sim_node *n;
    if (!from_dir)
        return errnum;
    to_dir = sim_find_parent(d, to, &to_name, &errnum);
    if (!to_dir)
        return errnum;
    n = sim_lookup(from_dir, from_name);
    if (!n)
        return ENOENT;
    if (n == sim_lookup(to_dir, to_name))
        return 0;
    errnum = check_replace(n, sim_lookup(to_dir, to_name));
    if (errnum)
        return errnum;
    sim_node_ref(n);
    d->group_count++;
    sim_names_change(d, to_dir, to_name, n, d->group_count);
    sim_names_change(d, from_dir, from_name, NULL, d->group_count);
    sim_node_unref(d, n);
    return 0;
}

/* Apply one change to the disk state. */
static void sim_names_apply(struct sim_disk *d,
                            struct sim_node *dir,
                            const struct sim_change *c)
{
    if (c->node)
        set_entry(d, &dir->disk_entries, slice_str(c->name), c->node);
    else
        remove_entry(d, &dir->disk_entries, slice_str(c->name));
}

void sim_sync_names(struct sim_disk *d, struct sim_node *dir)
{
    for (const struct sim_change *c = dir->changes; c; c = c->next)
        sim_names_apply(d, dir, c);
    drop_changes(d, dir);
}

void sim__names_crash(struct sim_disk *d,
                      struct sim_node *dir,
                      enum loss loss,
                      uint64_t seed)
{
    for (const struct sim_change *c = dir->changes; c; c = c->next)
        if (loss == LOSE_NONE ||
            (loss == LOSE_SOME && (hash_mix(seed ^ c->group) & 1)))
            sim_names_apply(d, dir, c);
    drop_changes(d, dir);
    clear_entries(d, &dir->entries);
    for (size_t i = 0; i < dir->disk_entries.count; i++)
        set_entry(d, &dir->entries, slice_str(dir->disk_entries.items[i].name),
                  dir->disk_entries.items[i].node);
}
