/* Reading a file that a server has: blocks of BLOCK_BYTES that are fetched in
 * parallel ahead of a reader who reads from front to back, and exact ranges for
 * one who jumps.
 *
 * Invariants of struct remote_reader, under its mutex
 *     INV-1. No two slots have the same block.
 *     INV-2. A slot that is being filled is not taken for another block, and
 *            its memory stays.
 *     INV-3. loading is the number of slots that are being filled.
 */
#include "gfs-lite/objects/remote_reader.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"

#define BLOCK_BYTES ((size_t)4 << 20)
/* Blocks in memory, and of these the most that are fetched ahead. */
#define SLOTS     10
#define AHEAD_MAX 8

enum slot_state {
    SLOT_EMPTY,
    SLOT_LOADING,
    SLOT_READY,
    SLOT_FAILED,
};

struct remote_reader;

struct block_slot {
    struct remote_reader *reader;
    enum slot_state state;
    uint64_t block; /* Its number in the file. */
    uint64_t used;  /* When, as a count of uses. */
    char *data;     /* Owned; BLOCK_BYTES, or the size of a small file. */
    unsigned users; /* Readers that copy from it: it stays. */
    struct object_read read;
};

struct remote_reader {
    struct fs_reader base;
    struct remote_source source;
    char *path; /* Owned. */
    char etag[OBJECT_ETAG_BYTES];
    struct mutex mutex;  /* Of all below. */
    struct cond changed; /* A slot was filled, or is used no more. */
    struct block_slot slots[SLOTS];
    unsigned loading;
    uint64_t uses;
    uint64_t next;  /* Where a reader from front to back is. */
    unsigned ahead; /* Blocks to fetch ahead of it. */
};

static struct remote_reader *remote_reader(struct fs_reader *r)
{
    return (struct remote_reader *)r;
}

struct fs_reader *remote_reader_new(struct fs *fs,
                                    const char *key,
                                    const char *etag,
                                    uint64_t size_bytes,
                                    struct remote_source source)
{
    struct remote_reader *r = mem_zalloc(1, sizeof(*r));
    PRE(strlen(etag) < sizeof(r->etag));
    r->base.fs = fs;
    r->base.size_bytes = size_bytes;
    r->source = source;
    r->path = mem_strdup(key);
    memcpy(r->etag, etag, strlen(etag) + 1);
    mutex_init(&r->mutex);
    cond_init(&r->changed);
    for (size_t i = 0; i < SLOTS; i++)
        r->slots[i].reader = r;
    return &r->base;
}

void remote_reader_close(struct fs_reader *base)
{
    struct remote_reader *r = remote_reader(base);
    mutex_lock(&r->mutex);
    for (size_t i = 0; i < SLOTS; i++)
        if (r->slots[i].state == SLOT_LOADING)
            object_read_stop(&r->slots[i].read);
    while (r->loading > 0)
        cond_wait(&r->changed, &r->mutex);
    mutex_unlock(&r->mutex);
    for (size_t i = 0; i < SLOTS; i++) {
        PRE(r->slots[i].users == 0);
        mem_free(r->slots[i].data);
    }
    cond_close(&r->changed);
    mutex_close(&r->mutex);
    mem_free(r->path);
    mem_free(r);
}

/* --- blocks -------------------------------------------------------------- */

static size_t block_length(const struct remote_reader *r, uint64_t block)
{
    uint64_t at = block * BLOCK_BYTES;
    PRE(at < r->base.size_bytes);
    return (size_t)MIN_OF(BLOCK_BYTES, r->base.size_bytes - at);
}

static void block_done(struct object_read *read)
{
    struct block_slot *s = CONTAINER_OF(read, struct block_slot, read);
    struct remote_reader *r = s->reader;
    mutex_lock(&r->mutex);
    INVARIANT(s->state == SLOT_LOADING);
    INVARIANT(r->loading > 0); /* INV-3 */
    s->state = read->rc ? SLOT_FAILED : SLOT_READY;
    r->loading--;
    cond_broadcast(&r->changed);
    mutex_unlock(&r->mutex);
}

/* PRE: the mutex is held. */
static struct block_slot *find_block(struct remote_reader *r, uint64_t block)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (r->slots[i].state != SLOT_EMPTY && r->slots[i].block == block)
            return &r->slots[i];
    return NULL;
}

/* The slot that was used longest ago, and may be taken; NULL: there is none.
 * PRE: the mutex is held. */
static struct block_slot *oldest_slot(struct remote_reader *r)
{
    struct block_slot *best = NULL;
    for (size_t i = 0; i < SLOTS; i++) {
        struct block_slot *s = &r->slots[i];
        if (s->state == SLOT_LOADING || s->users > 0)
            continue;
        if (s->state == SLOT_EMPTY)
            return s;
        if (!best || s->used < best->used)
            best = s;
    }
    return best;
}

/* Have @block fetched, unless it is there, or no slot is free. PRE: the mutex
 * is held. */
static struct block_slot *load_block(struct remote_reader *r, uint64_t block)
{
    struct block_slot *s = find_block(r, block);
    if (s || !(s = oldest_slot(r)))
        return s;
    if (!s->data)
        s->data = mem_alloc(
            (size_t)MIN_OF(BLOCK_BYTES, MAX_OF(r->base.size_bytes, 1)));
    s->state = SLOT_LOADING; /* INV-2 */
    s->block = block;
    s->used = ++r->uses;
    s->read = (struct object_read){.key = r->path,
                                   .etag = r->etag,
                                   .offset = block * BLOCK_BYTES,
                                   .dst = s->data,
                                   .len = block_length(r, block),
                                   .done = block_done};
    r->loading++;
    r->source.start(r->source.ctx, &s->read);
    return s;
}

/* Copy what @block has of [@offset, @offset + @len). PRE: the mutex is held,
 * and is while nothing waits. */
static int copy_block(struct remote_reader *r,
                      uint64_t block,
                      uint64_t offset,
                      char *dst,
                      size_t len,
                      struct err *err)
{
    int rc = 0;
    for (;;) {
        struct block_slot *s = load_block(r, block);
        if (s && s->state == SLOT_READY) {
            size_t begin = (size_t)(offset - block * BLOCK_BYTES);
            s->used = ++r->uses;
            if (begin + len > s->read.got)
                return err_set(err, ERR_CORRUPT,
                               "%s: the server sent less than its length",
                               r->path);
            s->users++;
            mutex_unlock(&r->mutex);
            memcpy(dst, s->data + begin, len);
            mutex_lock(&r->mutex);
            s->users--;
            cond_broadcast(&r->changed);
            return 0;
        }
        if (s && s->state == SLOT_FAILED) {
            rc = err_copy(err, &s->read.err);
            s->state = SLOT_EMPTY;
            return rc;
        }
        cond_wait(&r->changed, &r->mutex);
    }
}

/* Fetch blocks behind @block for a reader from front to back, more of them each
 * time. PRE: the mutex is held. */
static void load_ahead(struct remote_reader *r, uint64_t block)
{
    uint64_t end = (r->base.size_bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    for (uint64_t b = block + 1; b < end && b <= block + r->ahead; b++)
        if (!load_block(r, b))
            return;
}

static int read_blocks(struct remote_reader *r,
                       uint64_t offset,
                       char *dst,
                       size_t len,
                       struct err *err)
{
    int rc = 0;
    while (len > 0 && rc == 0) {
        uint64_t block = offset / BLOCK_BYTES;
        size_t n = (size_t)MIN_OF(len, (block + 1) * BLOCK_BYTES - offset);
        (void)load_block(r, block);
        load_ahead(r, block);
        rc = copy_block(r, block, offset, dst, n, err);
        if ((offset + n) % BLOCK_BYTES == 0)
            r->ahead = MIN_OF(2 * r->ahead + 1, AHEAD_MAX);
        offset += n;
        dst += n;
        len -= n;
    }
    return rc;
}

struct waiting_read {
    struct object_read read;
    struct mutex mutex;
    struct cond ended;
    bool done;
};

static void wake_reader(struct object_read *r)
{
    struct waiting_read *w = CONTAINER_OF(r, struct waiting_read, read);
    mutex_lock(&w->mutex);
    w->done = true;
    cond_signal(&w->ended);
    mutex_unlock(&w->mutex);
}

/* An exact range, for one who jumps. */
static int read_range(struct remote_reader *r,
                      uint64_t offset,
                      void *dst,
                      size_t len,
                      struct err *err)
{
    struct waiting_read w = {.read = {.key = r->path,
                                      .etag = r->etag,
                                      .offset = offset,
                                      .dst = dst,
                                      .len = len,
                                      .done = wake_reader}};
    mutex_init(&w.mutex);
    cond_init(&w.ended);
    r->source.start(r->source.ctx, &w.read);
    mutex_lock(&w.mutex);
    while (!w.done)
        cond_wait(&w.ended, &w.mutex);
    mutex_unlock(&w.mutex);
    cond_close(&w.ended);
    mutex_close(&w.mutex);
    if (w.read.rc)
        return err_copy(err, &w.read.err);
    if (w.read.got < len)
        return err_set(err, ERR_CORRUPT,
                       "%s: the server sent less than its length", r->path);
    return 0;
}

int remote_reader_read_at(struct fs_reader *base,
                          uint64_t offset,
                          void *dst,
                          size_t len,
                          size_t *got,
                          struct err *err)
{
    struct remote_reader *r = remote_reader(base);
    bool in_order;
    bool there;
    int rc;
    *got = 0;
    len = offset < base->size_bytes
              ? (size_t)MIN_OF((uint64_t)len, base->size_bytes - offset)
              : 0;
    if (len == 0)
        return 0;
    mutex_lock(&r->mutex);
    in_order = offset == r->next;
    there = find_block(r, offset / BLOCK_BYTES) != NULL;
    if (!in_order && !there)
        r->ahead = 0;
    r->next = offset + len;
    rc = in_order || there ? read_blocks(r, offset, dst, len, err) : 0;
    mutex_unlock(&r->mutex);
    if (in_order || there) {
        *got = rc ? 0 : len;
        return rc;
    }
    rc = read_range(r, offset, dst, len, err);
    *got = rc ? 0 : len;
    return rc;
}

enum fs_place
remote_reader_place(struct fs_reader *base, uint64_t offset, uint64_t len)
{
    (void)base;
    (void)offset;
    (void)len;
    return FS_PLACE_REMOTE;
}

void remote_reader_prefetch(struct fs_reader *base,
                            uint64_t offset,
                            uint64_t len)
{
    struct remote_reader *r = remote_reader(base);
    uint64_t end = MIN_OF(base->size_bytes, offset + len);
    mutex_lock(&r->mutex);
    for (uint64_t b = offset / BLOCK_BYTES; b * BLOCK_BYTES < end; b++)
        if (r->loading >= AHEAD_MAX || !load_block(r, b))
            break;
    mutex_unlock(&r->mutex);
}

size_t remote_reader_locality(struct fs_reader *r,
                              uint64_t offset,
                              uint64_t len,
                              const char **machines,
                              size_t machines_max)
{
    (void)r;
    (void)offset;
    (void)len;
    (void)machines;
    (void)machines_max;
    return 0;
}
