/* Record files, written front to back: blocks as they fill, then the index that
 * lets a planner cut the file into splits without reading it. */
#include "mapreduce/records/record_writer.h"

#include "base/core/coding.h"
#include "base/core/crc32c.h"

int record_writer_open(struct record_writer *r,
                       const struct job_files *files,
                       const char *path,
                       int level,
                       struct err *err)
{
    char magic[8];
    int rc;
    *r = (struct record_writer){.block_count = 0};
    block_codec_init(&r->codec, level);
    pair_block_builder_init(&r->block);
    rc = stream_writer_open(&r->out, files, path, err);
    if (rc)
        return rc;
    put_le64(magic, RECORD_FILE_MAGIC);
    stream_writer_append(&r->out, magic, sizeof(magic));
    return 0;
}

static void block_flush(struct record_writer *r)
{
    uint32_t entries = r->block.count;
    if (entries == 0)
        return;
    buf_clear(&r->stored);
    pair_block_builder_finish(&r->block, &r->codec, &r->stored);
    stream_writer_append(&r->out, r->stored.data, r->stored.len);
    buf_put_varint(&r->index, r->stored.len);
    buf_put_varint(&r->index, entries);
    r->block_count++;
}

void record_writer_add(struct record_writer *r,
                       struct slice key,
                       struct slice value)
{
    pair_block_builder_add(&r->block, key, value);
    r->record_count++;
    if (r->block.raw.len >= BLOCK_BYTES)
        block_flush(r);
}

int record_writer_finish(struct record_writer *r, bool sync, struct err *err)
{
    char *footer;
    size_t index_bytes;
    block_flush(r);
    index_bytes = r->index.len;
    footer = buf_extend(&r->index, RECORD_FILE_FOOTER_BYTES);
    put_le64(footer, stream_writer_offset(&r->out));
    put_le32(footer + 8, r->block_count);
    put_le32(footer + 12, crc32c(r->index.data, index_bytes + 12));
    put_le64(footer + 16, r->record_count);
    put_le64(footer + 24, RECORD_FILE_MAGIC);
    stream_writer_append(&r->out, r->index.data, r->index.len);
    return stream_writer_finish(&r->out, sync, err);
}

void record_writer_close(struct record_writer *r)
{
    stream_writer_close(&r->out);
    block_codec_close(&r->codec);
    pair_block_builder_close(&r->block);
    buf_close(&r->stored);
    buf_close(&r->index);
}
