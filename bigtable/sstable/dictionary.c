/* Training by ZDICT's fast cover with fixed parameters: its search over
 * parameters takes seconds, and gains a few percent of what the dictionary
 * does.
 *
 * Three steps keep the price down where nothing is gained. A probe compresses
 * three blocks, each with another one as its dictionary; data whose blocks have
 * nothing in common (or are incompressible) stop there. Then the
 * dictionary is trained on most of the sample, and last it must win, its own
 * size counted, on blocks it has not seen.
 */
#include "bigtable/sstable/dictionary.h"

#define ZDICT_STATIC_LINKING_ONLY
#include <string.h>
#include <zdict.h>

#include <zstd.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

/* Every n-th block is kept from training, to judge by. */
#define HOLD_OUT_EVERY 8
/* A table is taken to be this many times its sample, when the dictionary's own
 * size is spread over it. */
#define TABLE_PER_SAMPLE 4
/* The least gain worth the memory and time, in percent. */
#define GAIN_PERCENT_MIN 4
#define BLOCKS_MIN       16

static void dictionary_check(const struct dictionary *d)
{
    INVARIANT(!d->encode == (d->decode != NULL)); /* INV-1 */
    INVARIANT(!d->encode == (d->bytes.len == 0));
}

static struct dictionary *
dictionary_of(const void *bytes, size_t len, int level)
{
    PRE(len > 0);
    PRE(len <= DICTIONARY_BYTES_MAX);

    struct dictionary *d = mem_zalloc(1, sizeof(*d));
    char *copy = mem_alloc(len);

    memcpy(copy, bytes, len);
    d->bytes = slice_make(copy, len);
    d->encode = ZSTD_createCDict(copy, len, level);
    if (!d->encode)
        PANIC("no memory for a compression dictionary");
    dictionary_check(d);
    return d;
}

/* Compressed size of @block with @d (may be NULL) at @level. */
static size_t compressed_bytes(ZSTD_CCtx *zstd,
                               struct slice block,
                               const struct dictionary *d,
                               int level,
                               struct buf *room)
{
    size_t bound = ZSTD_compressBound(block.len);
    char *to;
    size_t n;
    PRE(block.len > 0);
    PRE(!d || d->encode); /* INV-1 */

    buf_clear(room);
    to = buf_reserve(room, bound);
    n = d ? ZSTD_compress_usingCDict(zstd, to, bound, block.data, block.len,
                                     d->encode)
          : ZSTD_compressCCtx(zstd, to, bound, block.data, block.len, level);
    return ZSTD_isError(n) ? block.len : MIN_OF(n, block.len);
}

static bool dictionary_gains(size_t with, size_t without)
{
    PRE(without > 0);
    return with * 100 <= without * (100 - GAIN_PERCENT_MIN);
}

/* Do two blocks from different places have anything in common? */
static bool dictionary_probe(ZSTD_CCtx *zstd,
                             const struct slice *blocks,
                             size_t count,
                             int level,
                             struct buf *room)
{
    size_t with = 0;
    size_t without = 0;

    PRE(count >= 4); /* Quarters of it differ. */
    for (size_t i = 1; i <= 3; i++) {
        struct slice from = blocks[count * i / 4 - 1];
        struct slice to =
            blocks[count * i / 4 + 1 < count ? count * i / 4 + 1 : count - 1];
        struct dictionary *d = dictionary_of(
            from.data, MIN_OF(from.len, DICTIONARY_BYTES_MAX), level);
        with += compressed_bytes(zstd, to, d, level, room);
        without += compressed_bytes(zstd, to, NULL, level, room);
        dictionary_free(d);
    }
    return dictionary_gains(with, without);
}

static struct dictionary *
dictionary_train_level(const struct slice *blocks, size_t count, int level)
{
    ZDICT_fastCover_params_t params = {.k = 256, .d = 8, .f = 18, .accel = 4};
    size_t *sizes = mem_alloc(count * sizeof(*sizes));
    struct buf samples = BUF_INIT;
    struct dictionary *d = NULL;
    size_t used = 0;
    size_t capacity;
    char *bytes;
    size_t n;

    PRE(count >= BLOCKS_MIN);
    for (size_t i = 0; i < count; i++) {
        if (i % HOLD_OUT_EVERY == 0)
            continue;
        buf_append_slice(&samples, blocks[i]);
        sizes[used++] = blocks[i].len;
    }
    INVARIANT(used < count);
    capacity = MIN_OF(DICTIONARY_BYTES_MAX, samples.len / 16);
    bytes = mem_alloc(capacity);
    params.zParams.compressionLevel = level;
    n = ZDICT_trainFromBuffer_fastCover(bytes, capacity, samples.data, sizes,
                                        (unsigned)used, params);
    if (!ZDICT_isError(n))
        d = dictionary_of(bytes, n, level);
    mem_free(bytes);
    mem_free(sizes);
    buf_close(&samples);
    return d;
}

/* Does @d win on the blocks it was not trained with? */
static bool dictionary_pays(ZSTD_CCtx *zstd,
                            const struct slice *blocks,
                            size_t count,
                            const struct dictionary *d,
                            int level,
                            struct buf *room)
{
    size_t with = 0;
    size_t without = 0;

    PRE(d->encode);
    for (size_t i = 0; i < count; i += HOLD_OUT_EVERY) {
        with += compressed_bytes(zstd, blocks[i], d, level, room);
        without += compressed_bytes(zstd, blocks[i], NULL, level, room);
    }
    with += d->bytes.len / (TABLE_PER_SAMPLE * HOLD_OUT_EVERY);
    return dictionary_gains(with, without);
}

struct dictionary *
dictionary_train(const struct slice *blocks, size_t block_count, int level)
{
    ZSTD_CCtx *zstd;
    struct dictionary *d = NULL;
    struct buf room = BUF_INIT;

    if (block_count < BLOCKS_MIN)
        return NULL;
    zstd = ZSTD_createCCtx();
    if (!zstd)
        PANIC("no memory for a zstd context");
    if (dictionary_probe(zstd, blocks, block_count, level, &room))
        d = dictionary_train_level(blocks, block_count, level);
    if (d && !dictionary_pays(zstd, blocks, block_count, d, level, &room)) {
        dictionary_free(d);
        d = NULL;
    }
    ZSTD_freeCCtx(zstd);
    buf_close(&room);
    POST(!d || (d->encode && d->bytes.len > 0)); /* INV-1 */
    return d;
}

int dictionary_open(struct slice bytes,
                    struct dictionary **out,
                    struct err *err)
{
    struct dictionary *d = mem_zalloc(1, sizeof(*d));

    *out = NULL;
    d->bytes = SLICE_EMPTY;
    d->decode = ZSTD_createDDict(bytes.data, bytes.len);
    if (!d->decode) {
        mem_free(d);
        return err_set(err, ERR_NOMEM, "dictionary of %zu bytes", bytes.len);
    }
    dictionary_check(d);
    *out = d;
    return 0;
}

void dictionary_free(struct dictionary *d)
{
    if (!d)
        return;
    dictionary_check(d);
    if (d->encode) {
        char *bytes;
        memcpy(&bytes, &d->bytes.data, sizeof(bytes)); /* Drop the const. */
        mem_free(bytes);
    }
    ZSTD_freeCDict(d->encode);
    ZSTD_freeDDict(d->decode);
    mem_free(d);
}
