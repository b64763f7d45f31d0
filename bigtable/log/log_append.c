/* Records into the current segment of the commit log. A group goes through the
 * page cache, or past it and synced in one step: the second way is taken when
 * all before it is on the disk, because then one write is all that its sync
 * needs.
 *
 * A write past the page cache is of whole pages, as direct I/O demands: the
 * block keeps the contents of the last page, and zeros fill the rest. Zeros go
 * ahead of the end of a new file, so that most such writes do not change its
 * map.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/log/commit_log_parts.h"
#include "bigtable/log/log_seal.h"

/* Appends up to this size are copied together and written as one piece: through
 * the page cache. */
#define GATHER_BYTES_MAX ((size_t)256 << 10)
/* A write past the page cache to a place where the file has nothing yet changes
 * the file's map, which costs a sync as much again as the data. So zeros go
 * ahead, as many as there is log already, up to this; a write that is large
 * itself does without. */
#define AHEAD_BYTES_MAX ((uint64_t)1 << 20)
#define ZERO_BYTES      ((size_t)64 << 10)
#define AHEAD_PARTS_MAX (AHEAD_BYTES_MAX / ZERO_BYTES)

/* Pages are written as a whole, zeros behind the last record: to change a part
 * of one that the system does not have in memory, as those of a spare, it would
 * have to read it first. */
#define PAGE_BYTES ((uint64_t)LOG_PAGE_BYTES)

static size_t payload_bytes(const struct log_record *r)
{
    size_t n = 0;
    PRE(r->parts || r->part_count == 0);
    for (size_t i = 0; i < r->part_count; i++)
        n += r->parts[i].len;
    return n;
}

/* Of @r as it is stored. */
static size_t stored_bytes(const struct commit_log *l,
                           const struct log_record *r)
{
    return payload_bytes(r) + (l->keyring ? LOG_SEAL_BYTES : 0);
}

size_t commit_log__bytes(const struct commit_log *l,
                         const struct log_record *records,
                         size_t count)
{
    size_t n = 0;
    PRE(records || count == 0);
    for (size_t i = 0; i < count; i++)
        n += LOG_RECORD_HEADER_BYTES + stored_bytes(l, &records[i]);
    return n;
}

static struct log_record_header header_of(const struct commit_log *l,
                                          const struct log_record *r)
{
    PRE(stored_bytes(l, r) <= UINT32_MAX);
    return (struct log_record_header){(uint32_t)stored_bytes(l, r), r->count,
                                      r->sequence, atomic_load(&l->synced)};
}

/* Zeros to write behind a record that ends at @end of the file. */
static size_t pad_bytes(const struct commit_log *l, uint64_t end)
{
    return end <= l->segments.current->whole
               ? 0
               : (size_t)((PAGE_BYTES - end % PAGE_BYTES) % PAGE_BYTES);
}

/* Put records together behind what the last page holds. */
static void log_append_gather(struct commit_log *l,
                              const struct log_record *records,
                              size_t count)
{
    PRE(count > 0);
    for (size_t i = 0; i < count; i++) {
        struct log_record_header h = header_of(l, &records[i]);
        char *to =
            log_block_extend(&l->block, LOG_RECORD_HEADER_BYTES + h.length);
        if (l->sealer)
            log_put_sealed_record(to, l->sealer, l->segments.current->number,
                                  &h, records[i].parts, records[i].part_count);
        else
            log_put_record(to, l->segments.current->number, &h,
                           records[i].parts, records[i].part_count);
    }
}

/* Write records as one piece, copied together. The contents of the last page
 * are written with them when the page cache does not have it. */
static int write_gathered(struct commit_log *l,
                          const struct log_record *records,
                          size_t count,
                          uint64_t offset,
                          struct err *err)
{
    size_t tail = l->block.len;
    size_t from = l->cached ? tail : 0;
    struct slice whole;
    int rc;
    log_append_gather(l, records, count);
    whole = !l->cached || pad_bytes(l, offset + l->block.len - tail) > 0
                ? log_block_padded(&l->block, from)
                : slice_make(l->block.data + from, l->block.len - from);
    rc = file_write_at(l->segments.current->file, offset - tail + from, &whole,
                       1, err);
    if (rc) {
        l->block.len = tail;
        return rc;
    }
    l->cached = true;
    log_block_keep_tail(&l->block);
    POST(l->block.len < LOG_PAGE_BYTES); /* INV-3 */
    return 0;
}

/* The zeros to write behind @end of the file, in parts: see AHEAD_BYTES_MAX. */
static size_t put_zeros(const struct commit_log *l,
                        size_t bytes,
                        uint64_t end,
                        struct slice *v)
{
    static _Alignas(4096) const char zeros[ZERO_BYTES];
    const struct segment *s = l->segments.current;
    uint64_t room =
        l->segments.segment_bytes > end ? l->segments.segment_bytes - end : 0;
    uint64_t ahead = MIN_OF(MIN_OF(s->whole, room), AHEAD_BYTES_MAX);
    size_t count = 0;
    PRE(bytes % PAGE_BYTES == 0);
    if (!s->is_new || end <= s->whole || bytes > AHEAD_BYTES_MAX / 4)
        return 0;
    for (ahead -= ahead % PAGE_BYTES; ahead > 0;) {
        INVARIANT(count < AHEAD_PARTS_MAX);
        size_t n = MIN_OF((size_t)ahead, sizeof(zeros));
        v[count++] = slice_make(zeros, n);
        ahead -= n;
    }
    return count;
}

static int open_direct(struct commit_log *l, struct err *err)
{
    struct segment *s = l->segments.current;
    char path[LOG_PATH_BYTES];
    PRE(s->file);
    if (s->direct)
        return 0;
    log_segment_path(path, l->segments.dir, s->number);
    return file_open(l->segments.world, path, FILE_WRITE | FILE_DIRECT,
                     &s->direct, err);
}

int commit_log__write_direct(struct commit_log *l,
                             const struct log_record *records,
                             size_t count,
                             struct err *err)
{
    struct segment *s = l->segments.current;
    uint64_t offset = segment_file_end(s);
    struct slice parts[1 + AHEAD_PARTS_MAX];
    size_t tail = l->block.len;
    size_t zeros;
    uint64_t end;
    int rc = open_direct(l, err);
    INVARIANT(tail == offset % PAGE_BYTES);
    if (rc)
        return rc;
    log_append_gather(l, records, count);
    INVARIANT(l->block.len <= LOG_DIRECT_BYTES_MAX + LOG_PAGE_BYTES);
    parts[0] = log_block_padded(&l->block, 0);
    end = offset - tail + parts[0].len;
    zeros = put_zeros(l, parts[0].len, end, parts + 1);
    rc = file_write_synced(s->direct, offset - tail, parts, 1 + zeros, err);
    if (rc) {
        l->block.len = tail;
        return rc;
    }
    for (size_t i = 0; i <= zeros; i++)
        offset += parts[i].len;
    s->whole = MAX_OF(s->whole, offset - tail);
    l->cached = false;
    log_block_keep_tail(&l->block);
    POST(l->block.len < LOG_PAGE_BYTES); /* INV-3 */
    return 0;
}

/* Write one large record where its parts lie. */
static int write_scattered(struct commit_log *l,
                           const struct log_record *r,
                           uint64_t offset,
                           struct err *err)
{
    static const char zeros[PAGE_BYTES];
    char header[LOG_RECORD_HEADER_BYTES];
    struct log_record_header h = header_of(l, r);
    struct slice *parts = mem_alloc((r->part_count + 2) * sizeof(*parts));
    size_t pad = pad_bytes(l, offset + sizeof(header) + payload_bytes(r));
    int rc;
    PRE(!l->sealer);
    log_put_record_header(header, l->segments.current->number, &h, r->parts,
                          r->part_count);
    parts[0] = slice_make(header, sizeof(header));
    memcpy(parts + 1, r->parts, r->part_count * sizeof(*parts));
    parts[r->part_count + 1] = slice_make(zeros, pad);
    rc = file_write_at(l->segments.current->file, offset, parts,
                       r->part_count + 1 + (pad > 0), err);
    for (size_t i = 0; i <= r->part_count && rc == 0; i++)
        log_block_pass(&l->block, parts[i]);
    mem_free(parts);
    return rc;
}

int commit_log__write(struct commit_log *l,
                      const struct log_record *records,
                      size_t count,
                      size_t bytes,
                      struct err *err)
{
    uint64_t offset = segment_file_end(l->segments.current);
    char tail[LOG_PAGE_BYTES];
    size_t tail_len = l->block.len;
    int rc = 0;
    INVARIANT(l->block.len == offset % PAGE_BYTES);
    if (bytes <= GATHER_BYTES_MAX || l->sealer)
        return write_gathered(l, records, count, offset, err);
    memcpy(tail, l->block.data, l->block.len);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = write_scattered(l, &records[i], offset, err);
        offset += LOG_RECORD_HEADER_BYTES + payload_bytes(&records[i]);
    }
    l->cached = rc == 0;
    if (rc) { /* The next write takes the place of all of them. */
        l->block.len = 0;
        log_block_append(&l->block, slice_make(tail, tail_len));
    }
    return rc;
}
