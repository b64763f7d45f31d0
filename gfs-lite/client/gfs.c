/* The cluster's file system as an implementation of fs.h: options, life, and
 * its table of functions. On a plain thread it starts a loop of its own, so
 * that applications need not know of fibers.
 */
#include "gfs-lite/gfs.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/client/gfs_client.h"

#define REPLICATION_DEFAULT 3
#define TIMEOUT_US_DEFAULT  UINT64_C(60000000)
#define RENEW_US_DEFAULT    UINT64_C(10000000)
#define HEDGE_US_DEFAULT    UINT64_C(30000)

void gfs__on_loop(struct gfs *g,
                  const char *name,
                  void (*fn)(void *),
                  void *arg)
{
    if (fiber_self() && loop_self() == g->loop)
        fn(arg);
    else
        loop_call(g->loop, name, fn, arg);
}

/* --- closing ------------------------------------------------------------- */

static void close_on_loop(void *arg)
{
    struct gfs *g = arg;
    if (g->renewer) {
        fiber_cancel(g->renewer);
        fiber_join(g->renewer);
    }
    gfs__end_session(g);
    leader_free(g->leader);
    peers_close(g->peers);
}

static void free_servers(struct gfs *g)
{
    size_t at = 0;
    struct known_server *s;
    while ((s = id_map_next(&g->servers, &at))) {
        mem_free(s->address);
        mem_free(s->machine);
        mem_free(s->rack);
        mem_free(s);
    }
    id_map_close(&g->servers);
    for (size_t i = 0; i < g->machine_count; i++)
        mem_free(g->machines[i]);
    mem_free(g->machines);
}

static void free_gfs(struct gfs *g)
{
    while (g->unclosed) {
        struct unclosed *u = g->unclosed;
        g->unclosed = u->next;
        mem_free(u);
    }
    free_servers(g);
    mutex_close(&g->mutex);
    cond_close(&g->changed);
    mem_free(g->path);
    mem_free(g->machine);
    mem_free(g->rack);
    mem_free(g->name);
    mem_free(g);
}

static void gfs_hurry_leader(struct fs *fs)
{
    struct gfs *g = gfs_of(fs);
    g->stopping = true;
    leader_hurry(g->leader);
}

bool gfs__gives_up(struct gfs *g, uint64_t until_ns)
{
    return world_mono_ns(g->base.world) >= until_ns || g->stopping ||
           fiber_check(NULL) != 0;
}

static void close_gfs(struct fs *fs)
{
    struct gfs *g = gfs_of(fs);
    g->stopping = true;
    gfs__on_loop(g, "gfs close", close_on_loop, g);
    if (g->own_loop) {
        loop_stop(g->loop);
        loop_join(g->loop);
        loop_free(g->loop);
    }
    free_gfs(g);
}

/* --- opening ------------------------------------------------------------- */

static const struct fs_ops gfs_ops = {
    .close = close_gfs,
    .hurry = gfs_hurry_leader,
    .create = gfs__create,
    .append = gfs__append,
    .flush = gfs__flush,
    .sync = gfs__sync,
    .append_sync = gfs__append_sync,
    .writer_close = gfs__writer_close,
    .recover = gfs__recover,
    .open = gfs__open,
    .read_at = gfs__read_at,
    .read_once_at = gfs__read_at,
    .read_place = gfs__read_place,
    .prefetch = gfs__prefetch,
    .reader_close = gfs__reader_close,
    .locality = gfs__locality,
    .rename = gfs__rename,
    .remove = gfs__remove,
    .mkdirs = gfs__mkdirs,
    .remove_tree = gfs__remove_tree,
    .stat = gfs__stat,
    .sync_dir = gfs__sync_dir,
    .list = gfs__list,
    .lock = gfs__lock,
    .unlock = gfs__unlock,
};

bool fs_is_gfs(const struct fs *fs)
{
    return fs->ops == &gfs_ops;
}

static char *copy_or(const char *text, const char *otherwise)
{
    return mem_strdup(text ? text : otherwise);
}

/* @path without '/' at its ends. */
static char *clean_path(const char *path)
{
    struct slice s = slice_str(path ? path : "");
    while (s.len && s.data[0] == '/')
        s = slice_sub(s, 1, s.len);
    while (s.len && s.data[s.len - 1] == '/')
        s.len--;
    return mem_strndup(s.data, s.len);
}

static struct gfs *new_gfs(struct world *w, const struct gfs_options *o)
{
    struct gfs *g = mem_zalloc(1, sizeof(*g));
    g->base.ops = &gfs_ops;
    g->base.world = w;
    g->path = clean_path(o->path);
    g->machine = copy_or(o->machine, "");
    g->rack = copy_or(o->rack, "default");
    g->name = copy_or(o->name, "a client");
    g->replication = o->replication ? o->replication : REPLICATION_DEFAULT;
    g->timeout_us = o->timeout_us ? o->timeout_us : TIMEOUT_US_DEFAULT;
    g->renew_us = o->renew_us ? o->renew_us : RENEW_US_DEFAULT;
    g->hedge_us = o->hedge_us ? o->hedge_us : HEDGE_US_DEFAULT;
    g->chunk_bytes = o->chunk_bytes ? MIN_OF(o->chunk_bytes, GFS_CHUNK_BYTES)
                                    : GFS_CHUNK_BYTES;
    g->short_circuit = !o->no_short_circuit;
    g->write_way = o->write_way;
    mutex_init(&g->mutex);
    cond_init(&g->changed);
    session_window_init(&g->window);
    return g;
}

struct opening {
    struct gfs *gfs;
    const struct gfs_options *options;
    struct err *err;
    int rc;
};

static void open_on_loop(void *arg)
{
    struct opening *o = arg;
    struct gfs *g = o->gfs;
    g->peers = peers_new(o->options->security);
    o->rc = peers_find_leader(g->peers, g->base.world, o->options->namenodes,
                              &g->leader, o->err);
    if (o->rc == 0 && o->options->act_as)
        leader_act_as(g->leader, o->options->act_as);
    if (o->rc == 0)
        g->renewer = fiber_start(g->loop, "gfs session", gfs__run_renewer, g);
}

int fs_gfs_open(struct world *w,
                const struct gfs_options *opts,
                struct fs **out,
                struct err *err)
{
    struct gfs *g = new_gfs(w, opts);
    struct opening o = {.gfs = g, .options = opts, .err = err};
    *out = NULL;
    g->own_loop = !fiber_self();
    g->loop = loop_self();
    if (g->own_loop) {
        o.rc = loop_new(w, "gfs", &g->loop, err);
        if (o.rc) {
            free_gfs(g);
            return o.rc;
        }
        loop_start(g->loop);
    }
    gfs__on_loop(g, "gfs open", open_on_loop, &o);
    if (o.rc)
        fs_close(&g->base);
    else
        *out = &g->base;
    return o.rc;
}

/* --- targets ------------------------------------------------------------- */

static int open_url(struct world *w,
                    struct slice url,
                    const struct rpc_security *security,
                    struct fs **out,
                    struct err *err)
{
    size_t slash = slice_find_byte(url, '/');
    char *namenodes = mem_strndup(url.data, slash);
    char *path = mem_strndup(url.data + slash, url.len - slash);
    struct gfs_options opts = {
        .namenodes = namenodes, .path = path, .security = security};
    int rc = fs_gfs_open(w, &opts, out, err);
    mem_free(namenodes);
    mem_free(path);
    return rc;
}

int fs_open_target(struct world *w,
                   const char *target,
                   const struct rpc_security *security,
                   struct fs **out,
                   struct err *err)
{
    struct slice t = slice_str(target);
    *out = NULL;
    if (slice_starts_with(t, SLICE_LIT(GFS_SCHEME)))
        return open_url(w, slice_sub(t, strlen(GFS_SCHEME), t.len), security,
                        out, err);
    if (slice_starts_with(t, SLICE_LIT("file:")))
        target += strlen("file:");
    return fs_local_open(w, target, out, err);
}

void gfs_get_client_stats(const struct fs *fs, struct gfs_client_stats *out)
{
    const struct gfs *g = (const struct gfs *)fs;
    PRE(fs_is_gfs(fs));
    out->local_writes = atomic_load(&g->local_writes);
    out->local_reads = atomic_load(&g->local_reads);
    out->remote_reads = atomic_load(&g->remote_reads);
    out->hedged_reads = atomic_load(&g->hedged_reads);
    out->recoveries = atomic_load(&g->recoveries);
}
