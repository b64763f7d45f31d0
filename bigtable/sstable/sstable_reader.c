/* Opening tables, and reading their blocks. The footer leads to top, properties
 * and dictionary, which are kept; index and filter blocks are read when they
 * are first needed and stay pinned while the cache grants room.
 */
#include "bigtable/sstable/sstable_reader.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/trace/span.h"
#include "bigtable/row/schema.h" /* enum bloom_kind */
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/bloom.h"
#include "bigtable/sstable/decoder.h"
#include "bigtable/sstable/dictionary.h"
#include "bigtable/sstable/explained_read.h"
#include "bigtable/sstable/reader_parts.h"
#include "bigtable/sstable/reference_finder.h"
#include "bigtable/sstable/table_meter.h"
#include "gfs-lite/fs.h"

/* The first read of a file: footer, top, properties, and often much of the
 * last partition come with it. */
#define TAIL_BYTES ((size_t)16 << 10)

int sstable_reader__fail(const struct sstable_reader *r,
                         uint64_t offset,
                         int code,
                         struct err *err)
{
    PRE(code < 0);
    err_wrap(err, "table %s: block at %" PRIu64, r->path, offset);
    if (code == ERR_CORRUPT)
        err_set_detail(err, ERR_DETAIL_TABLE_FILE, "");
    return code;
}

/* --- blocks -------------------------------------------------------------- */

/* Read the stored form of @h, trailer and all, to @to, check and unseal it. */
static int read_stored(struct sstable_reader *r,
                       const struct block_handle *h,
                       struct explain_file *explain,
                       char *to,
                       enum block_codec *codec,
                       struct err *err)
{
    size_t want = h->stored_bytes + BLOCK_TRAILER_BYTES;
    size_t got;
    const struct explained_read x =
        explained_read_begin(explain, r->file, h->offset, want);
    int rc = fs_read_at(r->file, h->offset, to, want, &got, err);

    PRE(h->stored_bytes > 0); /* INV-2 begins here. */
    if (rc)
        return rc;
    explained_read_end(&x, got);
    if (got < want)
        return err_set(err, ERR_CORRUPT, "the file ends inside it");
    metric_add(&block_cache_meter(r->cache)->read_bytes[TABLE_READ_POINT],
               want);
    rc = block_trailer_check(to, h->stored_bytes, codec, err);
    if (rc == 0 && r->sealing)
        rc = sstable_sealing_unseal(r->sealing, h->offset, *codec,
                                    slice_make(to, h->stored_bytes), to, err);
    return rc;
}

/* A raw block is read where it will stay. */
static int load_raw(struct sstable_reader *r,
                    const struct block_handle *h,
                    struct explain_file *explain,
                    struct cached_block *b,
                    struct err *err)
{
    enum block_codec codec;
    PRE(b->capacity >= h->stored_bytes + BLOCK_TRAILER_BYTES);
    int rc = read_stored(r, h, explain, b->data, &codec, err);

    if (!rc && codec != BLOCK_RAW)
        rc = err_set(err, ERR_CORRUPT, "codec and lengths disagree");
    return rc;
}

static bool is_referring(enum block_codec codec)
{
    return codec != BLOCK_RAW &&
           block_codec_ops(codec)->need == BLOCK_NEEDS_REFERENCE;
}

static int load_packed(struct sstable_reader *r,
                       const struct block_handle *h,
                       bool may_refer,
                       struct explain_file *explain,
                       struct cached_block *b,
                       struct err *err)
{
    struct block_context context;
    struct cached_block *held = NULL;
    struct slice payload;
    struct decoder_pool *pool = block_cache_decoders(r->cache);
    struct decoder *d = decoder_take(pool);
    char *room = decoder_room(d, h->stored_bytes + BLOCK_TRAILER_BYTES);
    enum block_codec codec;
    uint64_t begin_ns;
    int rc;
    PRE(b->capacity >= h->raw_bytes);

    if (!room)
        rc = err_set(err, ERR_NOMEM, "no room for %u bytes", h->stored_bytes);
    else
        rc = read_stored(r, h, explain, room, &codec, err);
    payload = slice_make(room, sstable_reader__payload(r, h));
    if (!rc && !may_refer && is_referring(codec))
        rc = err_set(err, ERR_CORRUPT,
                     "a reference to a block with a "
                     "reference");
    if (!rc)
        rc = sstable_reader__context(r, h, codec, explain, &payload, &context,
                                     &held, err);
    begin_ns = explained_decode_begin(explain);
    if (!rc)
        rc = decoder_expand(d, codec, &context, payload, b->data, h->raw_bytes,
                            err);
    explained_decode_end(explain, begin_ns);
    cached_block_unref(held);
    decoder_give(pool, d);
    return rc;
}

/* See sstable_reader__load(). @may_refer: the block may have a reference. */
static int load_block(struct sstable_reader *r,
                      const struct block_handle *h,
                      bool may_refer,
                      struct explain_file *explain,
                      struct cached_block **out,
                      struct err *err)
{
    /* Room for seal and trailer: a raw block is read with them. */
    struct cached_block *b =
        block_cache_alloc(r->cache, h->raw_bytes + BLOCK_TRAILER_BYTES +
                                        (r->sealing ? BLOCK_SEAL_BYTES : 0));
    struct span *s = span_here();
    uint64_t start_ns = span_clock(s);
    int rc;

    *out = NULL;
    if (!b)
        rc = err_set(err, ERR_NOMEM, "no room for %u bytes", h->raw_bytes);
    else if (sstable_reader__payload(r, h) == h->raw_bytes)
        rc = load_raw(r, h, explain, b, err);
    else
        rc = load_packed(r, h, may_refer, explain, b, err);
    span_number(s, "blocks_from_files", 1);
    span_elapsed(s, "files_us", start_ns);
    if (rc) {
        cached_block_unref(b);
        return sstable_reader__fail(r, h->offset, rc, err);
    }
    INVARIANT(h->raw_bytes <= b->capacity);
    b->len = h->raw_bytes;
    *out = b;
    return 0;
}

int sstable_reader__load(struct sstable_reader *r,
                         const struct block_handle *h,
                         struct explain_file *explain,
                         struct cached_block **out,
                         struct err *err)
{
    return load_block(r, h, true, explain, out, err);
}

/* Handles of a damaged index may disagree about a block's length. */
static bool is_block(const struct cached_block *b, const struct block_handle *h)
{
    return b && b->len == h->raw_bytes;
}

/* The block @h that another refers to, through the cache. The reader of the
 * other may hold a lock of the cache's loads, so this one takes none: two
 * readers may load it at the same time. */
static int load_reference(struct sstable_reader *r,
                          const struct block_handle *h,
                          struct explain_file *explain,
                          struct cached_block **out,
                          struct err *err)
{
    int rc;

    if (UNLIKELY(explain))
        explain->place = EXPLAIN_BLOCK_CACHE;
    *out = block_cache_get(r->cache, r->file_number, h->offset);
    if (is_block(*out, h))
        return 0;
    cached_block_unref(*out);
    rc = load_block(r, h, false, explain, out, err);
    if (!rc)
        *out = block_cache_put(r->cache, r->file_number, h->offset, *out);
    return rc;
}

int sstable_reader__context(struct sstable_reader *r,
                            const struct block_handle *h,
                            enum block_codec codec,
                            struct explain_file *explain,
                            struct slice *payload,
                            struct block_context *context,
                            struct cached_block **held,
                            struct err *err)
{
    struct cursor c = cursor_make(*payload);
    enum explain_place place = explain ? explain->place : EXPLAIN_DISK;
    struct block_handle of;
    int rc;

    *held = NULL;
    *context = (struct block_context){.dictionary = r->dictionary};
    if (!is_referring(codec))
        return 0;
    block_handle_get(&c, h->offset, &of); /* It lies before this one. */
    if (c.bad || of.stored_bytes == 0 || of.raw_bytes > REFERENCE_BYTES_MAX)
        return err_set(err, ERR_CORRUPT, "malformed reference");
    rc = load_reference(r, &of, explain, held, err);
    if (rc)
        return rc;
    if (UNLIKELY(explain)) {
        explain_block(explain, explain->place, false, of.stored_bytes,
                      of.raw_bytes);
        explain->place = place;
    }
    context->reference = slice_make((*held)->data, (*held)->len);
    *payload = slice_make(c.p, (size_t)(c.end - c.p));
    return 0;
}

int sstable_reader__cached(struct sstable_reader *r,
                           const struct block_handle *h,
                           struct explain_file *explain,
                           struct cached_block **out,
                           struct err *err)
{
    bool loading;
    int rc;

    if (UNLIKELY(explain))
        explain->place = EXPLAIN_BLOCK_CACHE;
    *out = block_cache_get(r->cache, r->file_number, h->offset);
    if (is_block(*out, h)) {
        span_number(span_here(), "blocks_from_cache", 1);
        return 0;
    }
    loading = !*out;
    if (loading) { /* Neighbours are often read by many at once. */
        *out = block_cache_begin_load(r->cache, r->file_number, h->offset);
        if (is_block(*out, h))
            return 0;
        loading = !*out;
    }
    cached_block_unref(*out);
    rc = sstable_reader__load(r, h, explain, out, err);
    if (!rc)
        *out = block_cache_put(r->cache, r->file_number, h->offset, *out);
    if (loading)
        block_cache_end_load(r->cache, r->file_number, h->offset);
    return rc;
}

/* The block at @h, pinned in @slot if the reader pins. */
static int pinned_block(struct sstable_reader *r,
                        const struct block_handle *h,
                        struct cached_block *_Atomic *slot,
                        struct explain_file *explain,
                        struct slice *bytes,
                        struct cached_block **held,
                        struct err *err)
{
    struct cached_block *b = atomic_load_explicit(slot, memory_order_acquire);
    struct cached_block *none = NULL;
    int rc = 0;

    *held = NULL;
    if (UNLIKELY(!b)) {
        rc = r->pins ? sstable_reader__load(r, h, explain, &b, err)
                     : sstable_reader__cached(r, h, explain, &b, err);
        if (rc)
            return rc;
        if (!r->pins) {
            *held = b;
        } else if (!atomic_compare_exchange_strong(slot, &none, b)) {
            cached_block_unref(b); /* Another was faster. */
            b = none;
        }
    }
    INVARIANT(b);
    *bytes = slice_make(b->data, b->len);
    return rc;
}

int sstable_reader__index(struct sstable_reader *r,
                          uint32_t i,
                          struct explain_file *explain,
                          struct slice *bytes,
                          struct cached_block **held,
                          struct err *err)
{
    PRE(i < r->partition_count);

    struct partition *p = &r->partitions[i];
    if (UNLIKELY(explain))
        explain->tablet->counts.index_blocks++;
    return pinned_block(r, &p->entry.index, &p->index, explain, bytes, held,
                        err);
}

/* --- opening ------------------------------------------------------------- */

static int
read_sealing(struct sstable_reader *r, struct keyring *keys, struct err *err)
{
    char tail[SSTABLE_SEALING_BYTES + SSTABLE_FOOTER_BYTES];
    uint64_t offset = r->file_bytes - sizeof(tail);
    size_t got;
    int rc;

    PRE(!r->sealing);
    if (!r->footer.is_sealed)
        return 0;
    rc = fs_read_at(r->file, offset, tail, sizeof(tail), &got, err);
    if (!rc && got < sizeof(tail))
        rc = err_set(err, ERR_CORRUPT, "footer: the file is cut");
    return rc ? rc : sstable_sealing_open(keys, tail, offset, &r->sealing, err);
}

static int read_footer(struct sstable_reader *r, struct err *err)
{
    char tail[SSTABLE_FOOTER_BYTES];
    size_t got;
    int rc;
    PRE(r->file);

    if (r->file_bytes < SSTABLE_FOOTER_BYTES)
        return err_set(err, ERR_CORRUPT, "%" PRIu64 " bytes are no table",
                       r->file_bytes);
    rc = fs_read_at(r->file, r->file_bytes - SSTABLE_FOOTER_BYTES, tail,
                    sizeof(tail), &got, err);
    if (!rc && got < sizeof(tail))
        rc = err_set(err, ERR_CORRUPT, "footer: the file is cut");
    return rc ? rc : sstable_footer_parse(tail, r->file_bytes, &r->footer, err);
}

static int read_properties(struct sstable_reader *r, struct err *err)
{
    struct cached_block *b;
    int rc = sstable_reader__load(r, &r->footer.properties, NULL, &b, err);

    if (rc)
        return rc;
    rc = sstable_properties_parse(slice_make(b->data, b->len), &r->properties,
                                  err);
    cached_block_unref(b);
    return rc;
}

int sstable_reader_marks(struct sstable_reader *r,
                         struct buf *marks,
                         struct err *err)
{
    struct cached_block *b;
    const struct block_handle *h = &r->properties.marks;
    int rc;

    PRE(r->properties.changes.end_sequence > 0);
    if (h->stored_bytes == 0 || h->offset + h->stored_bytes > r->file_bytes)
        return err_set(err, ERR_CORRUPT,
                       "table %s: its marks of changes are "
                       "outside of the file",
                       r->path);
    rc = sstable_reader__load(r, h, NULL, &b, err);
    if (rc)
        return rc;
    buf_append(marks, b->data, b->len);
    cached_block_unref(b);
    return 0;
}

static int read_dictionary(struct sstable_reader *r, struct err *err)
{
    struct cached_block *b;
    int rc;

    if (r->footer.dictionary.stored_bytes == 0)
        return 0;
    rc = sstable_reader__load(r, &r->footer.dictionary, NULL, &b, err);
    if (rc)
        return rc;
    rc = dictionary_open(slice_make(b->data, b->len), &r->dictionary, err);
    cached_block_unref(b);
    return rc;
}

/* Decode the top entry under @it as the next partition. */
static int
add_partition(struct sstable_reader *r, struct block_iter *it, struct err *err)
{
    struct partition *p = &r->partitions[r->partition_count];
    size_t at;
    int rc = partition_entry_parse(block_iter_value(it), r->file_bytes,
                                   &p->entry, err);

    if (rc)
        return rc;
    if (it->key_len == 0)
        return err_set(err, ERR_CORRUPT, "top: empty key");
    /* Restarts hold whole keys, so this one lies in the block itself: just
     * before the encoded entry that follows. */
    at = (size_t)(it->next - it->values) - it->key_len;
    INVARIANT(at + it->key_len <= r->top->len);
    p->last_key = slice_make(r->top->data + at, it->key_len);
    if (r->partition_count > 0) {
        const struct partition *before = p - 1;
        p->first_block = before->first_block + before->entry.block_count;
        if (slice_cmp(before->last_key, p->last_key) >= 0)
            return err_set(err, ERR_CORRUPT, "top: keys out of order");
    }
    if ((uint64_t)p->first_block + p->entry.block_count >
        r->properties.block_count)
        return err_set(err, ERR_CORRUPT, "top: more blocks than there are");
    r->reserved_bytes += p->entry.index.raw_bytes + p->entry.filter.raw_bytes;
    r->partition_count++;
    return 0;
}

static int read_top(struct sstable_reader *r, struct err *err)
{
    struct block_iter it;
    int rc = sstable_reader__load(r, &r->footer.top, NULL, &r->top, err);

    if (rc)
        return rc;
    block_iter_init(&it);
    rc = block_iter_open(&it, slice_make(r->top->data, r->top->len), err);
    if (!rc && (it.entry_count != it.restart_count ||
                it.entry_count > r->properties.block_count))
        rc = err_set(err, ERR_CORRUPT, "top: malformed");
    if (!rc) {
        r->partitions = mem_zalloc(it.entry_count, sizeof(*r->partitions));
        for (uint32_t i = 0; i < it.entry_count && !rc; i++) {
            block_iter_at(&it, i);
            rc = it.valid ? add_partition(r, &it, err)
                          : err_set(err, ERR_CORRUPT, "top: malformed entry");
        }
    }
    block_iter_close(&it);
    return rc;
}

/* Decode every data block and keep it. */
struct resident_load {
    struct sstable_reader *reader;
    uint32_t next;
    int rc;
    struct err *err;
};

static void
load_resident(void *arg, struct slice separator, const struct block_handle *h)
{
    struct resident_load *l = arg;
    struct sstable_reader *r = l->reader;

    (void)separator;
    PRE(r->resident);
    if (!l->rc && l->next < r->properties.block_count)
        l->rc =
            sstable_reader__load(r, h, NULL, &r->resident[l->next++], l->err);
}

static int make_resident(struct sstable_reader *r, struct err *err)
{
    struct resident_load l = {.reader = r, .err = err};
    int rc;

    PRE(!r->resident);
    r->resident = mem_zalloc(r->properties.block_count, sizeof(*r->resident));
    rc = sstable_reader_each_block(r, load_resident, &l, err);
    if (!rc)
        rc = l.rc;
    if (!rc && l.next < r->properties.block_count)
        rc = err_set(err, ERR_CORRUPT, "fewer blocks than the index says");
    return rc;
}

static int open_parts(struct sstable_reader *r,
                      struct keyring *keys,
                      bool in_memory,
                      struct err *err)
{
    const struct partition *last;
    int rc = read_footer(r, err);

    if (!rc)
        rc = read_sealing(r, keys, err);
    if (!rc)
        rc = read_properties(r, err);
    if (!rc)
        rc = read_dictionary(r, err);
    if (!rc)
        rc = read_top(r, err);
    if (rc)
        return rc;
    INVARIANT(r->partition_count > 0); /* INV-3 */
    last = &r->partitions[r->partition_count - 1];
    if (last->first_block + last->entry.block_count !=
        r->properties.block_count)
        return err_set(err, ERR_CORRUPT, "top: blocks are missing");
    r->pins = block_cache_reserve(r->cache, r->reserved_bytes);
    return in_memory ? make_resident(r, err) : 0;
}

static void reader_free(struct sstable_reader *r)
{
    PRE(r->partitions || r->partition_count == 0);
    for (uint32_t i = 0; i < r->partition_count; i++) {
        cached_block_unref(atomic_load(&r->partitions[i].index));
        cached_block_unref(atomic_load(&r->partitions[i].filter));
    }
    for (uint64_t i = 0; r->resident && i < r->properties.block_count; i++)
        cached_block_unref(r->resident[i]);
    if (r->pins)
        block_cache_unreserve(r->cache, r->reserved_bytes);
    block_cache_remove_file(r->cache, r->file_bytes);
    cached_block_unref(r->top);
    dictionary_free(r->dictionary);
    sstable_sealing_free(r->sealing);
    sstable_properties_close(&r->properties);
    mem_free(r->partitions);
    mem_free(r->resident);
    fs_reader_close(r->file);
    mem_free(r->path);
    mem_free(r);
}

int sstable_reader_open(struct fs *fs,
                        const char *path,
                        const struct sstable_reader_options *opts,
                        struct sstable_reader **out,
                        struct err *err)
{
    PRE(opts->cache);

    struct sstable_reader *r = mem_zalloc(1, sizeof(*r));
    int rc;

    *out = NULL;
    atomic_init(&r->refs, 1);
    r->path = mem_strdup(path);
    r->cache = opts->cache;
    r->file_number = block_cache_new_file(opts->cache);
    sstable_properties_init(&r->properties);
    rc = fs_open(fs, path, &r->file, err);
    if (!rc) {
        uint64_t size = fs_reader_size(r->file);
        r->file_bytes = size;
        block_cache_add_file(r->cache, size);
        if (size > TAIL_BYTES) /* One read instead of four. */
            fs_prefetch(r->file, size - TAIL_BYTES, TAIL_BYTES);
        rc = open_parts(r, fs_keyring(fs), opts->in_memory, err);
    }
    if (rc) {
        err_wrap(err, "open table %s", path);
        reader_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void sstable_reader_unref(struct sstable_reader *r)
{
    unsigned before;

    if (!r)
        return;
    before = atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel);
    INVARIANT(before > 0);
    if (before == 1)
        reader_free(r);
}

const struct sstable_properties *
sstable_reader_properties(const struct sstable_reader *r)
{
    return &r->properties;
}

uint64_t sstable_reader_file_bytes(const struct sstable_reader *r)
{
    return r->file_bytes;
}

bool sstable_reader_is_sealed(const struct sstable_reader *r)
{
    return r->sealing != NULL;
}

const char *sstable_reader_path(const struct sstable_reader *r)
{
    return r->path;
}

/* --- searching ----------------------------------------------------------- */

uint32_t sstable_reader__partition(const struct sstable_reader *r,
                                   struct slice target)
{
    uint32_t low = 0;
    uint32_t high = r->partition_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (slice_cmp(r->partitions[middle].last_key, target) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    POST(low <= r->partition_count);
    return low;
}

int sstable_reader_probe(struct sstable_reader *r,
                         const struct sstable_probe *probe,
                         bool *maybe,
                         struct err *err)
{
    uint32_t i = sstable_reader__partition(r, probe->prefix);
    bool by_column = r->properties.bloom == BLOOM_ROW_COLUMN;
    struct cached_block *held;
    struct partition *p;
    struct slice filter;
    int rc;

    PRE(probe->prefix.len > 0);
    *maybe = false;
    if (i == r->partition_count)
        return 0;
    p = &r->partitions[i];
    *maybe = true;
    if (p->entry.filter.stored_bytes == 0)
        return 0;
    rc = pinned_block(r, &p->entry.filter, &p->filter, probe->explain, &filter,
                      &held, err);
    if (rc)
        return rc;
    *maybe =
        bloom_may_contain(filter, by_column ? probe->hash : probe->row_hash);
    cached_block_unref(held);
    metric_add(&block_cache_meter(r->cache)->filter_checks, 1);
    if (!*maybe)
        metric_add(&block_cache_meter(r->cache)->filter_negatives, 1);
    if (UNLIKELY(probe->explain)) {
        probe->explain->tablet->counts.index_filters_asked++;
        probe->explain->tablet->counts.index_filters_negative += !*maybe;
    }
    return 0;
}

/* All entries of the index block of partition @i. */
static int each_block_of(struct sstable_reader *r,
                         uint32_t i,
                         sstable_block_fn fn,
                         void *arg,
                         struct err *err)
{
    PRE(i < r->partition_count);

    uint64_t offset = r->partitions[i].entry.index.offset;
    struct cached_block *held;
    struct block_iter it;
    struct slice bytes;
    uint32_t count = 0;
    int rc = sstable_reader__index(r, i, NULL, &bytes, &held, err);

    if (rc)
        return rc;
    block_iter_init(&it);
    rc = block_iter_open(&it, bytes, err);
    if (!rc)
        block_iter_first(&it);
    while (!rc && it.valid) {
        struct cursor c = cursor_make(block_iter_value(&it));
        struct block_handle h;
        block_handle_get(&c, r->file_bytes, &h);
        if (c.bad || h.stored_bytes == 0) {
            rc = err_set(err, ERR_CORRUPT, "index: malformed handle");
        } else {
            fn(arg, block_iter_key(&it), &h);
            count++;
            block_iter_next(&it);
        }
    }
    if (!rc && (it.bad || count != r->partitions[i].entry.block_count))
        rc = err_set(err, ERR_CORRUPT, "index: malformed entry or count");
    block_iter_close(&it);
    cached_block_unref(held);
    return rc ? sstable_reader__fail(r, offset, rc, err) : 0;
}

int sstable_reader_each_block(struct sstable_reader *r,
                              sstable_block_fn fn,
                              void *arg,
                              struct err *err)
{
    int rc = 0;
    PRE(r->partition_count > 0); /* INV-3 */

    for (uint32_t i = 0; i < r->partition_count && !rc; i++)
        rc = each_block_of(r, i, fn, arg, err);
    return rc;
}
