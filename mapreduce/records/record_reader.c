/* Record files, read by their index. The index is verified first: its block
 * sizes must fill the file exactly, so that a split's offsets are block
 * borders. */
#include "mapreduce/records/record_reader.h"

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/record_writer.h"

#define RECORD_READ_BYTES ((size_t)512 << 10)
/* An index takes a few bytes a block of 128 KiB. */
#define INDEX_BYTES_MAX ((uint64_t)1 << 30)

static int read_exactly(struct record_reader *r,
                        uint64_t offset,
                        char *dst,
                        size_t len,
                        struct err *err)
{
    size_t got = 0;
    int rc = job_file_read_at(r->file, offset, dst, len, &got, err);
    if (rc == 0 && got < len)
        rc = err_set(err, ERR_CORRUPT, "ends at offset %llu",
                     (unsigned long long)(offset + got));
    return rc;
}

/* The blocks of the index must fill the file from its magic to the index. */
static int index_verify(const struct record_reader *r, struct err *err)
{
    uint64_t end = 8;
    uint64_t total = 0;
    uint64_t bytes;
    uint64_t records;
    size_t cursor = 0;
    uint32_t blocks = 0;
    while (record_reader_block(r, &cursor, &bytes, &records)) {
        if (bytes > r->data_end - end)
            break;
        end += bytes;
        total += records;
        blocks++;
    }
    if (cursor != r->index.len || end != r->data_end ||
        total != r->record_count || blocks != r->block_count)
        return err_set(err, ERR_CORRUPT, "its index does not fit its blocks");
    return 0;
}

static int index_load(struct record_reader *r,
                      const char *footer,
                      uint64_t size,
                      struct err *err)
{
    uint64_t bytes;
    int rc;
    r->data_end = get_le64(footer);
    r->block_count = get_le32(footer + 8);
    r->record_count = get_le64(footer + 16);
    if (r->data_end < 8 || r->data_end > size - RECORD_FILE_FOOTER_BYTES)
        return err_set(err, ERR_CORRUPT, "footer points outside the file");
    bytes = size - RECORD_FILE_FOOTER_BYTES - r->data_end;
    if (bytes > INDEX_BYTES_MAX)
        return err_set(err, ERR_CORRUPT, "index of an impossible size");
    buf_extend(&r->index, bytes + 12);
    rc = read_exactly(r, r->data_end, r->index.data, bytes + 12, err);
    if (rc)
        return rc;
    if (crc32c(r->index.data, bytes + 12) != get_le32(footer + 12))
        return err_set(err, ERR_CORRUPT, "index with a wrong checksum");
    r->index.len = bytes;
    return index_verify(r, err);
}

static int check_magic(struct record_reader *r, uint64_t *size, struct err *err)
{
    char magic[8];
    int rc = job_file_size(r->file, size, err);
    if (rc)
        return rc;
    if (*size < 8)
        return err_set(err, ERR_CORRUPT, "not a record file: too short");
    rc = read_exactly(r, 0, magic, sizeof(magic), err);
    if (rc == 0 && get_le64(magic) != RECORD_FILE_MAGIC)
        rc = err_set(err, ERR_CORRUPT, "not a record file");
    return rc;
}

static int record_reader_load(struct record_reader *r, struct err *err)
{
    char footer[RECORD_FILE_FOOTER_BYTES];
    uint64_t size;
    int rc = check_magic(r, &size, err);
    if (rc)
        return rc;
    if (size < 8 + RECORD_FILE_FOOTER_BYTES)
        return err_set(err, ERR_CORRUPT, "cut short: no footer");
    rc = read_exactly(r, size - sizeof(footer), footer, sizeof(footer), err);
    if (rc)
        return rc;
    if (get_le64(footer + 24) != RECORD_FILE_MAGIC)
        return err_set(err, ERR_CORRUPT, "cut short: no footer at offset %llu",
                       (unsigned long long)(size - sizeof(footer)));
    return index_load(r, footer, size, err);
}

static int load_unindexed(struct record_reader *r, struct err *err)
{
    return check_magic(r, &r->data_end, err);
}

static int open_with(struct record_reader *r,
                     const struct job_files *files,
                     const char *path,
                     int (*load_it)(struct record_reader *r, struct err *err),
                     struct err *err)
{
    int rc;
    *r = (struct record_reader){.path = mem_strdup(path)};
    block_codec_init(&r->codec, 0);
    rc = job_file_open(files, path, &r->file, err);
    if (rc == 0) {
        rc = load_it(r, err);
        if (rc)
            err_wrap(err, "%s", path);
    }
    if (rc)
        record_reader_close(r);
    else
        record_reader_limit(r, 8, r->data_end);
    return rc;
}

int record_reader_open(struct record_reader *r,
                       const struct job_files *files,
                       const char *path,
                       struct err *err)
{
    return open_with(r, files, path, record_reader_load, err);
}

int record_reader_salvage(struct record_reader *r,
                          const struct job_files *files,
                          const char *path,
                          struct err *err)
{
    return open_with(r, files, path, load_unindexed, err);
}

void record_reader_close(struct record_reader *r)
{
    if (r->open)
        pair_reader_close(&r->blocks);
    block_codec_close(&r->codec);
    buf_close(&r->index);
    job_file_close(r->file);
    mem_free(r->path);
    *r = (struct record_reader){.file = NULL};
}

void record_reader_limit(struct record_reader *r, uint64_t begin, uint64_t end)
{
    PRE(begin <= end && end <= r->data_end);
    if (r->open)
        pair_reader_close(&r->blocks);
    pair_reader_init(&r->blocks, r->file, begin, end,
                     (size_t)MIN_OF(end - begin, RECORD_READ_BYTES), &r->codec);
    r->open = true;
    r->limit = end;
    r->block_records = 0;
}

int record_reader_next(struct record_reader *r,
                       struct slice *key,
                       struct slice *value,
                       bool *more,
                       struct err *err)
{
    uint64_t block = r->blocks.block_offset;
    int rc = pair_reader_next(&r->blocks, more, err);
    if (r->blocks.block_offset != block)
        r->block_records = 0;
    if (rc) {
        err_wrap(err, "%s", r->path);
        return rc;
    }
    r->block_records += *more;
    *key = pair_reader_key(&r->blocks);
    *value = pair_reader_value(&r->blocks);
    return 0;
}

bool record_reader_block(const struct record_reader *r,
                         size_t *cursor,
                         uint64_t *bytes,
                         uint64_t *records)
{
    const char *end = r->index.data + r->index.len;
    const char *p = r->index.data + *cursor;
    if (*cursor >= r->index.len)
        return false;
    p = get_varint(p, end, bytes);
    p = p ? get_varint(p, end, records) : NULL;
    if (!p)
        return false;
    *cursor = (size_t)(p - r->index.data);
    return true;
}
