/* Copies of sealed chunks from other servers, ordered by the namenode (GFS
 * 4.3): a few at a time and at a bounded rate, so that clients are not starved.
 * A copy is written beside the chunks, verified by its checksums, and moved in
 * when whole.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

/* One read from the source. */
#define PIECE_BYTES     ((uint32_t)1 << 20)
#define READ_TIMEOUT_US UINT64_C(10000000)

/* A copy under way. */
struct copying {
    struct chunkserver *cs;
    struct copy_order *order; /* Owned. */
};

static void free_order(struct copy_order *o)
{
    for (size_t i = 0; i < o->source_count; i++)
        mem_free(o->sources[i]);
    mem_free(o);
}

/* Fetch up to PIECE_BYTES at @offset into @data. */
static int chunk_copy_fetch(struct chunkserver *cs,
                            const struct copy_order *o,
                            const char *source,
                            uint32_t offset,
                            struct buf *data,
                            struct err *err)
{
    PRE(offset < o->length);
    struct chunk_call call = {.handle = o->handle,
                              .version = o->version,
                              .offset = offset,
                              .length =
                                  MIN_OF(o->length - offset, PIECE_BYTES)};
    struct buf body = BUF_INIT;
    int rc;
    chunk_call_put(&call, &body);
    buf_clear(data);
    rc = peers_call(cs->peers, slice_str(source), CHUNK_READ, READ_TIMEOUT_US,
                    buf_slice(&body), SLICE_EMPTY, NULL, data, err);
    if (rc == 0 && data->len != call.length)
        rc = err_set(err, ERR_CORRUPT, "%s gave %zu of %llu bytes", source,
                     data->len, (unsigned long long)call.length);
    buf_close(&body);
    return rc;
}

static int fetch_all(struct chunkserver *cs,
                     const struct copy_order *o,
                     const char *source,
                     struct chunk_file *f,
                     struct err *err)
{
    struct buf data = BUF_INIT;
    int rc = 0;
    while (rc == 0 && f->length < o->length) {
        rc = cs->stopping
                 ? err_set(err, ERR_CANCELLED, "stopping")
                 : chunk_copy_fetch(cs, o, source, f->length, &data, err);
        if (rc == 0)
            rc = chunk_file_append(f, buf_slice(&data), NULL, err);
        if (rc == 0 && cs->copy_bytes_per_s)
            world_sleep_us(cs->world,
                           data.len * 1000000 / cs->copy_bytes_per_s);
    }
    INVARIANT(rc || f->length >= o->length);
    buf_close(&data);
    return rc;
}

void chunkserver_sweep_copies(struct chunkserver *cs)
{
    if (!cs->copies_left || cs->copying || cs->copies)
        return;
    cs->copies_left = chunk_store_clear_copies(cs->store) != 0;
}

static int copy_from(struct chunkserver *cs,
                     const struct copy_order *o,
                     const char *source,
                     struct err *err)
{
    char *path = chunk_store_copy_path(cs->store, o->handle);
    struct chunk_file *f;
    PRE(cs->copying > 0);
    PRE(cs->copying <= COPIES_MAX); /* INV-2 */
    int rc = chunk_file_create(cs->world, path, o->handle, o->version, &f, err);
    if (rc == 0) {
        rc = fetch_all(cs, o, source, f, err);
        if (rc == 0)
            rc = chunk_file_seal(f, o->length, err);
        if (rc == 0)
            rc = chunk_store_adopt(cs->store, f, err);
        else
            chunk_file_close(f);
        (void)!(rc ? world_remove(cs->world, path, NULL) : 0);
    }
    /* The maintenance fiber removes what is left. */
    cs->copies_left |= rc != 0;
    mem_free(path);
    return rc;
}

/* Does the server have already the replica that the order wants? */
static bool is_here(struct chunkserver *cs, const struct copy_order *o)
{
    const struct stored_chunk *c = id_map_get(&cs->store->chunks, o->handle);
    INVARIANT(!c || !c->deleted); /* INV-1 of chunk_store.h */
    return c && !c->damaged && !c->failed && c->sealed &&
           c->version >= o->version && c->length == o->length;
}

static void start_copies(struct chunkserver *cs);

static void run_copy(void *arg)
{
    struct copying *k = arg;
    struct chunkserver *cs = k->cs;
    struct err err = ERR_INIT;
    int rc = is_here(cs, k->order) ? 0 : ERR_UNAVAILABLE;
    for (size_t i = 0; i < k->order->source_count && rc && !cs->stopping; i++) {
        rc = copy_from(cs, k->order, k->order->sources[i], &err);
        if (rc == 0)
            cs->copied_chunks++;
    }
    if (rc && !cs->stopping) {
        log_warn(cs->world, "chunk", "cannot copy chunk %llu: %s",
                 (unsigned long long)k->order->handle, err.text);
        /* So that the namenode does not wait for it. */
        chunk_store_report_absent(cs->store, k->order->handle);
    }
    free_order(k->order);
    mem_free(k);
    INVARIANT(cs->copying > 0);
    cs->copying--;
    start_copies(cs);
    if (cs->closer && cs->copying == 0)
        fiber_wake(cs->closer);
}

static void start_copies(struct chunkserver *cs)
{
    while (cs->copies && cs->copying < COPIES_MAX && !cs->stopping) {
        INVARIANT(cs->copy_count > 0);
        struct copying *k = mem_zalloc(1, sizeof(*k));
        k->cs = cs;
        k->order = cs->copies;
        cs->copies = k->order->next;
        cs->copy_count--;
        cs->copying++;
        fiber_detach(fiber_start(loop_self(), "copy", run_copy, k));
    }
}

static bool is_queued(const struct chunkserver *cs, uint64_t handle)
{
    for (const struct copy_order *o = cs->copies; o; o = o->next)
        if (o->handle == handle)
            return true;
    return false;
}

void chunkserver_add_copy(struct chunkserver *cs, const struct gfs_order *o)
{
    struct copy_order **at = &cs->copies;
    struct copy_order *c;
    if (cs->copy_count >= COPY_QUEUE_MAX || is_queued(cs, o->handle))
        return; /* It will be ordered again. */
    c = mem_zalloc(1, sizeof(*c));
    c->handle = o->handle;
    c->version = o->version;
    c->length = o->length;
    PRE(o->source_count <= GFS_REPLICAS_MAX);
    for (size_t i = 0; i < o->source_count; i++)
        c->sources[c->source_count++] =
            mem_strndup(o->sources[i].data, o->sources[i].len);
    while (*at)
        at = &(*at)->next;
    *at = c;
    cs->copy_count++;
    INVARIANT(cs->copy_count <= COPY_QUEUE_MAX);
    start_copies(cs);
}

void chunkserver_end_copies(struct chunkserver *cs)
{
    while (cs->copies) {
        struct copy_order *o = cs->copies;
        cs->copies = o->next;
        free_order(o);
    }
    cs->copy_count = 0;
    cs->closer = fiber_self();
    while (cs->copying)
        fiber_park();
    POST(cs->copying == 0);
    cs->closer = NULL;
}
