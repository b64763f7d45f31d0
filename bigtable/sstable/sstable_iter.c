/* Moving over the entries of a table.
 *
 * A point read takes its blocks from the cache. A scan reads a window of the
 * file at a time, larger and larger while it continues, and walks uncompressed
 * blocks where they lie in it; compressed ones are expanded into one buffer
 * that is used again and again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/trace/span.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/chunk_pool.h"
#include "bigtable/sstable/decoder.h"
#include "bigtable/sstable/explained_read.h"
#include "bigtable/sstable/reader_parts.h"
#include "bigtable/sstable/table_meter.h"
#include "gfs-lite/fs.h"

/* The first window of a scan: it may stop soon. */
#define WINDOW_BYTES_MIN ((size_t)32 << 10)
/* All of what reads a table once: each wakes the disk, and then its reader. */
#define WINDOW_BYTES_ONCE ((size_t)1 << 20)

STATIC_ASSERT(CHUNK_BYTES >= WINDOW_BYTES_MIN, "windows are chunks");

void sstable_iter_init(struct sstable_iter *it)
{
    memset(it, 0, offsetof(struct sstable_iter, index));
    block_iter_init(&it->index);
    block_iter_init(&it->data);
}

static void drop_blocks(struct sstable_iter *it)
{
    cached_block_unref(it->index_block);
    cached_block_unref(it->data_block);
    it->index_block = NULL;
    it->data_block = NULL;
    it->valid = false;
}

static void drop_window(struct sstable_iter *it)
{
    INVARIANT(!it->cache || it->window); /* A chunk goes back. */
    if (it->cache)
        chunk_pool_give(block_cache_chunks(it->cache), it->window);
    else
        free(it->window);
    it->cache = NULL;
    it->window = NULL;
    it->window_want = 0;
}

void sstable_iter_close(struct sstable_iter *it)
{
    PRE(it->window || it->window_len == 0); /* INV-5 */
    PRE(it->expanded || it->expanded_cap == 0);
    drop_blocks(it);
    drop_window(it);
    mem_free(it->expanded);
    block_iter_close(&it->index);
    block_iter_close(&it->data);
    sstable_iter_init(it);
}

void sstable_iter_open(struct sstable_iter *it,
                       struct sstable_reader *r,
                       enum sstable_read_mode mode)
{
    PRE(r);
    drop_blocks(it);
    if (it->mode != mode)
        drop_window(it);
    it->reader = r;
    it->explain = NULL;
    it->mode = mode;
    it->window_len = 0;
    if (mode == SSTABLE_READ_ONCE)
        it->window_want = WINDOW_BYTES_ONCE;
    else if (it->window_want < WINDOW_BYTES_MIN)
        it->window_want = WINDOW_BYTES_MIN;
}

/* --- windows ------------------------------------------------------------- */

static bool in_window(const struct sstable_iter *it,
                      const struct block_handle *h)
{
    uint64_t end = h->offset + h->stored_bytes + BLOCK_TRAILER_BYTES;
    ASSERT_SLOW(it->window_len == 0 || it->window); /* INV-5 */
    return it->window_len > 0 && h->offset >= it->window_offset &&
           end <= it->window_offset + it->window_len;
}

/* Bytes allocated at `window`. */
static size_t window_room(const struct sstable_iter *it)
{
    return it->mode == SSTABLE_READ_ONCE ? WINDOW_BYTES_ONCE : CHUNK_BYTES;
}

static int take_window(struct sstable_iter *it, struct err *err)
{
    PRE(!it->window);
    if (it->mode == SSTABLE_READ_ONCE) {
        it->window = aligned_alloc(CHUNK_ALIGN, WINDOW_BYTES_ONCE);
        return it->window ? 0 : err_set(err, ERR_NOMEM, "no room for a window");
    }
    it->cache = it->reader->cache;
    it->window = chunk_pool_take(block_cache_chunks(it->cache));
    return 0;
}

/* Read the window that starts with the block @h. */
static int fill_window(struct sstable_iter *it,
                       const struct block_handle *h,
                       struct err *err)
{
    struct sstable_reader *r = it->reader;
    uint64_t start = h->offset / CHUNK_ALIGN * CHUNK_ALIGN;
    uint64_t end = h->offset + h->stored_bytes + BLOCK_TRAILER_BYTES;
    size_t want = it->window_want;
    struct span *s = span_here();
    uint64_t start_ns = span_clock(s);
    struct explained_read x;
    int rc = it->window ? 0 : take_window(it, err);

    if (rc)
        return rc;
    it->window_len = 0;
    it->window_offset = start;
    if (want < end - start)
        want =
            (size_t)(end - start + CHUNK_ALIGN - 1) / CHUNK_ALIGN * CHUNK_ALIGN;
    INVARIANT(want <= window_room(it)); /* INV-5 */
    x = explained_read_begin(it->explain, r->file, start, want);
    if (it->mode == SSTABLE_READ_ONCE) {
        rc = fs_read_once_at(r->file, start, it->window, want, &it->window_len,
                             err);
    } else if (it->window_want == CHUNK_BYTES) {
        rc = fs_read_scan_at(r->file, start, it->window, want, &it->window_len,
                             err);
    } else {
        rc = fs_read_at(r->file, start, it->window, want, &it->window_len, err);
    }
    INVARIANT(it->window_len <= want);
    span_number(s, "windows_from_files", 1);
    span_elapsed(s, "files_us", start_ns);
    explained_read_end(&x, it->window_len);
    if (UNLIKELY(it->explain)) {
        it->window_place = (uint8_t)x.place;
        it->explain->tablet->counts.read_ahead_windows++;
        it->explain->tablet->counts.read_ahead_bytes += it->window_len;
    }
    metric_add(
        &block_cache_meter(r->cache)
             ->read_bytes[it->mode == SSTABLE_READ_ONCE ? TABLE_READ_COMPACTION
                                                        : TABLE_READ_SCAN],
        it->window_len);
    if (it->mode == SSTABLE_READ_SCAN)
        it->window_want = MIN_OF(it->window_want * 2, CHUNK_BYTES);
    if (!rc && !in_window(it, h))
        rc = err_set(err, ERR_CORRUPT, "the file ends inside it");
    return rc;
}

/* Unseal @stored, of the block @h, into the room of @d. */
static int sstable_iter_unseal(struct sstable_iter *it,
                               const struct block_handle *h,
                               enum block_codec codec,
                               struct decoder *d,
                               struct slice *stored,
                               struct err *err)
{
    char *room = decoder_room(d, stored->len);
    int rc;

    PRE(it->reader->sealing);
    if (!room)
        return err_set(err, ERR_NOMEM, "no room for %zu bytes", stored->len);
    rc = sstable_sealing_unseal(it->reader->sealing, h->offset, codec, *stored,
                                room, err);
    *stored = slice_make(room, sstable_reader__payload(it->reader, h));
    return rc;
}

/* Have room for @h decoded in `expanded`. */
static int make_room(struct sstable_iter *it,
                     const struct block_handle *h,
                     struct err *err)
{
    size_t want = h->raw_bytes;
    PRE(it->expanded || it->expanded_cap == 0);

    if (want <= it->expanded_cap)
        return 0;
    mem_free(it->expanded);
    it->expanded_cap = 0;
    it->expanded = mem_try_alloc(want + want / 4);
    if (!it->expanded)
        return err_set(err, ERR_NOMEM, "no room for %u bytes", h->raw_bytes);
    it->expanded_cap = want + want / 4;
    return 0;
}

static int sstable_iter_expand(struct sstable_iter *it,
                               const struct block_handle *h,
                               enum block_codec codec,
                               struct slice stored,
                               struct slice *bytes,
                               struct err *err)
{
    struct decoder_pool *pool = block_cache_decoders(it->reader->cache);
    struct block_context context;
    struct cached_block *held = NULL;
    struct decoder *d;
    uint64_t begin_ns;
    int rc = make_room(it, h, err);

    if (rc)
        return rc;
    INVARIANT(it->expanded_cap >= h->raw_bytes);
    d = decoder_take(pool);
    if (it->reader->sealing)
        rc = sstable_iter_unseal(it, h, codec, d, &stored, err);
    if (!rc)
        rc = sstable_reader__context(it->reader, h, codec, it->explain, &stored,
                                     &context, &held, err);
    begin_ns = explained_decode_begin(it->explain);
    if (!rc)
        rc = decoder_expand(d, codec, &context, stored, it->expanded,
                            h->raw_bytes, err);
    explained_decode_end(it->explain, begin_ns);
    cached_block_unref(held);
    decoder_give(pool, d);
    *bytes = slice_make(it->expanded, h->raw_bytes);
    return rc;
}

/* A raw block leaves the window, whose bytes may be wanted again, when it is
 * unsealed. */
static int unseal_raw(struct sstable_iter *it,
                      const struct block_handle *h,
                      struct slice *bytes,
                      struct err *err)
{
    int rc = make_room(it, h, err);

    PRE(it->reader->sealing);
    if (!rc)
        rc = sstable_sealing_unseal(it->reader->sealing, h->offset, BLOCK_RAW,
                                    *bytes, it->expanded, err);
    *bytes = slice_make(it->expanded, h->raw_bytes);
    return rc;
}

/* The decoded block @h out of the window. */
static int scan_block(struct sstable_iter *it,
                      const struct block_handle *h,
                      struct slice *bytes,
                      struct err *err)
{
    enum block_codec codec;
    const char *p;
    int rc = in_window(it, h) ? 0 : fill_window(it, h, err);

    PRE(h->stored_bytes > 0);
    if (rc)
        return rc;
    INVARIANT(in_window(it, h));
    p = it->window + (h->offset - it->window_offset);
    rc = block_trailer_check(p, h->stored_bytes, &codec, err);
    if (rc)
        return rc;
    *bytes = slice_make(p, h->stored_bytes);
    if (codec != BLOCK_RAW)
        return sstable_iter_expand(it, h, codec, *bytes, bytes, err);
    if (sstable_reader__payload(it->reader, h) != h->raw_bytes)
        return err_set(err, ERR_CORRUPT, "raw block of another length");
    return it->reader->sealing ? unseal_raw(it, h, bytes, err) : 0;
}

/* --- blocks -------------------------------------------------------------- */

/* Count a block of an explained scan: out of the window, or from @place. */
static void count_block(struct sstable_iter *it,
                        enum explain_place place,
                        bool window,
                        const struct block_handle *h)
{
    if (UNLIKELY(it->explain))
        explain_block(it->explain, place, window, h->stored_bytes,
                      h->raw_bytes);
}

/* The place of the read made last. */
static enum explain_place last_place(const struct sstable_iter *it)
{
    return it->explain ? it->explain->place : EXPLAIN_DISK;
}

/* The decoded block @h, by whatever way the mode asks for. */
static int fetch_block(struct sstable_iter *it,
                       const struct block_handle *h,
                       struct slice *bytes,
                       struct err *err)
{
    struct sstable_reader *r = it->reader;
    bool fits =
        h->stored_bytes + BLOCK_TRAILER_BYTES + CHUNK_ALIGN <= CHUNK_BYTES;
    int rc;

    PRE(!it->data_block);
    if (r->resident) {
        uint32_t number = r->partitions[it->partition].first_block +
                          block_iter_index(&it->index);
        if (number >= r->properties.block_count)
            return err_set(err, ERR_CORRUPT, "index: more blocks than counted");
        *bytes =
            slice_make(r->resident[number]->data, r->resident[number]->len);
        count_block(it, EXPLAIN_MEMORY, false, h);
        return 0;
    }
    if (it->mode == SSTABLE_READ_SCAN && !in_window(it, h))
        it->data_block = block_cache_get(r->cache, r->file_number, h->offset);
    if (!it->data_block && it->mode != SSTABLE_READ_POINT && fits) {
        rc = scan_block(it, h, bytes, err);
        if (rc)
            return sstable_reader__fail(r, h->offset, rc, err);
        count_block(it, (enum explain_place)it->window_place, true, h);
        return 0;
    }
    if (it->data_block) {
        count_block(it, EXPLAIN_BLOCK_CACHE, false, h);
    } else {
        rc =
            it->mode == SSTABLE_READ_POINT
                ? sstable_reader__cached(r, h, it->explain, &it->data_block,
                                         err)
                : sstable_reader__load(r, h, it->explain, &it->data_block, err);
        if (rc)
            return rc;
        count_block(it, last_place(it), false, h);
    }
    *bytes = slice_make(it->data_block->data, it->data_block->len);
    return 0;
}

/* Open the data block the index stands at. */
static int open_block(struct sstable_iter *it, struct err *err)
{
    struct sstable_reader *r = it->reader;
    struct cursor c = cursor_make(block_iter_value(&it->index));
    struct block_handle h;
    struct slice bytes;
    int rc;

    PRE(it->index.valid);
    cached_block_unref(it->data_block);
    it->data_block = NULL;
    block_handle_get(&c, r->file_bytes, &h);
    if (c.bad || h.stored_bytes == 0) {
        rc = err_set(err, ERR_CORRUPT, "index: malformed handle");
        return sstable_reader__fail(
            r, r->partitions[it->partition].entry.index.offset, rc, err);
    }
    rc = fetch_block(it, &h, &bytes, err);
    if (rc)
        return rc;
    rc = block_iter_open(&it->data, bytes, err);
    return rc ? sstable_reader__fail(r, h.offset, rc, err) : 0;
}

static int open_partition(struct sstable_iter *it, uint32_t i, struct err *err)
{
    struct sstable_reader *r = it->reader;
    struct slice bytes;
    int rc;

    PRE(i < r->partition_count);
    cached_block_unref(it->index_block);
    it->index_block = NULL;
    it->partition = i;
    rc =
        sstable_reader__index(r, i, it->explain, &bytes, &it->index_block, err);
    if (rc)
        return rc;
    rc = block_iter_open(&it->index, bytes, err);
    if (!rc && it->index.restart_count != it->index.entry_count)
        rc = err_set(err, ERR_CORRUPT, "index: malformed");
    return rc ? sstable_reader__fail(r, r->partitions[i].entry.index.offset, rc,
                                     err)
              : 0;
}

/* The index or data block under @it is malformed behind a good CRC. */
static int bad_block(struct sstable_iter *it, bool index, struct err *err)
{
    const struct sstable_reader *r = it->reader;
    int rc;

    PRE(it->partition < r->partition_count);
    it->valid = false;
    rc = err_set(err, ERR_CORRUPT,
                 index ? "index: malformed entry" : "malformed entry");
    return sstable_reader__fail(
        r, r->partitions[it->partition].entry.index.offset, rc, err);
}

/* Move to the first entry of the block behind the current one. */
int sstable_iter_next_block(struct sstable_iter *it, struct err *err)
{
    int rc;

    PRE(!it->data.valid);
    PRE(it->partition < it->reader->partition_count); /* INV-4 */
    it->valid = false;
    if (it->data.bad)
        return bad_block(it, false, err);
    block_iter_next(&it->index);
    if (it->index.bad)
        return bad_block(it, true, err);
    if (!it->index.valid) {
        if (it->partition + 1 == it->reader->partition_count)
            return 0;
        rc = open_partition(it, it->partition + 1, err);
        if (rc)
            return rc;
        block_iter_first(&it->index);
        if (!it->index.valid)
            return bad_block(it, true, err);
    }
    rc = open_block(it, err);
    if (rc)
        return rc;
    block_iter_first(&it->data);
    if (!it->data.valid)
        return bad_block(it, false, err);
    it->valid = true;
    return 0;
}

int sstable_iter_seek(struct sstable_iter *it,
                      struct slice target,
                      struct err *err)
{
    PRE(it->reader);

    uint32_t i = sstable_reader__partition(it->reader, target);
    int rc;

    it->valid = false;
    if (i == it->reader->partition_count)
        return 0;
    rc = open_partition(it, i, err);
    if (rc)
        return rc;
    block_iter_after(&it->index, target);
    if (!it->index.valid)
        return bad_block(it, true, err);
    rc = open_block(it, err);
    if (rc)
        return rc;
    block_iter_seek(&it->data, target);
    if (it->data.valid) {
        it->valid = true;
        return 0;
    }
    return sstable_iter_next_block(it, err);
}
