/* Operations on names: a change is one command to the namenode, executed once
 * (gfs_session.c), a question one query; a listing is one for each page.
 * fs_stat() adds the bytes of open chunks, which their servers know.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/client/gfs_client.h"

int gfs__path(const struct gfs *g,
              const char *path,
              struct buf *out,
              struct err *err)
{
    if (!fs__path_is_valid(path))
        return err_set(err, ERR_INVALID, "bad file name \"%.80s\"", path);
    buf_append_str(out, g->path);
    if (g->path[0] && path[0])
        buf_append_byte(out, '/');
    buf_append_str(out, path);
    return 0;
}

int gfs__query(struct gfs *g,
               uint32_t method,
               const struct gfs_query *q,
               struct buf *reply,
               struct err *err)
{
    struct buf body = BUF_INIT;
    int rc;
    gfs_query_put(q, &body);
    rc = leader_call(g->leader, method, g->timeout_us, buf_slice(&body),
                     SLICE_EMPTY, reply, NULL, err);
    buf_close(&body);
    return rc;
}

/* --- changes ------------------------------------------------------------- */

/* A command over one or two (NULL: one) names. */
static int run_on_paths(struct fs *fs,
                        struct gfs_command c,
                        const char *path,
                        const char *to,
                        struct err *err)
{
    struct gfs *g = gfs_of(fs);
    struct buf from_full = BUF_INIT;
    struct buf to_full = BUF_INIT;
    int rc = gfs__path(g, path, &from_full, err);
    if (rc == 0 && to)
        rc = gfs__path(g, to, &to_full, err);
    c.path = buf_slice(&from_full);
    c.to = buf_slice(&to_full);
    if (rc == 0)
        rc = gfs__execute_plain(g, &c, err);
    buf_close(&from_full);
    buf_close(&to_full);
    return rc;
}

int gfs__rename(struct fs *fs,
                const char *from,
                const char *to,
                struct err *err)
{
    return run_on_paths(fs, (struct gfs_command){.op = GFS_OP_RENAME}, from, to,
                        err);
}

int gfs__remove(struct fs *fs, const char *path, struct err *err)
{
    return run_on_paths(fs, (struct gfs_command){.op = GFS_OP_REMOVE}, path,
                        NULL, err);
}

int gfs__remove_tree(struct fs *fs, const char *path, struct err *err)
{
    return run_on_paths(
        fs, (struct gfs_command){.op = GFS_OP_REMOVE, .flags = GFS_TREE}, path,
        NULL, err);
}

int gfs__mkdirs(struct fs *fs, const char *path, struct err *err)
{
    return run_on_paths(fs, (struct gfs_command){.op = GFS_OP_MKDIRS}, path,
                        NULL, err);
}

int gfs_set_replication(struct fs *fs,
                        const char *path,
                        uint32_t replication,
                        struct err *err)
{
    PRE(fs_is_gfs(fs));
    return run_on_paths(fs,
                        (struct gfs_command){.op = GFS_OP_SET_REPLICATION,
                                             .replication = replication},
                        path, NULL, err);
}

int gfs_snapshot(struct fs *fs,
                 const char *from,
                 const char *to,
                 struct err *err)
{
    int rc;
    PRE(fs_is_gfs(fs));
    /* A file that is being written may have an open chunk again. */
    for (int tries = 0;; tries++) {
        rc = run_on_paths(fs, (struct gfs_command){.op = GFS_OP_SNAPSHOT}, from,
                          to, err);
        if (rc != ERR_BUSY || tries == 20)
            return rc;
        world_sleep_us(fs->world, 10000);
    }
}

int gfs_discard(struct fs *fs, const char *path, struct err *err)
{
    PRE(fs_is_gfs(fs));
    return run_on_paths(
        fs, (struct gfs_command){.op = GFS_OP_REMOVE, .flags = GFS_TRASH}, path,
        NULL, err);
}

int gfs_set_quota(struct fs *fs,
                  const char *path,
                  uint64_t entries,
                  uint64_t bytes,
                  struct err *err)
{
    PRE(fs_is_gfs(fs));
    return run_on_paths(fs,
                        (struct gfs_command){.op = GFS_OP_SET_QUOTA,
                                             .length = entries,
                                             .bytes = bytes},
                        path, NULL, err);
}

/* Acknowledged commands are durable. */
int gfs__sync_dir(struct fs *fs, const char *path, struct err *err)
{
    return fs__path_is_valid(path)
               ? 0
               : err_set(err, ERR_INVALID, "bad file name \"%.80s\" of %p",
                         path, (void *)fs);
}

/* --- questions ----------------------------------------------------------- */

static int query_path(struct fs *fs,
                      uint32_t method,
                      const char *path,
                      struct gfs_query q,
                      struct buf *reply,
                      struct err *err)
{
    struct gfs *g = gfs_of(fs);
    struct buf full = BUF_INIT;
    int rc = gfs__path(g, path, &full, err);
    q.path = buf_slice(&full);
    if (rc == 0)
        rc = gfs__query(g, method, &q, reply, err);
    buf_close(&full);
    return rc;
}

int gfs_set_mode(struct fs *fs,
                 const char *path,
                 uint32_t mode,
                 struct err *err)
{
    PRE(fs_is_gfs(fs));
    return run_on_paths(
        fs, (struct gfs_command){.op = GFS_OP_SET_MODE, .mode = mode}, path,
        NULL, err);
}

int gfs_set_owner(struct fs *fs,
                  const char *path,
                  struct slice owner,
                  struct err *err)
{
    PRE(fs_is_gfs(fs));
    return run_on_paths(
        fs, (struct gfs_command){.op = GFS_OP_SET_OWNER, .text = owner}, path,
        NULL, err);
}

int gfs_grant(struct fs *fs,
              const char *path,
              struct slice principal,
              uint32_t rights,
              bool take,
              struct err *err)
{
    PRE(fs_is_gfs(fs));
    return run_on_paths(fs,
                        (struct gfs_command){.op = GFS_OP_GRANT,
                                             .text = principal,
                                             .length = rights,
                                             .flags = take ? GFS_REVOKE : 0},
                        path, NULL, err);
}

int gfs_get_grants(struct fs *fs,
                   const char *path,
                   struct arena *a,
                   struct gfs_path_grants *out,
                   struct err *err)
{
    struct buf reply = BUF_INIT;
    int rc = query_path(fs, GFS_GRANTS, path, (struct gfs_query){.file = 0},
                        &reply, err);
    PRE(fs_is_gfs(fs));
    if (rc == 0)
        rc = gfs_path_grants_get(arena_dup(a, buf_slice(&reply)), a, out, err);
    buf_close(&reply);
    return rc;
}

int gfs_stat(struct fs *fs,
             const char *path,
             struct gfs_stat *out,
             struct err *err)
{
    struct arena a;
    int rc;
    arena_init(&a);
    rc = gfs_look(fs, path, &a, out, err);
    out->owner = SLICE_EMPTY;
    arena_close(&a);
    return rc;
}

int gfs_look(struct fs *fs,
             const char *path,
             struct arena *a,
             struct gfs_stat *out,
             struct err *err)
{
    struct buf reply = BUF_INIT;
    int rc = query_path(fs, GFS_STAT, path, (struct gfs_query){.file = 0},
                        &reply, err);
    PRE(fs_is_gfs(fs));
    if (rc == 0)
        rc = gfs_stat_get(buf_slice(&reply), out, err);
    if (rc == 0)
        out->owner = arena_dup(a, out->owner);
    buf_close(&reply);
    return rc;
}

/* The bytes of the open chunk at the file's end. */
static int open_bytes(struct gfs *g,
                      const struct gfs_stat *s,
                      uint64_t *bytes,
                      struct err *err)
{
    struct gfs_layout l;
    struct buf reply = BUF_INIT;
    struct arena a;
    int rc;
    *bytes = 0;
    arena_init(&a);
    rc = gfs__layout(g, SLICE_EMPTY, s->file, s->size_bytes, &a, &reply, &l,
                     err);
    for (size_t i = 0; i < l.chunk_count && rc == 0; i++) {
        uint64_t length = l.chunks[i].length; /* Known if another follows. */
        if (!l.chunks[i].sealed && !length)
            rc = gfs__open_length(g, &l.chunks[i], &length, err);
        if (!l.chunks[i].sealed)
            *bytes += length;
    }
    arena_close(&a);
    buf_close(&reply);
    return rc;
}

int gfs__stat(struct fs *fs,
              const char *path,
              struct fs_info *info,
              struct err *err)
{
    struct gfs_stat s;
    uint64_t more = 0;
    int rc = gfs_stat(fs, path, &s, err);
    if (rc)
        return rc;
    if (s.is_open)
        rc = open_bytes(gfs_of(fs), &s, &more, err);
    if (rc && rc != ERR_DENIED) /* A caller without the right to read sees only
                                   sealed chunks. */
        return rc;
    info->is_directory = s.is_directory;
    info->size_bytes = s.size_bytes + more;
    info->modified_us = s.modified_us;
    return 0;
}

static int list_page(struct fs *fs,
                     const char *path,
                     const char *after,
                     struct arena *a,
                     struct buf *reply,
                     struct gfs_listing *l,
                     struct err *err)
{
    int rc =
        query_path(fs, GFS_LIST, path,
                   (struct gfs_query){.after = slice_str(after)}, reply, err);
    return rc ? rc : gfs_listing_get(buf_slice(reply), a, l, err);
}

static void dup_entry(struct arena *a, struct gfs_entry *e)
{
    e->name = arena_dup(a, e->name);
    e->stat.owner = arena_dup(a, e->stat.owner);
}

int gfs_list(struct fs *fs,
             const char *path,
             const char *after,
             struct arena *a,
             struct gfs_listing *out,
             struct err *err)
{
    struct buf reply = BUF_INIT;
    int rc = list_page(fs, path, after, a, &reply, out, err);
    PRE(fs_is_gfs(fs));
    for (size_t i = 0; rc == 0 && i < out->count; i++)
        dup_entry(a, &out->entries[i]);
    buf_close(&reply);
    return rc;
}

int gfs__list(struct fs *fs,
              const char *path,
              char ***names,
              size_t *count,
              struct err *err)
{
    struct gfs_listing l = {.more = true};
    struct buf reply = BUF_INIT;
    int rc = 0;
    while (rc == 0 && l.more) {
        const char *after = *count ? (*names)[*count - 1] : "";
        struct arena a;
        arena_init(&a);
        rc = list_page(fs, path, after, &a, &reply, &l, err);
        if (rc == 0 && l.count)
            *names = mem_realloc(*names, (*count + l.count) * sizeof(**names));
        for (size_t i = 0; rc == 0 && i < l.count; i++)
            (*names)[(*count)++] =
                mem_strndup(l.entries[i].name.data, l.entries[i].name.len);
        arena_close(&a);
    }
    buf_close(&reply);
    if (rc) {
        fs_names_free(*names, *count);
        *names = NULL;
        *count = 0;
    }
    return rc;
}

int gfs_get_layout(struct fs *fs,
                   const char *path,
                   uint64_t offset,
                   struct arena *a,
                   struct gfs_layout *out,
                   struct err *err)
{
    struct buf full = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc = gfs__path(gfs_of(fs), path, &full, err);
    PRE(fs_is_gfs(fs));
    if (rc == 0)
        rc = gfs__layout(gfs_of(fs), buf_slice(&full), 0, offset, a, &reply,
                         out, err);
    for (size_t i = 0; rc == 0 && i < out->server_count; i++) {
        struct gfs_server *s = &out->servers[i];
        s->address = arena_dup(a, s->address);
        s->machine = arena_dup(a, s->machine);
        s->rack = arena_dup(a, s->rack);
    }
    buf_close(&full);
    buf_close(&reply);
    return rc;
}

int gfs_check(struct fs *fs,
              const char *path,
              struct slice after,
              struct arena *a,
              struct gfs_findings *out,
              struct err *err)
{
    struct buf reply = BUF_INIT;
    int rc = query_path(fs, GFS_CHECK, path, (struct gfs_query){.after = after},
                        &reply, err);
    PRE(fs_is_gfs(fs));
    if (rc == 0)
        rc = gfs_findings_get(arena_dup(a, buf_slice(&reply)), a, out, err);
    buf_close(&reply);
    return rc;
}

int gfs_get_status(struct fs *fs,
                   struct arena *a,
                   struct gfs_status *out,
                   struct err *err)
{
    struct buf reply = BUF_INIT;
    int rc = gfs__query(gfs_of(fs), GFS_STATUS, &(struct gfs_query){.file = 0},
                        &reply, err);
    PRE(fs_is_gfs(fs));
    if (rc == 0)
        rc = gfs_status_get(arena_dup(a, buf_slice(&reply)), a, out, err);
    buf_close(&reply);
    return rc;
}

int gfs_set_server_state(struct fs *fs,
                         const char *address,
                         enum gfs_server_state state,
                         struct err *err)
{
    struct gfs_query q = {.path = slice_str(address),
                          .length = (uint64_t)state};
    struct buf reply = BUF_INIT;
    int rc = gfs__query(gfs_of(fs), GFS_SET_SERVER, &q, &reply, err);
    PRE(fs_is_gfs(fs));
    buf_close(&reply);
    return rc;
}

/* --- locks --------------------------------------------------------------- */

struct gfs_lock {
    struct fs_lock base;
    uint64_t file;
};

int gfs__lock(struct fs *fs,
              const char *path,
              struct fs_lock **out,
              struct err *err)
{
    struct gfs *g = gfs_of(fs);
    struct gfs_command c = {.op = GFS_OP_LOCK};
    struct buf full = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc = gfs__path(g, path, &full, err);
    c.path = buf_slice(&full);
    if (rc == 0)
        rc = gfs__execute(g, &c, &r, &reply, err);
    if (rc == 0) {
        struct gfs_lock *l = mem_zalloc(1, sizeof(*l));
        l->base.fs = fs;
        l->file = r.file;
        *out = &l->base;
    }
    buf_close(&full);
    buf_close(&reply);
    return rc;
}

void gfs__unlock(struct fs_lock *base)
{
    struct gfs_lock *l = (struct gfs_lock *)base;
    struct gfs_command c = {.op = GFS_OP_UNLOCK, .file = l->file};
    /* If it fails, the session's end releases the lock. */
    (void)!gfs__execute_plain(gfs_of(base->fs), &c, NULL);
    mem_free(l);
}
