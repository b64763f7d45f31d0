/* Writing spills and reading their indexes. The index is written last and
 * checked first: a reader never opens a spill whose writer died. Order is
 * asserted as pairs are written, since every merge later depends on it. */
#include "mapreduce/shuffle/spill.h"

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/records/files.h"

/* An index is a few bytes per segment; a larger one is not ours. */
#define INDEX_BYTES_MAX ((uint64_t)64 << 20)

int spill_writer_open(struct spill_writer *s,
                      struct world *w,
                      const char *path,
                      struct block_codec *codec,
                      struct err *err)
{
    char magic[8];
    int rc;
    *s = (struct spill_writer){.codec = codec};
    pair_block_builder_init(&s->block);
    rc =
        stream_writer_open(&s->out, &(struct job_files){.world = w}, path, err);
    if (rc)
        return rc;
    put_le64(magic, SPILL_MAGIC);
    stream_writer_append(&s->out, magic, sizeof(magic));
    return 0;
}

static struct spill_segment *segment_last(struct spill_writer *s)
{
    return s->segment_count ? &s->segments[s->segment_count - 1] : NULL;
}

static void block_flush(struct spill_writer *s)
{
    struct spill_segment *last = segment_last(s);
    if (s->block.count == 0)
        return;
    buf_clear(&s->stored);
    s->raw_bytes += s->block.raw.len;
    pair_block_builder_finish(&s->block, s->codec, &s->stored);
    stream_writer_append(&s->out, s->stored.data, s->stored.len);
    INVARIANT(last != NULL);
    last->bytes = stream_writer_offset(&s->out) - last->offset;
}

void spill_writer_start_run(struct spill_writer *s)
{
    block_flush(s);
    s->run_count++;
}

static void segment_start(struct spill_writer *s, uint32_t partition)
{
    block_flush(s);
    if (s->segment_count == s->segment_cap) {
        s->segment_cap = MAX_OF(16, 2 * s->segment_cap);
        s->segments =
            mem_realloc(s->segments, s->segment_cap * sizeof(*s->segments));
    }
    s->segments[s->segment_count++] = (struct spill_segment){
        .partition = partition,
        .run = s->run_count - 1,
        .offset = stream_writer_offset(&s->out),
    };
}

void spill_writer_add(struct spill_writer *s,
                      uint32_t partition,
                      struct slice key,
                      struct slice value)
{
    struct spill_segment *last = segment_last(s);
    PRE(s->run_count > 0);
    if (!last || last->partition != partition ||
        last->run != s->run_count - 1) {
        segment_start(s, partition);
        last = segment_last(s);
    }
    INVARIANT(last->partition == partition); /* INV-1 */
    pair_block_builder_add(&s->block, key, value);
    last->pairs++;
    if (s->block.raw.len >= BLOCK_BYTES)
        block_flush(s);
}

static void index_encode(const struct spill_writer *s, struct buf *out)
{
    PRE(s->block.count == 0);
    char *p;
    uint32_t crc;
    uint64_t offset = stream_writer_offset(&s->out);
    for (size_t i = 0; i < s->segment_count; i++) {
        const struct spill_segment *g = &s->segments[i];
        buf_put_varint(out, g->partition);
        buf_put_varint(out, g->run);
        buf_put_varint(out, g->offset);
        buf_put_varint(out, g->bytes);
        buf_put_varint(out, g->pairs);
    }
    p = buf_extend(out, SPILL_FOOTER_BYTES);
    put_le64(p, offset);
    put_le32(p + 8, (uint32_t)s->segment_count);
    crc = crc32c(out->data, out->len - SPILL_FOOTER_BYTES + 12);
    put_le32(p + 12, crc);
    put_le64(p + 16, SPILL_MAGIC);
}

int spill_writer_finish(struct spill_writer *s, struct err *err)
{
    struct buf index = BUF_INIT;
    int rc;
    block_flush(s);
    index_encode(s, &index);
    stream_writer_append(&s->out, index.data, index.len);
    buf_close(&index);
    rc = stream_writer_finish(&s->out, false, err);
    return rc;
}

void spill_writer_close(struct spill_writer *s)
{
    stream_writer_close(&s->out);
    pair_block_builder_close(&s->block);
    buf_close(&s->stored);
    mem_free(s->segments);
    s->segments = NULL;
}

/* --- the index, read ----------------------------------------------------- */

static int index_decode(struct slice bytes,
                        uint32_t count,
                        uint64_t index_offset,
                        struct spill_segment *segments,
                        struct err *err)
{
    struct cursor c = cursor_make(bytes);
    for (uint32_t i = 0; i < count; i++) {
        struct spill_segment *g = &segments[i];
        g->partition = (uint32_t)cursor_varint(&c);
        g->run = (uint32_t)cursor_varint(&c);
        g->offset = cursor_varint(&c);
        g->bytes = cursor_varint(&c);
        g->pairs = cursor_varint(&c);
        if (c.bad || g->offset > index_offset ||
            g->bytes > index_offset - g->offset)
            return err_set(err, ERR_CORRUPT, "malformed index");
    }
    if (cursor_left(&c) > 0)
        return err_set(err, ERR_CORRUPT, "bytes behind the index");
    return 0;
}

static int read_exactly(struct file *f,
                        uint64_t offset,
                        char *dst,
                        size_t len,
                        struct err *err)
{
    size_t got = 0;
    int rc = file_read_at(f, offset, dst, len, &got, err);
    if (rc == 0 && got < len)
        rc = err_set(err, ERR_CORRUPT, "file ends at %llu",
                     (unsigned long long)(offset + got));
    return rc;
}

static int index_load(struct file *f,
                      struct spill_segment **segments,
                      size_t *count,
                      struct err *err)
{
    char footer[SPILL_FOOTER_BYTES];
    uint64_t size;
    uint64_t offset;
    uint64_t bytes;
    struct buf index = BUF_INIT;
    int rc = file_size(f, &size, err);
    if (rc)
        return rc;
    if (size < 8 + SPILL_FOOTER_BYTES)
        return err_set(err, ERR_CORRUPT, "too short for a spill");
    rc =
        read_exactly(f, size - SPILL_FOOTER_BYTES, footer, sizeof(footer), err);
    if (rc)
        return rc;
    offset = get_le64(footer);
    *count = get_le32(footer + 8);
    if (get_le64(footer + 16) != SPILL_MAGIC ||
        offset > size - SPILL_FOOTER_BYTES)
        return err_set(err, ERR_CORRUPT, "footer is not that of a spill");
    bytes = size - SPILL_FOOTER_BYTES - offset;
    if (bytes > INDEX_BYTES_MAX || *count > bytes)
        return err_set(err, ERR_CORRUPT, "index of an impossible size");
    buf_extend(&index, bytes + 12);
    rc = read_exactly(f, offset, index.data, bytes + 12, err);
    if (rc == 0 && crc32c(index.data, bytes + 12) != get_le32(footer + 12))
        rc = err_set(err, ERR_CORRUPT, "index with a wrong checksum");
    if (rc == 0) {
        *segments = mem_zalloc(*count + 1, sizeof(**segments));
        rc = index_decode(slice_make(index.data, bytes), (uint32_t)*count,
                          offset, *segments, err);
    }
    buf_close(&index);
    return rc;
}

int spill_index_read(struct world *w,
                     const char *path,
                     struct spill_segment **segments,
                     size_t *count,
                     struct err *err)
{
    struct file *f;
    int rc = file_open(w, path, FILE_READ, &f, err);
    *segments = NULL;
    *count = 0;
    if (rc)
        return rc;
    rc = index_load(f, segments, count, err);
    file_close(f);
    if (rc) {
        err_wrap(err, "spill %s", path);
        mem_free(*segments);
        *segments = NULL;
        *count = 0;
    }
    return rc;
}
