/* Continuing after damage in a record file: by its index, or, when that is lost
 * as well, by searching for bytes whose checksum makes them a block. */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/record_reader.h"

/* Searched at a time. */
#define WINDOW_BYTES ((size_t)1 << 20)
/* Larger blocks, of one huge value, are found by the index alone: each place
 * that might be one costs a checksum over it. */
#define SOUGHT_BYTES_MAX ((size_t)4 << 20)
/* Bytes checksummed without success before the rest of the file is given up:
 * this many, and more in proportion to the bytes searched. Bounds the work on
 * hostile files. */
#define VAIN_BYTES_MIN ((uint64_t)64 << 20)
#define VAIN_PER_BYTE  16

/* --- by the index -------------------------------------------------------- */

static void skip_indexed(struct record_reader *r, uint64_t *records)
{
    uint64_t at = 8;
    uint64_t bytes = 0;
    uint64_t count = 0;
    size_t cursor = 0;
    while (record_reader_block(r, &cursor, &bytes, &count) &&
           at < r->blocks.block_offset)
        at += bytes;
    INVARIANT(at == r->blocks.block_offset);
    /* The checksum was right and the entries were not: some have been given
     * out. */
    *records = count - MIN_OF(count, r->block_records);
    record_reader_limit(r, at + bytes, r->limit);
}

/* --- by its looks -------------------------------------------------------- */

struct search {
    struct record_reader *r;
    char *window;
    char *block;
    uint64_t vain; /* Bytes checksummed in vain. */
};

/* Does a block begin at @p, which is at @offset of the file? */
static bool is_block(struct search *s, uint64_t offset, const char *p)
{
    struct pair_block_header h;
    size_t bytes;
    size_t got = 0;
    if (pair_block_header_decode(p, &h, NULL))
        return false;
    bytes = BLOCK_HEADER_BYTES + h.stored_bytes;
    if (bytes > SOUGHT_BYTES_MAX || offset + bytes > s->r->data_end)
        return false;
    s->vain += bytes;
    if (job_file_read_at(s->r->file, offset, s->block, bytes, &got, NULL) ||
        got < bytes)
        return false;
    return h.crc == crc32c_extend(crc32c(s->block, 12),
                                  s->block + BLOCK_HEADER_BYTES,
                                  h.stored_bytes);
}

/* Index in @bytes, which are at @offset, of the first block; bytes.len: none,
 * or too much was checksummed. */
static size_t look_through(struct search *s,
                           struct slice bytes,
                           uint64_t offset,
                           uint64_t vain_max)
{
    for (size_t i = 0; i + BLOCK_HEADER_BYTES <= bytes.len; i++) {
        if (s->vain > vain_max)
            break;
        if (is_block(s, offset + i, bytes.data + i))
            return i;
    }
    return bytes.len;
}

/* The first block from @from on; data_end: none. */
static int
find_block(struct search *s, uint64_t from, uint64_t *found, struct err *err)
{
    uint64_t end = s->r->data_end;
    uint64_t limit = VAIN_BYTES_MIN;
    uint64_t at = from;
    while (at + BLOCK_HEADER_BYTES <= end) {
        size_t got = 0;
        size_t want = (size_t)MIN_OF((uint64_t)WINDOW_BYTES, end - at);
        int rc = job_file_read_at(s->r->file, at, s->window, want, &got, err);
        if (rc)
            return rc;
        *found = at + look_through(s, slice_make(s->window, got), at, limit);
        if (*found < at + got)
            return 0;
        limit += VAIN_PER_BYTE * (uint64_t)got;
        if (got < want || s->vain > limit)
            break;
        at += got - BLOCK_HEADER_BYTES + 1;
    }
    *found = end;
    return 0;
}

static int
skip_unindexed(struct record_reader *r, uint64_t *next, struct err *err)
{
    struct search s = {.r = r};
    int rc;
    s.window = mem_alloc(WINDOW_BYTES);
    s.block = mem_alloc(SOUGHT_BYTES_MAX);
    rc = find_block(&s, r->blocks.block_offset + 1, next, err);
    if (rc == 0)
        record_reader_limit(r, *next, r->data_end);
    mem_free(s.window);
    mem_free(s.block);
    return rc;
}

int record_reader_resync(struct record_reader *r,
                         uint64_t *records,
                         uint64_t *bytes,
                         struct err *err)
{
    uint64_t from = r->blocks.block_offset;
    uint64_t next = 0;
    int rc = 0;
    *records = 0;
    if (r->block_count > 0)
        skip_indexed(r, records);
    else
        rc = skip_unindexed(r, &next, err);
    *bytes = r->blocks.offset - from;
    return rc;
}
