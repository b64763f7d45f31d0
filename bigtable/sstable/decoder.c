/* Pooled zstd decompression contexts. */
#include "bigtable/sstable/decoder.h"

#include <string.h>

#include <zstd.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/sstable/dictionary.h"

/* Idle decoders kept, and the largest buffer one may keep. */
#define DECODER_IDLE_MAX      16
#define DECODER_ROOM_KEPT_MAX ((size_t)1 << 20)

struct decoder {
    struct decoder *next; /* In the idle list. */
    ZSTD_DCtx *zstd;
    char *room;
    size_t room_bytes;
};

struct decoder_pool {
    struct mutex mutex; /* Of the list; decoders are taken by any thread. */
    struct decoder *idle;
    size_t idle_count;
};

struct decoder_pool *decoder_pool_new(void)
{
    struct decoder_pool *p = mem_zalloc(1, sizeof(*p));
    mutex_init(&p->mutex);
    return p;
}

static void decoder_free(struct decoder *d)
{
    ZSTD_freeDCtx(d->zstd);
    mem_free(d->room);
    mem_free(d);
}

void decoder_pool_free(struct decoder_pool *p)
{
    while (p->idle) {
        struct decoder *d = p->idle;
        p->idle = d->next;
        decoder_free(d);
    }
    mutex_close(&p->mutex);
    mem_free(p);
}

struct decoder *decoder_take(struct decoder_pool *p)
{
    struct decoder *d;

    mutex_lock(&p->mutex);
    d = p->idle;
    if (d) {
        p->idle = d->next;
        p->idle_count--;
    }
    mutex_unlock(&p->mutex);
    if (!d) {
        d = mem_zalloc(1, sizeof(*d));
        d->zstd = ZSTD_createDCtx();
        if (!d->zstd)
            PANIC("no memory for a zstd context");
    }
    return d;
}

void decoder_give(struct decoder_pool *p, struct decoder *d)
{
    if (d->room_bytes > DECODER_ROOM_KEPT_MAX) {
        mem_free(d->room);
        d->room = NULL;
        d->room_bytes = 0;
    }
    mutex_lock(&p->mutex);
    if (p->idle_count < DECODER_IDLE_MAX) {
        d->next = p->idle;
        p->idle = d;
        p->idle_count++;
        d = NULL;
    }
    mutex_unlock(&p->mutex);
    if (d)
        decoder_free(d);
}

char *decoder_room(struct decoder *d, size_t bytes)
{
    if (bytes > d->room_bytes) {
        mem_free(d->room);
        d->room_bytes = 0;
        d->room = mem_try_alloc(bytes);
        if (!d->room)
            return NULL;
        d->room_bytes = bytes;
    }
    return d->room;
}

int decoder_expand(struct decoder *d,
                   enum block_codec codec,
                   const struct dictionary *dictionary,
                   struct slice stored,
                   char *to,
                   size_t raw_bytes,
                   struct err *err)
{
    size_t n;

    if (codec == BLOCK_RAW) {
        if (stored.len != raw_bytes)
            return err_set(err, ERR_CORRUPT, "raw block of another length");
        memcpy(to, stored.data, raw_bytes);
        return 0;
    }
    if (codec == BLOCK_ZSTD) {
        n = ZSTD_decompressDCtx(d->zstd, to, raw_bytes, stored.data,
                                stored.len);
    } else {
        if (!dictionary)
            return err_set(err, ERR_CORRUPT,
                           "block needs a dictionary, and "
                           "the table has none");
        n = ZSTD_decompress_usingDDict(d->zstd, to, raw_bytes, stored.data,
                                       stored.len, dictionary->decode);
    }
    if (ZSTD_isError(n))
        return err_set(err, ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(n));
    if (n != raw_bytes)
        return err_set(err, ERR_CORRUPT, "block of %zu bytes, not %zu", n,
                       raw_bytes);
    return 0;
}
