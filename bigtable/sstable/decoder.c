/* Pooled decompression contexts, one of each compression in a decoder, made
 * when the first block of that compression is read.
 */
#include "bigtable/sstable/decoder.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/sstable/sstable_codec.h"

/* Idle decoders kept, and the largest buffer one may keep. */
#define DECODER_IDLE_MAX      16
#define DECODER_ROOM_KEPT_MAX ((size_t)1 << 20)

struct decoder {
    struct decoder *next;            /* In the idle list. */
    void *states[COMPRESSION_COUNT]; /* NULL until it is needed. */
    char *room;
    size_t room_bytes;
};

struct decoder_pool {
    struct mutex mutex; /* Of the list; decoders are taken by any thread. */
    struct decoder *idle;
    size_t idle_count; /* INV-1: at most DECODER_IDLE_MAX. */
    size_t out_count;  /* INV-2: those taken and not given back. */
};

struct decoder_pool *decoder_pool_new(void)
{
    struct decoder_pool *p = mem_zalloc(1, sizeof(*p));
    mutex_init(&p->mutex);
    return p;
}

static void decoder_free(struct decoder *d)
{
    PRE(d->room || d->room_bytes == 0);
    for (int i = 0; i < COMPRESSION_COUNT; i++)
        if (d->states[i])
            block_codec_ops(
                block_codec_find((enum compression)i, BLOCK_NEEDS_NOTHING))
                ->decoder_free(d->states[i]);
    mem_free(d->room);
    mem_free(d);
}

void decoder_pool_free(struct decoder_pool *p)
{
    PRE(p->out_count == 0); /* INV-2 */
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
    INVARIANT(!d == (p->idle_count == 0));
    if (d) {
        p->idle = d->next;
        p->idle_count--;
    }
    p->out_count++;
    mutex_unlock(&p->mutex);
    return d ? d : mem_zalloc(1, sizeof(*d));
}

void decoder_give(struct decoder_pool *p, struct decoder *d)
{
    PRE(d);
    if (d->room_bytes > DECODER_ROOM_KEPT_MAX) {
        mem_free(d->room);
        d->room = NULL;
        d->room_bytes = 0;
    }
    mutex_lock(&p->mutex);
    PRE(p->out_count > 0); /* INV-2 */
    p->out_count--;
    if (p->idle_count < DECODER_IDLE_MAX) {
        d->next = p->idle;
        p->idle = d;
        p->idle_count++;
        d = NULL;
    }
    INVARIANT(p->idle_count <= DECODER_IDLE_MAX); /* INV-1 */
    mutex_unlock(&p->mutex);
    if (d)
        decoder_free(d);
}

char *decoder_room(struct decoder *d, size_t bytes)
{
    PRE(d->room || d->room_bytes == 0);
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
                   const struct block_context *context,
                   struct slice stored,
                   char *to,
                   size_t raw_bytes,
                   struct err *err)
{
    const struct block_codec_ops *ops = block_codec_ops(codec);
    void **state;

    if (codec == BLOCK_RAW) {
        if (stored.len != raw_bytes)
            return err_set(err, ERR_CORRUPT, "raw block of another length");
        memcpy(to, stored.data, raw_bytes);
        return 0;
    }
    PRE(ops);
    if (ops->need == BLOCK_NEEDS_DICTIONARY && !context->dictionary)
        return err_set(err, ERR_CORRUPT,
                       "block needs a dictionary, and "
                       "the table has none");
    state = &d->states[ops->compression];
    if (!*state)
        *state = ops->decoder_new();
    return ops->expand(*state, stored, context, to, raw_bytes, err);
}
