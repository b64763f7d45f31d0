/* Writing a table.
 *
 * Entries gather in a block builder. A full block is sealed when the key behind
 * it is known, because the index wants the shortest separator of the two; it
 * then waits in a queue, which is emptied at once, or (while a dictionary is
 * being sampled) when the sample is large enough.
 */
#include "bigtable/sstable/sstable_writer.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/crc32c.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/sstable/block.h"
#include "bigtable/sstable/bloom.h"
#include "bigtable/sstable/dictionary.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/reference_finder.h"
#include "bigtable/sstable/sealing.h"
#include "bigtable/sstable/sstable_format.h"
#include "gfs-lite/fs.h"

/* A partition of index and filter is cut at whichever comes first. */
#define PARTITION_INDEX_BYTES  ((size_t)4096)
#define PARTITION_FILTER_COUNT ((size_t)16384)

/* Bounds on the block size options may ask for. */
#define BLOCK_TARGET_BYTES_MIN ((size_t)512)
#define BLOCK_TARGET_BYTES_MAX ((size_t)256 << 10)

/* Entries of this size, in groups with blocks of at least that, are large. */
#define LARGE_ENTRY_BYTES  ((size_t)16 << 10)
#define LARGE_TARGET_BYTES ((size_t)64 << 10)

/* Compression must save this part of a block, or reads pay for nothing; more of
 * a table that does not last: what it saves, it saves for one write and one
 * read, and these cost less than to compress and expand again. */
#define SAVED_PART         (1.0 / 8)
#define SAVED_PART_HURRIED (2.0 / 5)
/* Of such tables: a third of the time of the usual one, for tables larger by a
 * quarter. */
#define HURRIED_LEVEL (-1)
/* After this many consecutive blocks for which compression did not pay, most
 * are not tried any more: trying costs as much as compressing, */
#define HARD_BLOCKS_MAX 4
/* but one of this many is, in case later blocks compress well. */
#define HARD_TRY_EVERY         16
#define HARD_TRY_EVERY_HURRIED 64

/* The least level of tables whose blocks refer to others: they are written once
 * and kept. Level 5 makes pages smaller by 6 % than level 3 does. */
#define REFERENCE_LEVEL 5
/* A block below this gains less than a read of another block costs. */
#define REFERRING_BYTES_MIN ((size_t)16 << 10)

/* A sealed block on its way to the file. */
struct raw_block {
    struct raw_block *next;
    struct buf bytes;
    struct buf separator; /* Greater than its last key. */
    struct buf last_key;
    struct bloom_builder hashes; /* Of its entries. */
};

struct sstable_writer {
    struct fs *fs;
    struct fs_writer *file;
    char *path;
    struct group_options group;
    size_t block_target;
    struct block_builder data;   /* The block entries go into, */
    size_t smallest_bytes;       /* the smallest of them, */
    struct bloom_builder hashes; /* and their hashes. */
    struct raw_block *first;     /* Sealed blocks, oldest first. */
    struct raw_block **last;
    struct raw_block *spare; /* For reuse. */
    size_t queued_bytes;
    bool sampling;              /* Blocks wait for a dictionary. */
    double saved_part;          /* That compression must save. */
    uint32_t try_every;         /* Of blocks behind hard ones. */
    struct block_builder index; /* Of the current partition. */
    struct bloom_builder filter;
    uint32_t partition_blocks;
    struct buf partition_last_key;
    struct block_builder top;
    struct dictionary *dictionary;
    struct reference_finder *references; /* NULL: blocks refer to none. */
    const struct block_codec_ops *codec; /* NULL: blocks are stored raw. */
    void *encoder;                       /* Of the codec; owned. */
    uint32_t hard_blocks;                /* Since one that compressed well. */
    struct buf compressed;               /* A compressed block. */
    struct sstable_sealing *sealing;     /* Owned; NULL: not encrypted. */
    struct buf sealed;                   /* An encrypted block. */
    struct buf scratch;
    struct buf marks; /* Of changes; empty: it is not for them. */
    struct sstable_properties properties;
    size_t row_len;    /* Of the last key: its row part, */
    size_t column_len; /* its column part, */
    family_id family;  /* its family, */
    bool has_time;     /* and whether it is of a column. */
    uint64_t file_bytes;
    bool finished;
};

/* --- life ---------------------------------------------------------------- */

static void init_parts(struct sstable_writer *w)
{
    size_t target = w->group.block_bytes;
    PRE(!w->first);
    PRE(!w->finished);

    w->block_target =
        MIN_OF(MAX_OF(target, BLOCK_TARGET_BYTES_MIN), BLOCK_TARGET_BYTES_MAX);
    w->last = &w->first;
    block_builder_init(&w->data, BLOCK_DATA_RESTART_EVERY);
    block_builder_init(&w->index, BLOCK_INDEX_RESTART_EVERY);
    block_builder_init(&w->top, BLOCK_INDEX_RESTART_EVERY);
    bloom_builder_init(&w->hashes);
    bloom_builder_init(&w->filter);
    sstable_properties_init(&w->properties);
    w->properties.bloom = w->group.bloom;
    w->codec = block_codec_ops(
        block_codec_find(w->group.compression, BLOCK_NEEDS_NOTHING));
    if (!w->codec)
        return;
    w->encoder = w->codec->encoder_new();
    w->sampling = w->group.dictionary &&
                  block_codec_find(w->group.compression,
                                   BLOCK_NEEDS_DICTIONARY) != BLOCK_RAW;
}

int sstable_writer_open(struct fs *fs,
                        const char *path,
                        const struct group_options *group,
                        uint64_t expected_bytes,
                        bool cached,
                        struct sstable_writer **out,
                        struct err *err)
{
    return sstable_writer_open_sealed(fs, path, group, expected_bytes, cached,
                                      fs_keyring(fs), out, err);
}

int sstable_writer_open_sealed(struct fs *fs,
                               const char *path,
                               const struct group_options *group,
                               uint64_t expected_bytes,
                               bool cached,
                               struct keyring *keys,
                               struct sstable_writer **out,
                               struct err *err)
{
    struct fs_write_options opts = {.mode = FS_WRITE_STREAM,
                                    .exclusive = true,
                                    .cached = cached,
                                    .expected_bytes = expected_bytes,
                                    .replication = group->replication};
    struct sstable_sealing *sealing = NULL;
    struct fs_writer *file;
    struct sstable_writer *w;
    int rc = keys ? sstable_sealing_new(keys, &sealing, err) : 0;

    *out = NULL;
    if (rc == 0)
        rc = fs_create(fs, path, &opts, &file, err);
    if (rc) {
        sstable_sealing_free(sealing);
        err_wrap(err, "table %s", path);
        return rc;
    }
    w = mem_zalloc(1, sizeof(*w));
    w->sealing = sealing;
    w->fs = fs;
    w->file = file;
    w->path = mem_strdup(path);
    w->group = *group;
    w->saved_part = SAVED_PART;
    w->try_every = HARD_TRY_EVERY;
    init_parts(w);
    *out = w;
    return 0;
}

void sstable_writer_hurry(struct sstable_writer *w)
{
    PRE(!w->finished);
    w->group.level = MIN_OF(w->group.level, HURRIED_LEVEL);
    w->saved_part = SAVED_PART_HURRIED;
    w->try_every = HARD_TRY_EVERY_HURRIED;
    w->sampling = false;
    reference_finder_free(w->references);
    w->references = NULL;
}

void sstable_writer_refer(struct sstable_writer *w)
{
    PRE(w->properties.entry_count == 0);
    PRE(!w->references);
    if (block_codec_find(w->group.compression, BLOCK_NEEDS_REFERENCE) ==
        BLOCK_RAW)
        return;
    w->references = reference_finder_new();
    w->group.level = MAX_OF(w->group.level, REFERENCE_LEVEL);
}

static void free_blocks(struct raw_block *b)
{
    while (b) {
        struct raw_block *next = b->next;
        buf_close(&b->bytes);
        buf_close(&b->separator);
        buf_close(&b->last_key);
        bloom_builder_close(&b->hashes);
        mem_free(b);
        b = next;
    }
}

void sstable_writer_free(struct sstable_writer *w)
{
    if (!w)
        return;
    fs_writer_close(w->file);
    if (!w->finished && fs_remove(w->fs, w->path, NULL))
        w->finished = false; /* Its owner sweeps strays at the next start. */
    free_blocks(w->first);
    free_blocks(w->spare);
    block_builder_close(&w->data);
    block_builder_close(&w->index);
    block_builder_close(&w->top);
    bloom_builder_close(&w->hashes);
    bloom_builder_close(&w->filter);
    buf_close(&w->partition_last_key);
    buf_close(&w->compressed);
    buf_close(&w->sealed);
    sstable_sealing_free(w->sealing);
    buf_close(&w->scratch);
    buf_close(&w->marks);
    sstable_properties_close(&w->properties);
    dictionary_free(w->dictionary);
    reference_finder_free(w->references);
    if (w->codec)
        w->codec->encoder_free(w->encoder);
    mem_free(w->path);
    mem_free(w);
}

static void writer_check(const struct sstable_writer *w)
{
    INVARIANT(!w->first == (w->last == &w->first));
    INVARIANT(!w->first == (w->queued_bytes == 0));
    INVARIANT(!w->first || w->sampling); /* INV-2 */
    INVARIANT(w->queued_bytes < DICTIONARY_SAMPLE_BYTES);
}

/* --- blocks to the file -------------------------------------------------- */

/* Append @payload with its trailer; *@h says where it went. */
static int write_payload(struct sstable_writer *w,
                         struct slice payload,
                         enum block_codec codec,
                         size_t raw_bytes,
                         struct block_handle *h,
                         struct err *err)
{
    char trailer[BLOCK_TRAILER_BYTES];
    uint64_t offset = fs_writer_offset(w->file);
    int rc;

    PRE(payload.len <= UINT32_MAX);
    PRE(raw_bytes <= UINT32_MAX);
    if (w->sealing) {
        buf_clear(&w->sealed);
        sstable_sealing_seal(w->sealing, offset, codec, payload, &w->sealed);
        payload = buf_slice(&w->sealed);
    }
    *h = (struct block_handle){offset, (uint32_t)payload.len,
                               (uint32_t)raw_bytes};
    block_trailer_put(trailer, codec, crc32c(payload.data, payload.len));
    rc = fs_writer_append(w->file, payload.data, payload.len, err);
    if (!rc)
        rc = fs_writer_append(w->file, trailer, sizeof(trailer), err);
    if (rc)
        err_wrap(err, "table %s", w->path);
    return rc;
}

/* Compress @raw into w->compressed, for blocks with @need; returns the codec,
 * or BLOCK_RAW when it is not worth it. @reference is of those that need one.
 */
static enum block_codec
sstable_writer_compress(struct sstable_writer *w,
                        struct slice raw,
                        enum block_need need,
                        const struct reference *reference)
{
    enum block_codec codec = block_codec_find(w->group.compression, need);
    const struct block_codec_ops *ops = block_codec_ops(codec);
    struct block_context context = {.dictionary = w->dictionary};
    size_t bound;
    size_t n;
    char *to;

    PRE(ops);
    PRE((need == BLOCK_NEEDS_REFERENCE) == (reference != NULL));
    buf_clear(&w->compressed);
    if (reference) {
        to = buf_reserve(&w->compressed, BLOCK_HANDLE_BYTES_MAX);
        w->compressed.len = (size_t)(block_handle_put(to, &reference->handle) -
                                     w->compressed.data);
        context.reference = reference->bytes;
    }
    bound = ops->bound(raw.len);
    to = buf_reserve(&w->compressed, bound);
    n = ops->compress(w->encoder, raw, w->group.level, &context, to, bound);
    if (n == 0 || (double)(w->compressed.len + n) >
                      (double)raw.len * (1.0 - w->saved_part))
        return BLOCK_RAW;
    INVARIANT(n <= bound);
    w->compressed.len += n;
    return codec;
}

/* The same for a block of entries without a reference; looks at how those
 * before it fared. */
static enum block_codec compress_alone(struct sstable_writer *w,
                                       struct slice raw)
{
    enum block_codec codec = BLOCK_RAW;
    PRE(w->codec);
    PRE(raw.len > 0);

    if (w->hard_blocks < HARD_BLOCKS_MAX || w->hard_blocks % w->try_every == 0)
        codec = sstable_writer_compress(
            w, raw,
            w->dictionary ? BLOCK_NEEDS_DICTIONARY : BLOCK_NEEDS_NOTHING, NULL);
    w->hard_blocks = codec == BLOCK_RAW ? w->hard_blocks + 1 : 0;
    return codec;
}

/* Write a decoded block that is not of entries, compressed if the group says so
 * and it pays. */
static int write_block(struct sstable_writer *w,
                       struct slice raw,
                       struct block_handle *h,
                       struct err *err)
{
    enum block_codec codec = BLOCK_RAW;
    PRE(!w->finished);
    PRE(raw.len > 0);

    if (w->codec)
        codec = sstable_writer_compress(w, raw, BLOCK_NEEDS_NOTHING, NULL);
    return write_payload(w,
                         codec == BLOCK_RAW ? raw : buf_slice(&w->compressed),
                         codec, raw.len, h, err);
}

/* The same of entries. One that refers to no other can be referred to. */
static int write_data(struct sstable_writer *w,
                      struct slice raw,
                      struct block_handle *h,
                      struct err *err)
{
    bool may_refer = w->references && raw.len >= REFERRING_BYTES_MIN;
    const struct reference *r =
        may_refer ? reference_finder_search(w->references, raw) : NULL;
    enum block_codec codec = BLOCK_RAW;
    bool refers;
    int rc;

    PRE(!w->finished);
    if (r)
        codec = sstable_writer_compress(w, raw, BLOCK_NEEDS_REFERENCE, r);
    refers = codec != BLOCK_RAW;
    if (!refers && w->codec)
        codec = compress_alone(w, raw);
    rc = write_payload(w, codec == BLOCK_RAW ? raw : buf_slice(&w->compressed),
                       codec, raw.len, h, err);
    INVARIANT(rc || !refers || r->handle.offset < h->offset); /* INV-4 */
    if (!rc && may_refer && !refers)
        reference_finder_keep(w->references, raw, h);
    return rc;
}

/* Write filter and index of the current partition and enter it in the top. */
static int cut_partition(struct sstable_writer *w, struct err *err)
{
    struct partition_entry e = {.block_count = w->partition_blocks};
    int rc = 0;

    if (w->partition_blocks == 0)
        return 0;
    INVARIANT(w->index.entry_count == w->partition_blocks); /* INV-3 */
    if (bloom_builder_count(&w->filter) > 0) {
        buf_clear(&w->scratch);
        bloom_builder_finish(&w->filter, w->group.bloom_bits, &w->scratch);
        rc = write_payload(w, buf_slice(&w->scratch), BLOCK_RAW, w->scratch.len,
                           &e.filter, err);
    }
    if (!rc)
        rc = write_block(w, block_builder_finish(&w->index), &e.index, err);
    if (rc)
        return rc;
    buf_clear(&w->scratch);
    partition_entry_append(&w->scratch, &e);
    block_builder_add(&w->top, buf_slice(&w->partition_last_key), 0,
                      buf_slice(&w->scratch));
    block_builder_reset(&w->index);
    w->partition_blocks = 0;
    return 0;
}

static int write_sealed(struct sstable_writer *w,
                        const struct raw_block *b,
                        struct err *err)
{
    char room[BLOCK_HANDLE_BYTES_MAX];
    struct block_handle h;
    char *end;
    int rc = write_data(w, buf_slice(&b->bytes), &h, err);

    PRE(b->last_key.len > 0);
    PRE(slice_cmp(buf_slice(&b->last_key), buf_slice(&b->separator)) < 0);
    if (rc)
        return rc;
    end = block_handle_put(room, &h);
    block_builder_add(&w->index, buf_slice(&b->separator), 0,
                      slice_make(room, (size_t)(end - room)));
    for (size_t i = 0; i < bloom_builder_count(&b->hashes); i++)
        bloom_builder_add(&w->filter, get_le64(b->hashes.hashes.data + 8 * i));
    buf_clear(&w->partition_last_key);
    buf_append_slice(&w->partition_last_key, buf_slice(&b->last_key));
    w->partition_blocks++;
    w->properties.block_count++;
    if (block_builder_bytes(&w->index) >= PARTITION_INDEX_BYTES ||
        bloom_builder_count(&w->filter) >= PARTITION_FILTER_COUNT)
        return cut_partition(w, err);
    return 0;
}

static int write_queue(struct sstable_writer *w, struct err *err)
{
    PRE(!w->sampling); /* INV-2 */
    while (w->first) {
        struct raw_block *b = w->first;
        int rc = write_sealed(w, b, err);
        if (rc)
            return rc;
        w->first = b->next;
        b->next = w->spare;
        w->spare = b;
    }
    w->last = &w->first;
    w->queued_bytes = 0;
    writer_check(w);
    return 0;
}

/* The sample is complete: train on it. */
static void end_sampling(struct sstable_writer *w)
{
    size_t count = 0;
    struct slice *blocks;
    struct raw_block *b;

    PRE(w->sampling);
    PRE(!w->dictionary);
    w->sampling = false;
    if (w->queued_bytes < DICTIONARY_SAMPLE_BYTES_MIN)
        return;
    for (b = w->first; b; b = b->next)
        count++;
    blocks = mem_alloc(count * sizeof(*blocks));
    count = 0;
    for (b = w->first; b; b = b->next)
        blocks[count++] = buf_slice(&b->bytes);
    w->dictionary = dictionary_train(blocks, count, w->group.level);
    w->properties.dictionary_tried = 1;
    mem_free(blocks);
}

/* --- entries ------------------------------------------------------------- */

static struct raw_block *take_block(struct sstable_writer *w)
{
    struct raw_block *b = w->spare;
    PRE(!w->finished);

    if (b)
        w->spare = b->next;
    else
        b = mem_zalloc(1, sizeof(*b));
    b->next = NULL;
    buf_clear(&b->separator);
    buf_clear(&b->last_key);
    buf_clear(&b->hashes.hashes);
    return b;
}

/* Close the current block; @next is the key behind it (empty at the end), which
 * shares @shared bytes with the block's last one. */
static int sstable_writer_seal(struct sstable_writer *w,
                               struct slice next,
                               size_t shared,
                               struct err *err)
{
    struct raw_block *b = take_block(w);
    struct buf swap = b->bytes;
    struct bloom_builder swap_hashes = b->hashes;

    PRE(!block_builder_empty(&w->data));
    buf_append_slice(&b->last_key, buf_slice(&w->data.last_key));
    if (next.len > 0) {
        buf_append(&b->separator, next.data, shared + 1);
    } else {
        buf_append_slice(&b->separator, buf_slice(&b->last_key));
        buf_append_byte(&b->separator, '\0');
    }
    block_builder_finish(&w->data);
    b->bytes = w->data.out;
    w->data.out = swap;
    block_builder_reset(&w->data);
    b->hashes = w->hashes;
    w->hashes = swap_hashes;
    /* Row and column are hashed again in the next block: it may begin another
     * partition, whose filter must have them. */
    w->row_len = 0;
    w->column_len = 0;
    *w->last = b;
    w->last = &b->next;
    w->queued_bytes += b->bytes.len;
    if (w->sampling && w->queued_bytes >= DICTIONARY_SAMPLE_BYTES)
        end_sampling(w);
    return w->sampling ? 0 : write_queue(w, err);
}

/* Hash the parts of @key that are new since the last one. */
static void
add_hashes(struct sstable_writer *w, struct slice key, size_t shared)
{
    bool new_row = shared < w->row_len || w->row_len == 0;

    if (!new_row && shared >= w->column_len)
        return;
    w->row_len = cell_key_row_length(key);
    w->column_len = cell_key_column_length(key);
    INVARIANT(w->row_len > 0);
    INVARIANT(w->column_len > w->row_len + 2);
    /* The family's id follows the row part, see row/cell_key.h. */
    w->family = (family_id)((unsigned char)key.data[w->row_len] << 8 |
                            (unsigned char)key.data[w->row_len + 1]);
    w->has_time = w->column_len + 16 <= key.len;
    if (w->group.bloom == BLOOM_NONE)
        return;
    if (new_row)
        bloom_builder_add(&w->hashes, hash64(key.data, w->row_len, 0));
    if (w->group.bloom == BLOOM_ROW_COLUMN)
        bloom_builder_add(&w->hashes, hash64(key.data, w->column_len, 0));
}

/* How much of a block a reader of one entry may have to decode in vain. Large
 * values gain most from each other's text (versions of a page, pages of a
 * host), and their readers notice it least, so they get more company. */
static size_t bytes_beyond_max(const struct sstable_writer *w, size_t smallest)
{
    if (w->references) /* They find that text in other blocks. */
        return MIN_OF(w->block_target, LARGE_TARGET_BYTES);
    if (smallest >= LARGE_ENTRY_BYTES && w->block_target >= LARGE_TARGET_BYTES)
        return BLOCK_TARGET_BYTES_MAX;
    return w->block_target;
}

/* Must the block be closed before an entry of @bytes? */
static bool must_seal(const struct sstable_writer *w, size_t bytes)
{
    size_t smallest = MIN_OF(w->smallest_bytes, bytes);
    size_t after = block_builder_bytes(&w->data) + bytes;
    ASSERT_SLOW(bytes > 0);
    ASSERT_SLOW(!w->finished);

    return !block_builder_empty(&w->data) &&
           after - smallest > bytes_beyond_max(w, smallest);
}

int sstable_writer_add(struct sstable_writer *w,
                       struct slice key,
                       struct slice value,
                       struct err *err)
{
    struct slice last = buf_slice(&w->properties.last_key);
    size_t shared = key_shared_bytes(last, key);
    int rc;

    PRE(!w->finished);
    PRE(shared < key.len);
    PRE(shared == last.len ||
        (unsigned char)key.data[shared] > (unsigned char)last.data[shared]);
    if (must_seal(w, key.len + value.len)) {
        rc = sstable_writer_seal(w, key, shared, err);
        if (rc)
            return rc;
    }
    if (w->properties.entry_count == 0)
        buf_append_slice(&w->properties.first_key, key);
    add_hashes(w, key, shared);
    sstable_properties_count(&w->properties, key, value.len, w->family,
                             w->has_time);
    if (block_builder_empty(&w->data))
        w->smallest_bytes = SIZE_MAX;
    w->smallest_bytes = MIN_OF(w->smallest_bytes, key.len + value.len);
    block_builder_add(&w->data, key, shared, value);
    buf_truncate(&w->properties.last_key, shared);
    buf_append(&w->properties.last_key, key.data + shared, key.len - shared);
    return 0;
}

uint64_t sstable_writer_bytes(const struct sstable_writer *w)
{
    PRE(!w->finished);
    return fs_writer_offset(w->file) + w->queued_bytes +
           block_builder_bytes(&w->data) + block_builder_bytes(&w->index);
}

/* --- the end of the file ------------------------------------------------- */

static int write_tail(struct sstable_writer *w, struct err *err)
{
    struct sstable_footer footer = {0};
    int rc = 0;

    PRE(!w->first);
    PRE(w->partition_blocks == 0);
    PRE(w->top.entry_count > 0);
    if (w->dictionary)
        rc = write_payload(w, w->dictionary->bytes, BLOCK_RAW,
                           w->dictionary->bytes.len, &footer.dictionary, err);
    if (!rc && w->marks.len)
        rc = write_block(w, buf_slice(&w->marks), &w->properties.marks, err);
    if (!rc) {
        buf_clear(&w->scratch);
        sstable_properties_append(&w->scratch, &w->properties);
        rc = write_payload(w, buf_slice(&w->scratch), BLOCK_RAW, w->scratch.len,
                           &footer.properties, err);
    }
    if (!rc)
        rc = write_block(w, block_builder_finish(&w->top), &footer.top, err);
    if (rc)
        return rc;
    footer.is_sealed = w->sealing != NULL;
    buf_clear(&w->scratch);
    sstable_footer_append(&w->scratch, &footer);
    if (w->sealing) {
        buf_clear(&w->sealed);
        sstable_sealing_append(w->sealing, fs_writer_offset(w->file),
                               buf_slice(&w->scratch), &w->sealed);
        buf_clear(&w->scratch);
        buf_append_slice(&w->scratch, buf_slice(&w->sealed));
    }
    rc = fs_writer_append(w->file, w->scratch.data, w->scratch.len, err);
    w->file_bytes = fs_writer_offset(w->file);
    if (!rc)
        rc = fs_writer_sync(w->file, err);
    if (rc)
        err_wrap(err, "table %s", w->path);
    return rc;
}

void sstable_writer_set_changes(struct sstable_writer *w,
                                const struct change_extent *extent,
                                struct slice marks)
{
    PRE(!w->finished);
    PRE(marks.len > 0);
    PRE(extent->end_sequence >= w->properties.sequence_max);
    buf_clear(&w->marks);
    buf_append_slice(&w->marks, marks);
    w->properties.changes = *extent;
}

int sstable_writer_finish(struct sstable_writer *w, struct err *err)
{
    int rc;

    PRE(!w->finished);
    PRE(w->properties.entry_count > 0);
    rc = sstable_writer_seal(w, SLICE_EMPTY, 0, err);
    if (!rc && w->sampling) {
        end_sampling(w);
        rc = write_queue(w, err);
    }
    if (!rc)
        rc = cut_partition(w, err);
    if (!rc)
        rc = write_tail(w, err);
    if (!rc) {
        fs_writer_close(w->file);
        w->file = NULL;
    }
    w->finished = rc == 0;
    return rc;
}

const struct sstable_properties *
sstable_writer_properties(const struct sstable_writer *w)
{
    PRE(w->finished);
    return &w->properties;
}

uint64_t sstable_writer_file_bytes(const struct sstable_writer *w)
{
    PRE(w->finished);
    return w->file_bytes;
}
