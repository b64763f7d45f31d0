/* Background work on stored chunks: a scrub reads all chunks again and again,
 * slowly, so that damage is found while other copies exist (GFS 5.2), and bytes
 * that nobody synced are synced after a while.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

#define PIECE_BYTES (CHUNK_BLOCK_BYTES * 4)
/* Between turns of the maintenance fiber. */
#define TURN_US UINT64_C(250000)
#define REST_US UINT64_C(1000000) /* With nothing to sync or to scrub. */
/* Chunks chosen by one walk over the table. */
#define BATCH 64

struct scrub {
    uint64_t handle;       /* Being read; 0: choose the next one. */
    uint64_t last;         /* The last one that was read. */
    uint64_t batch[BATCH]; /* The next ones, ascending. */
    size_t count;
    size_t at;
    uint32_t offset;
    bool in_round;
    uint64_t round_us; /* When the next round may begin. */
};

/* Keep the smallest handles, in order. */
static void add_to_batch(struct scrub *s, uint64_t handle)
{
    size_t i = s->count;
    if (i == BATCH && handle >= s->batch[BATCH - 1])
        return;
    if (i < BATCH)
        s->count++;
    else
        i--;
    for (; i > 0 && s->batch[i - 1] > handle; i--)
        s->batch[i] = s->batch[i - 1];
    INVARIANT(i < BATCH);
    INVARIANT(s->count <= BATCH);
    s->batch[i] = handle;
}

static void fill_batch(struct chunkserver *cs, struct scrub *s)
{
    struct stored_chunk *c;
    size_t at = 0;
    s->at = s->count = 0;
    while ((c = id_map_next(&cs->store->chunks, &at)))
        if (!c->damaged && c->handle > s->last)
            add_to_batch(s, c->handle);
}

/* The next chunk, pinned; NULL: the round is over. Open chunks are included: a
 * log may be open for days, and each of its copies may decay meanwhile. */
static struct stored_chunk *next_chunk(struct chunkserver *cs, struct scrub *s)
{
    for (;;) {
        if (s->at == s->count)
            fill_batch(cs, s);
        if (s->count == 0)
            return NULL;
        while (s->at < s->count) {
            struct stored_chunk *c =
                chunk_store_get(cs->store, s->batch[s->at++]);
            if (c && !c->damaged)
                return c;
            if (c)
                chunk_store_put(cs->store, c);
        }
        INVARIANT(s->batch[s->count - 1] > s->last);
        s->last = s->batch[s->count - 1];
    }
}

/* Read the next piece; false when the round is over. */
static bool scrub_piece(struct chunkserver *cs, struct scrub *s, char *dst)
{
    struct stored_chunk *c =
        s->handle ? chunk_store_get(cs->store, s->handle) : next_chunk(cs, s);
    struct err err = ERR_INIT;
    uint32_t len = 0;
    int rc;
    if (s->handle && !c) { /* It was deleted meanwhile. */
        s->handle = 0;
        return true;
    }
    if (!c)
        return false;
    if (c->handle != s->handle)
        s->offset = 0;
    s->handle = 0;
    rc = chunk_store_file(cs->store, c, &err);
    if (rc == 0 && s->offset < c->file->length) {
        len = MIN_OF(PIECE_BYTES, c->file->length - s->offset);
        rc = chunk_file_read(c->file, s->offset, len, dst, &err);
        if (rc == ERR_CORRUPT)
            chunk_store_note_damage(cs->store, c, &err);
    }
    INVARIANT(len <= PIECE_BYTES);
    s->offset += len;
    s->last = c->handle;
    if (rc == 0 && len > 0 && s->offset < c->file->length)
        s->handle = c->handle;
    cs->scrubbed_bytes += len;
    chunk_store_put(cs->store, c);
    return true;
}

/* A piece costs the same however short it is: opening is the cost of small
 * chunks, and other fibers wait meanwhile. */
static void scrub_store(struct chunkserver *cs, struct scrub *s)
{
    PRE(s->count <= BATCH);
    uint64_t budget = cs->scrub_bytes_per_s * TURN_US / 1000000;
    uint64_t now = world_mono_ns(cs->world) / 1000;
    char *dst;
    if (!s->in_round && now < s->round_us)
        return;
    if (!s->in_round)
        *s = (struct scrub){.in_round = true,
                            .round_us = now + cs->scrub_round_us};
    dst = mem_alloc(PIECE_BYTES);
    while (budget > 0 && s->in_round && !cs->stopping) {
        s->in_round = scrub_piece(cs, s, dst);
        budget -= MIN_OF(budget, PIECE_BYTES);
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

/* Bytes of a writer of this machine are synced after a while as well. */
static void look_at_grant(struct chunkserver *cs, struct stored_chunk *c)
{
    c->pins++;
    if (chunkserver_absorb(cs, c, NULL))
        c->dirty_us =
            MAX_OF(c->dirty_us, UINT64_C(1)); /* The sync will report it. */
    chunk_store_put(cs->store, c);
}

/* Only chunks with open files can be dirty. */
static void sync_old(struct chunkserver *cs)
{
    uint64_t now = world_now_us(cs->world);
    for (size_t i = 0; i < cs->store->open_count && !cs->stopping; i++) {
        struct stored_chunk *c = cs->store->open[i];
        INVARIANT(c->file); /* INV-2 of chunk_store.h */
        if (c->file->grant.open)
            look_at_grant(cs, c);
    }
    for (size_t i = 0; i < cs->store->open_count && !cs->stopping; i++) {
        struct stored_chunk *c = cs->store->open[i];
        INVARIANT(c->file); /* INV-2 of chunk_store.h */
        if (c->dirty_us && c->dirty_us + cs->sync_after_us <= now)
            sync_chunk(cs,
                       c); /* The array may change: the rest comes next time. */
    }
}

/* May a chunk have bytes to sync within the next turn? */
static bool is_written(const struct chunkserver *cs)
{
    for (size_t i = 0; i < cs->store->open_count; i++)
        if (cs->store->open[i]->file->grant.open ||
            cs->store->open[i]->dirty_us)
            return true;
    return false;
}

void chunkserver_run_maintenance(void *arg)
{
    struct chunkserver *cs = arg;
    struct scrub s = {.handle = 0};
    while (!cs->stopping && fiber_check(NULL) == 0) {
        world_sleep_to_tick(cs->world,
                            s.in_round || is_written(cs) ? TURN_US : REST_US);
        if (cs->stopping)
            return;
        sync_old(cs);
        chunk_store_sweep(cs->store);
        chunkserver_sweep_copies(cs);
        scrub_store(cs, &s);
    }
}
