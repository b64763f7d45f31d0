/* What goes on when nobody asks: all chunks are read again and again, slowly,
 * so that damage is found while there are other copies; and bytes that nobody
 * synced are synced after a while.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/state.h"

#define PIECE_BYTES CHUNK_BLOCK_BYTES * 4
/* How often the keeper looks around. */
#define TURN_US UINT64_C(200000)

struct scrub {
    uint64_t handle; /* Being read; 0: choose the next one. */
    uint64_t last;   /* The one before. */
    uint32_t offset;
};

/* The sealed chunk with the smallest number above @after, or the smallest of
 * all. Pinned; NULL: there is none. */
static struct stored_chunk *next_chunk(struct chunkserver *cs, uint64_t after)
{
    struct stored_chunk *above = NULL;
    struct stored_chunk *first = NULL;
    struct stored_chunk *c;
    size_t at = 0;
    while ((c = id_map_next(&cs->store->chunks, &at))) {
        if (!c->sealed || c->damaged)
            continue;
        if (!first || c->handle < first->handle)
            first = c;
        if (c->handle > after && (!above || c->handle < above->handle))
            above = c;
    }
    c = above ? above : first;
    return c ? chunk_store_get(cs->store, c->handle) : NULL;
}

/* Read one more piece. Returns its bytes. */
static uint32_t scrub_piece(struct chunkserver *cs, struct scrub *s, char *dst)
{
    struct stored_chunk *c = s->handle ? chunk_store_get(cs->store, s->handle)
                                       : next_chunk(cs, s->last);
    struct err err = ERR_INIT;
    uint32_t len = 0;
    int rc;
    if (!c || c->handle != s->handle)
        s->offset = 0;
    s->handle = 0;
    if (!c)
        return 0;
    rc = chunk_store_file(cs->store, c, &err);
    if (rc == 0 && s->offset < c->file->length) {
        len = MIN_OF(PIECE_BYTES, c->file->length - s->offset);
        rc = chunk_file_read(c->file, s->offset, len, dst, &err);
        if (rc == ERR_CORRUPT)
            chunk_store_note_damage(cs->store, c, &err);
    }
    s->offset += len;
    s->last = c->handle;
    if (rc == 0 && len > 0 && s->offset < c->file->length)
        s->handle = c->handle;
    chunk_store_put(cs->store, c);
    return len;
}

static void scrub(struct chunkserver *cs, struct scrub *s)
{
    uint64_t budget = cs->scrub_bytes_per_s * TURN_US / 1000000;
    char *dst = mem_alloc(PIECE_BYTES);
    uint32_t len = 1;
    while (budget > 0 && len > 0 && !cs->stopping) {
        len = scrub_piece(cs, s, dst);
        cs->scrubbed_bytes += len;
        budget -= MIN_OF(budget, len);
    }
    mem_free(dst);
}

static void sync_chunk(struct chunkserver *cs, struct stored_chunk *c)
{
    c->pins++;
    mutex_lock(&c->lock);
    if (c->file && c->dirty_us && !c->failed && !c->damaged) {
        int rc = chunk_file_sync(c->file, NULL);
        c->dirty_us = 0;
        if (rc) {
            c->failed = rc;
            chunk_store_report(cs->store, c);
        }
    }
    mutex_unlock(&c->lock);
    chunk_store_put(cs->store, c);
}

/* Only chunks with open files can be dirty. */
static void sync_old(struct chunkserver *cs)
{
    uint64_t now = world_now_us(cs->world);
    for (size_t i = 0; i < cs->store->open_count && !cs->stopping; i++) {
        struct stored_chunk *c = cs->store->open[i];
        if (c->dirty_us && c->dirty_us + cs->sync_after_us <= now)
            sync_chunk(cs, c); /* The array may change: see some next time. */
    }
}

void chunkserver_run_keeper(void *arg)
{
    struct chunkserver *cs = arg;
    struct scrub s = {.handle = 0};
    while (!cs->stopping && fiber_check(NULL) == 0) {
        world_sleep_us(cs->world, TURN_US);
        if (cs->stopping)
            return;
        sync_old(cs);
        chunk_store_sweep(cs->store);
        chunkserver_sweep_copies(cs);
        scrub(cs, &s);
    }
}
