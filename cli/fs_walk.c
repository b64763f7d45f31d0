/* Walking directories, and patterns: see fs_walk.h. Patterns are matched part
 * by part, so that only directories that can match are listed.
 */
#include "cli/fs_walk.h"

#include <fnmatch.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cmd_fs.h"

void fs_join(const char *dir, const char *name, struct buf *out)
{
    PRE(name);
    buf_clear(out);
    buf_append_str(out, dir);
    if (*dir && dir[strlen(dir) - 1] != '/')
        buf_append_byte(out, '/');
    buf_append_str(out, name);
}

/* --- entries ------------------------------------------------------------- */

/* Entries of one directory, as they are visited. */
struct walk {
    struct fs *fs;
    const char *dir;
    struct buf path;
    struct buf name;
    fs_entry_fn visit;
    void *ctx;
};

/* @stat says all but the size of a file that is being written. */
static int
visit_name(struct walk *w, const struct gfs_stat *stat, struct err *err)
{
    struct fs_entry e = {.stat = stat};
    int rc = 0;
    PRE(w->visit);
    fs_join(w->dir, buf_cstr(&w->name), &w->path);
    e.path = buf_cstr(&w->path);
    e.name = buf_cstr(&w->name);
    e.info = (struct fs_info){stat->is_directory, stat->size_bytes,
                              stat->modified_us};
    if (stat->is_open)
        rc = fs_stat(w->fs, e.path, &e.info, err);
    if (rc == ERR_NOTFOUND)
        return 0; /* It went meanwhile. */
    return rc ? rc : w->visit(w->ctx, &e, err);
}

static int visit_local(void *ctx,
                       const char *name,
                       const struct fs_info *info,
                       struct err *err)
{
    struct walk *w = ctx;
    struct fs_entry e = {.name = name, .info = *info};
    fs_join(w->dir, name, &w->path);
    e.path = buf_cstr(&w->path);
    return w->visit(w->ctx, &e, err);
}

static int walk_local(struct walk *w, struct err *err)
{
    return fs_each(w->fs, w->dir, visit_local, w, err);
}

static int walk_cluster(struct walk *w, struct err *err)
{
    struct gfs_listing l = {.more = true};
    struct buf after = BUF_INIT;
    int rc = 0;
    while (!rc && l.more) {
        struct arena a;
        arena_init(&a);
        rc = gfs_list(w->fs, w->dir, buf_cstr(&after), &a, &l, err);
        for (size_t i = 0; !rc && i < l.count; i++) {
            buf_clear(&w->name);
            buf_append_slice(&w->name, l.entries[i].name);
            rc = visit_name(w, &l.entries[i].stat, err);
        }
        if (!rc && l.count) {
            buf_clear(&after);
            buf_append_slice(&after, l.entries[l.count - 1].name);
        }
        l.more = l.more && l.count > 0;
        arena_close(&a);
    }
    buf_close(&after);
    return rc;
}

int fs_each_entry(struct fs *fs,
                  const char *path,
                  fs_entry_fn visit,
                  void *ctx,
                  struct err *err)
{
    struct walk w = {.fs = fs,
                     .dir = path,
                     .path = BUF_INIT,
                     .name = BUF_INIT,
                     .visit = visit,
                     .ctx = ctx};
    int rc = fs_is_gfs(fs) ? walk_cluster(&w, err) : walk_local(&w, err);
    buf_close(&w.path);
    buf_close(&w.name);
    return rc;
}

int fs_entry_of(struct fs *fs,
                const char *path,
                struct gfs_stat *stat,
                struct fs_entry *out,
                struct err *err)
{
    const char *slash = strrchr(path, '/');
    int rc = 0;
    *out = (struct fs_entry){.path = path, .name = slash ? slash + 1 : path};
    if (fs_is_gfs(fs)) {
        rc = gfs_stat(fs, path, stat, err);
        out->stat = stat;
        if (rc == 0 && !stat->is_open) {
            out->info = (struct fs_info){stat->is_directory, stat->size_bytes,
                                         stat->modified_us};
            return 0;
        }
    }
    return rc ? rc : fs_stat(fs, path, &out->info, err);
}

/* --- patterns ------------------------------------------------------------ */

static void add_path(struct fs_paths *p, const char *path)
{
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    p->list = mem_realloc(p->list, (p->count + 1) * sizeof(*p->list));
    p->list[p->count++] = mem_strndup(path, len);
}

struct pattern {
    struct fs *fs;
    struct fs_paths *out;
    const char *part; /* The part to match, up to @rest. */
    const char *rest; /* Behind it; NULL: it is the last one. */
    unsigned depth;
};

static int match_in(struct pattern *p,
                    const char *dir,
                    const char *parts,
                    struct err *err);

static int take_match(void *ctx, const struct fs_entry *e, struct err *err)
{
    struct pattern *p = ctx;
    struct pattern below = *p;
    PRE(p->part);
    if (fnmatch(p->part, e->name, FNM_PERIOD) != 0)
        return 0;
    if (!p->rest) {
        add_path(p->out, e->path);
        return 0;
    }
    return e->info.is_directory ? match_in(&below, e->path, p->rest, err) : 0;
}

/* A path without patterns was not looked at: it may be no directory. */
static int match_entries(struct pattern *p, const char *dir, struct err *err)
{
    struct fs_info info = {.is_directory = true};
    int rc = fs_each_entry(p->fs, dir, take_match, p, err);
    if (rc == 0 || *dir == '\0')
        return rc;
    if (fs_stat(p->fs, dir, &info, NULL) == ERR_NOTFOUND || !info.is_directory)
        return 0;
    return rc;
}

/* All paths in @dir that match @parts. */
static int
match_in(struct pattern *p, const char *dir, const char *parts, struct err *err)
{
    const char *slash = strchr(parts, '/');
    char *part =
        slash ? mem_strndup(parts, (size_t)(slash - parts)) : mem_strdup(parts);
    struct fs_info info;
    struct buf next = BUF_INIT;
    int rc = 0;
    while (slash && *slash == '/')
        slash++;
    p->part = part;
    p->rest = slash && *slash ? slash : NULL;
    fs_join(dir, part, &next);
    if (p->depth++ >= FS_TREE_DEPTH_MAX)
        rc = 0;
    else if (strpbrk(part, "*?[\\"))
        rc = match_entries(p, dir, err);
    else if (p->rest)
        rc = match_in(p, buf_cstr(&next), p->rest, err);
    else if (fs_stat(p->fs, buf_cstr(&next), &info, NULL) == 0)
        add_path(p->out, buf_cstr(&next));
    buf_close(&next);
    mem_free(part);
    return rc;
}

static int fs_walk_expand(const struct fs_command *c,
                          const char *word,
                          struct fs_paths *out,
                          struct err *err)
{
    struct pattern p = {.fs = c->fs, .out = out};
    struct fs_info info;
    size_t before = out->count;
    int rc;
    if (!strpbrk(word, "*?[") || fs_stat(c->fs, word, &info, NULL) == 0) {
        add_path(out, word);
        return 0;
    }
    rc = match_in(&p, "", word, err);
    if (rc == 0 && out->count == before)
        rc = err_set(err, ERR_NOTFOUND, "%s%s: no file matches", c->root, word);
    return rc;
}

int fs_paths_of_words(const struct fs_command *c,
                      size_t first,
                      size_t end,
                      struct fs_paths *out,
                      struct err *err)
{
    int rc = 0;
    PRE(first <= end);
    *out = (struct fs_paths){.count = 0};
    for (size_t i = first; i < end && !rc; i++)
        rc = fs_walk_expand(c, fs_command_path(c, i), out, err);
    if (rc)
        fs_paths_close(out);
    return rc;
}

void fs_paths_close(struct fs_paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        mem_free(p->list[i]);
    mem_free(p->list);
    *p = (struct fs_paths){.count = 0};
}
