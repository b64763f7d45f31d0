/* Reading a file: the chunk that holds the bytes is found in the layout of the
 * open, then read by a descriptor of this machine's server (short_circuit.c),
 * else over the network (gfs_remote.c). If both fail the layout is queried
 * again: copies move and proofs expire.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "gfs-lite/client/gfs_client.h"

/* Between queries for servers that hold a chunk. */
#define RETRY_US UINT64_C(100000)
/* One call over the network. */
#define REMOTE_BYTES ((uint32_t)1 << 20)

enum local_state {
    LOCAL_UNKNOWN,
    LOCAL_OPEN,
    LOCAL_NONE, /* No server of this machine, or it gave no descriptor. */
};

struct reader_chunk {
    struct gfs_chunk chunk;
    uint32_t length; /* Also of an open one, at the time of the open. */
    _Atomic(enum local_state) state;
    struct local_chunk *local; /* Constant once the state is LOCAL_OPEN. */
};

struct gfs_reader {
    struct fs_reader base;
    struct gfs *gfs;
    char *path; /* Owned. */
    uint64_t file;
    struct mutex mutex; /* Guards opening of descriptors, and layouts. */
    struct reader_chunk *chunks; /* By offset; owned. */
    size_t count;
};

static struct gfs_reader *reader_of(struct fs_reader *base)
{
    return (struct gfs_reader *)base;
}

/* --- opening ------------------------------------------------------------- */

static int ask_length(struct gfs_reader *r,
                      const struct gfs_chunk *c,
                      uint64_t *length,
                      struct err *err)
{
    int rc = gfs__open_length(r->gfs, c, length, err);
    if (rc) {
        err_wrap(err,
                 "%s: chunk %llu, which was being written, has no server that "
                 "says how long it is",
                 r->path, (unsigned long long)c->handle);
        err_hint(err, "start the chunk servers that have it; of one that will "
                      "not return: quarry fs leave --gone");
    }
    return rc;
}

static int
add_chunks(struct gfs_reader *r, const struct gfs_layout *l, struct err *err)
{
    int rc = 0;
    r->chunks = mem_realloc(r->chunks, (r->count + l->chunk_count + 1) *
                                           sizeof(*r->chunks));
    for (size_t i = 0; i < l->chunk_count && rc == 0; i++) {
        struct reader_chunk *c = &r->chunks[r->count];
        uint64_t length = l->chunks[i].length;
        /* An open chunk comes with every page: only the last counts. */
        if (!l->chunks[i].sealed && i + 1 == GFS_LAYOUT_MAX)
            continue;
        if (!l->chunks[i].sealed && !length)
            rc = ask_length(r, &l->chunks[i], &length, err);
        memset(c, 0, sizeof(*c));
        c->chunk = l->chunks[i];
        c->length = (uint32_t)length;
        atomic_init(&c->state,
                    l->chunks[i].sealed ? LOCAL_UNKNOWN : LOCAL_NONE);
        r->base.size_bytes = c->chunk.offset + length;
        r->count++;
    }
    return rc;
}

/* All chunks, page by page. */
static int load_chunks(struct gfs_reader *r, struct slice path, struct err *err)
{
    bool more = true;
    int rc = 0;
    while (rc == 0 && more) {
        struct gfs_layout l;
        struct buf reply = BUF_INIT;
        struct arena a;
        arena_init(&a);
        rc = gfs__layout(r->gfs, path, r->file, r->base.size_bytes, &a, &reply,
                         &l, err);
        if (rc == 0) {
            r->file = l.file;
            rc = add_chunks(r, &l, err);
            more = l.chunk_count == GFS_LAYOUT_MAX;
        }
        arena_close(&a);
        buf_close(&reply);
    }
    return rc;
}

/* The length of a file whose writer has died is unknown for a moment: while its
 * last chunk is being recovered, or some of its servers are away. */
static int
await_chunks(struct gfs_reader *r, struct slice path, struct err *err)
{
    struct world *w = r->gfs->base.world;
    uint64_t until = world_mono_ns(w) + r->gfs->timeout_us * 1000;
    for (;;) {
        int rc = load_chunks(r, path, err);
        if ((rc != ERR_UNAVAILABLE && rc != ERR_ABORTED) ||
            gfs__gives_up(r->gfs, until))
            return rc;
        r->count = 0;
        r->file = 0;
        r->base.size_bytes = 0;
        world_sleep_us(w, RETRY_US);
    }
}

int gfs__open(struct fs *fs,
              const char *path,
              struct fs_reader **out,
              struct err *err)
{
    struct gfs_reader *r = mem_zalloc(1, sizeof(*r));
    struct buf full = BUF_INIT;
    int rc = gfs__path(gfs_of(fs), path, &full, err);
    r->base.fs = fs;
    r->gfs = gfs_of(fs);
    r->path = mem_strdup(path);
    mutex_init(&r->mutex);
    if (rc == 0)
        rc = await_chunks(r, buf_slice(&full), err);
    buf_close(&full);
    if (rc)
        gfs__reader_close(&r->base);
    else
        *out = &r->base;
    return rc;
}

void gfs__reader_close(struct fs_reader *base)
{
    struct gfs_reader *r = reader_of(base);
    for (size_t i = 0; i < r->count; i++)
        gfs__close_local(r->chunks[i].local);
    mem_free(r->chunks);
    mutex_close(&r->mutex);
    mem_free(r->path);
    mem_free(r);
}

/* --- where from ---------------------------------------------------------- */

/* Try the servers of this machine. */
static void find_local(struct gfs_reader *r, struct reader_chunk *c)
{
    const struct gfs_server_set *s = &c->chunk.servers;
    enum local_state found = LOCAL_NONE;
    mutex_lock(&r->mutex);
    if (atomic_load(&c->state) != LOCAL_UNKNOWN) {
        mutex_unlock(&r->mutex);
        return;
    }
    for (unsigned i = 0; i < s->count && found == LOCAL_NONE; i++)
        if (r->gfs->short_circuit &&
            gfs__distance(r->gfs, s->numbers[i]) == 0 &&
            gfs__open_local(r->gfs, &c->chunk, s->numbers[i], &c->local,
                            NULL) == 0)
            found = LOCAL_OPEN;
    atomic_store(&c->state, found);
    mutex_unlock(&r->mutex);
}

/* Query where chunk @c is again: copies move, and proofs expire. */
static int
gfs_read_refresh(struct gfs_reader *r, struct reader_chunk *c, struct err *err)
{
    struct gfs_layout l;
    struct buf reply = BUF_INIT;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = gfs__layout(r->gfs, SLICE_EMPTY, r->file, c->chunk.offset, &a, &reply,
                     &l, err);
    mutex_lock(&r->mutex);
    for (size_t i = 0; rc == 0 && i < l.chunk_count; i++)
        if (l.chunks[i].handle == c->chunk.handle) {
            c->chunk.servers = l.chunks[i].servers;
            c->chunk.version = l.chunks[i].version;
            c->chunk.proof = l.chunks[i].proof;
        }
    mutex_unlock(&r->mutex);
    arena_close(&a);
    buf_close(&reply);
    return rc;
}

static int read_remote(struct gfs_reader *r,
                       struct reader_chunk *c,
                       uint32_t offset,
                       uint32_t len,
                       char *dst,
                       struct err *err)
{
    struct world *w = r->gfs->base.world;
    uint64_t until = world_mono_ns(w) + r->gfs->timeout_us * 1000;
    for (;;) {
        struct gfs_chunk now;
        int rc;
        mutex_lock(&r->mutex);
        now = c->chunk;
        mutex_unlock(&r->mutex);
        rc = gfs__read_remote(r->gfs, &now, offset, len, dst, err);
        if (rc == 0)
            return 0;
        if (gfs__gives_up(r->gfs, until))
            return rc;
        rc = gfs_read_refresh(r, c, err);
        if (rc && rc != ERR_UNAVAILABLE)
            return rc;
        world_sleep_us(w, RETRY_US);
    }
}

static int read_chunk(struct gfs_reader *r,
                      struct reader_chunk *c,
                      uint32_t offset,
                      uint32_t len,
                      char *dst,
                      struct err *err)
{
    struct err why = ERR_INIT;
    int rc = 0;
    if (atomic_load(&c->state) == LOCAL_UNKNOWN)
        find_local(r, c);
    if (atomic_load(&c->state) == LOCAL_OPEN) {
        if (gfs__read_local(c->local, offset, len, dst, &why) == 0) {
            atomic_fetch_add_explicit(&r->gfs->local_reads, 1,
                                      memory_order_relaxed);
            return 0;
        }
        /* Its server finds the damage too, when it is called like the others.
         */
        log_warn(r->gfs->base.world, "gfs", "%s: %s", r->path, why.text);
        atomic_store(&c->state, LOCAL_NONE);
    }
    while (rc == 0 && len > 0) {
        uint32_t step = MIN_OF(len, REMOTE_BYTES);
        rc = read_remote(r, c, offset, step, dst, err);
        offset += step;
        dst += step;
        len -= step;
    }
    return rc;
}

/* The chunk that has the byte @offset. PRE: it is below the size. */
static struct reader_chunk *find_chunk(struct gfs_reader *r, uint64_t offset)
{
    size_t low = 0;
    size_t high = r->count;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (r->chunks[mid].chunk.offset <= offset)
            low = mid;
        else
            high = mid;
    }
    return &r->chunks[low];
}

int gfs__read_at(struct fs_reader *base,
                 uint64_t offset,
                 void *dst,
                 size_t len,
                 size_t *got,
                 struct err *err)
{
    struct gfs_reader *r = reader_of(base);
    *got = 0;
    if (offset >= base->size_bytes)
        return 0;
    len = MIN_OF(len, base->size_bytes - offset);
    while (*got < len) {
        struct reader_chunk *c = find_chunk(r, offset);
        uint32_t at = (uint32_t)(offset - c->chunk.offset);
        uint32_t step = (uint32_t)MIN_OF(len - *got, c->length - at);
        int rc = read_chunk(r, c, at, step, (char *)dst + *got, err);
        if (rc) {
            err_wrap(err, "%s", r->path);
            return rc;
        }
        *got += step;
        offset += step;
    }
    return 0;
}

enum fs_place
gfs__read_place(struct fs_reader *base, uint64_t offset, uint64_t len)
{
    struct gfs_reader *r = reader_of(base);
    enum fs_place place = FS_PLACE_PAGE_CACHE;
    while (len > 0 && place != FS_PLACE_REMOTE) {
        struct reader_chunk *c = find_chunk(r, offset);
        uint32_t at = (uint32_t)(offset - c->chunk.offset);
        uint32_t step = (uint32_t)MIN_OF(len, c->length - at);
        if (atomic_load(&c->state) == LOCAL_UNKNOWN)
            find_local(r, c);
        if (atomic_load(&c->state) != LOCAL_OPEN)
            place = FS_PLACE_REMOTE;
        else if (!gfs__local_is_cached(c->local, at, step))
            place = FS_PLACE_DISK;
        offset += step;
        len -= step;
    }
    return place;
}

void gfs__prefetch(struct fs_reader *r, uint64_t offset, uint64_t len)
{
    (void)r; /* Servers read ahead; a hint need not travel. */
    (void)offset;
    (void)len;
}

/* --- locality ------------------------------------------------------------ */

/* A name that is kept as long as the file system. */
static const char *keep_machine(struct gfs *g, uint16_t number)
{
    const struct known_server *s = id_map_get(&g->servers, number);
    if (!s)
        return NULL;
    for (size_t i = 0; i < g->machine_count; i++)
        if (strcmp(g->machines[i], s->machine) == 0)
            return g->machines[i];
    g->machines =
        mem_realloc(g->machines, (g->machine_count + 1) * sizeof(*g->machines));
    g->machines[g->machine_count] = mem_strdup(s->machine);
    return g->machines[g->machine_count++];
}

size_t gfs__locality(struct fs_reader *base,
                     uint64_t offset,
                     uint64_t len,
                     const char **machines,
                     size_t machines_max)
{
    struct gfs_reader *r = reader_of(base);
    const struct gfs_server_set *s;
    size_t n = 0;
    (void)len; /* Splits of inputs are ranges within one chunk. */
    if (offset >= base->size_bytes)
        return 0;
    s = &find_chunk(r, offset)->chunk.servers;
    mutex_lock(&r->gfs->mutex);
    for (unsigned i = 0; i < s->count && n < machines_max; i++) {
        const char *name = keep_machine(r->gfs, s->numbers[i]);
        if (name)
            machines[n++] = name;
    }
    mutex_unlock(&r->gfs->mutex);
    return n;
}
