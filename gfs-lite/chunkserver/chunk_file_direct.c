/* Appends to a chunk's file past the page cache: synced ones, and bytes that
 * will not be read soon. The disk takes the bytes from the caller's buffer; no
 * page is made, kept and dropped, and a sync has nothing to search.
 *
 * A synced append writes whole pages: the data with the bytes that the first
 * page held already and zeros at the end, and the one or two pages of the head.
 * Both are kept in memory from one such append to the next; after a change
 * through the page cache they are read again.
 *
 * A page that is written again gets the same bytes where it had some, so a torn
 * write leaves either version of a sector, and they agree.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunk_file_parts.h"

/* The first append past the page cache has at least this size: for smaller ones
 * the page cache costs no more. */
#define DIRECT_BYTES_MIN ((size_t)32 << 10)
#define PAGE_BYTES       FILE_DIRECT_ALIGN

STATIC_ASSERT(CHUNK_DATA_AT % PAGE_BYTES == 0, "data begin with a page");
STATIC_ASSERT(CHUNK_TABLE_AT == PAGE_BYTES &&
                  CHUNK_HEAD_BYTES == 2 * PAGE_BYTES &&
                  CHUNK_BLOCKS_MAX * 4 == PAGE_BYTES,
              "the head is a page, and the table another");

struct chunk_direct {
    struct file *file; /* Owned. */
    bool known;        /* Do `head` and `bytes` hold the file's pages? */
    char *head;        /* Aligned, as `bytes`. Owned. */
    char *bytes; /* First the used part of the file's last page. Aligned; owned.
                  */
    size_t cap;  /* Of them. */
};

void chunk_file__forget_direct(struct chunk_file *f)
{
    if (f->direct)
        f->direct->known = false;
}

void chunk_file__close_direct(struct chunk_file *f)
{
    struct chunk_direct *d = f->direct;
    if (!d)
        return;
    f->direct = NULL;
    file_close(d->file);
    free(d->head);
    free(d->bytes);
    mem_free(d);
}

static char *alloc_pages(size_t bytes)
{
    PRE(bytes % PAGE_BYTES == 0);
    char *p = aligned_alloc(PAGE_BYTES, bytes);
    if (!p)
        PANIC("no memory to write a chunk");
    return p;
}

static int open_direct(struct chunk_file *f, struct err *err)
{
    struct file *file;
    int rc;
    PRE(!f->id.sealed);
    if (f->direct)
        return 0;
    rc = file_open(f->world, f->path, FILE_WRITE | FILE_DIRECT, &file, err);
    if (rc)
        return rc;
    f->direct = mem_zalloc(1, sizeof(*f->direct));
    f->direct->file = file;
    f->direct->head = alloc_pages(CHUNK_HEAD_BYTES);
    return 0;
}

/* Room for @bytes, in whole pages; the first @kept are kept. */
static void
chunk_file_direct_reserve(struct chunk_direct *d, size_t kept, size_t bytes)
{
    char *p;
    if (bytes <= d->cap)
        return;
    bytes = MAX_OF(bytes, d->cap * 2);
    bytes += -bytes % PAGE_BYTES;
    p = alloc_pages(bytes);
    INVARIANT(kept <= d->cap);
    INVARIANT(kept <= bytes);
    if (kept)
        memcpy(p, d->bytes, kept);
    free(d->bytes);
    d->bytes = p;
    d->cap = bytes;
}

/* Read the pages that will be written again. */
static int
chunk_file_direct_read_tail(struct chunk_file *f, size_t tail, struct err *err)
{
    struct chunk_direct *d = f->direct;
    size_t got = 0;
    PRE(tail < PAGE_BYTES);
    int rc;
    if (d->known)
        return 0;
    memset(d->head, 0, CHUNK_HEAD_BYTES);
    rc = file_read_at(f->file, 0, d->head, PAGE_BYTES, &got, err);
    if (rc == 0 && tail)
        rc = chunk_file__read_bytes(f->file,
                                    CHUNK_DATA_AT + (uint64_t)f->length - tail,
                                    d->bytes, tail, err);
    d->known = rc == 0;
    return rc;
}

/* Write the data after the used part of the last page. */
static int write_data(const struct file_job *job, size_t tail)
{
    const struct chunk_file *f = job->file;
    const struct chunk_direct *d = f->direct;
    size_t bytes = tail + job->data.len;
    size_t pad = -bytes % PAGE_BYTES;
    PRE(bytes + pad <= d->cap);
    PRE((f->length - tail) % PAGE_BYTES == 0);
    struct slice pages = slice_make(d->bytes, bytes + pad);
    memcpy(d->bytes + tail, job->data.data, job->data.len);
    memset(d->bytes + bytes, 0, pad);
    return file_write_at(d->file, CHUNK_DATA_AT + (uint64_t)f->length - tail,
                         &pages, 1, job->err);
}

/* Write tail record and checksums, and sync, the data too. */
static int write_head(const struct file_job *job)
{
    const struct chunk_file *f = job->file;
    const struct chunk_direct *d = f->direct;
    struct slice pages = slice_make(d->head, PAGE_BYTES);
    PRE(job->slot < CHUNK_SLOT_FLUSH); /* A sync's slot. */
    chunk_tail_put(&job->tail, d->head + job->slot * CHUNK_SECTOR_BYTES);
    if (job->sums.block_count) {
        memcpy(d->head + CHUNK_TABLE_AT, f->table,
               job->sums.first_block * sizeof(f->table[0]));
        memcpy(d->head + CHUNK_TABLE_AT +
                   job->sums.first_block * sizeof(f->table[0]),
               job->sums.entries, job->sums.block_count * sizeof(f->table[0]));
        pages.len = CHUNK_HEAD_BYTES;
    }
    return file_write_synced(d->file, 0, &pages, 1, job->err);
}

static void keep_tail(struct chunk_direct *d, size_t bytes)
{
    size_t tail = bytes % PAGE_BYTES;
    PRE(bytes <= d->cap);
    if (tail < bytes)
        memmove(d->bytes, d->bytes + bytes - tail, tail);
}

static void do_append_sync(void *arg)
{
    struct file_job *job = arg;
    struct chunk_file *f = job->file;
    size_t tail = f->length % PAGE_BYTES;
    PRE(!f->id.sealed);
    PRE(job->data.len > 0);
    job->rc = chunk_file__sum_up(job);
    if (job->rc)
        return;
    job->rc = open_direct(f, job->err);
    if (job->rc)
        return;
    chunk_file_direct_reserve(f->direct, f->direct->known ? tail : 0,
                              tail + job->data.len + PAGE_BYTES);
    job->rc = chunk_file_direct_read_tail(f, tail, job->err);
    if (job->rc == 0)
        job->rc = write_data(job, tail);
    if (job->rc == 0)
        job->rc = write_head(job);
    keep_tail(f->direct, tail + job->data.len);
    if (job->rc)
        f->direct->known = false;
}

/* The disk has all bytes. */
static void note_direct(struct chunk_file *f)
{
    f->started = MAX_OF(f->started, f->length - f->length % CHUNK_BLOCK_BYTES);
    POST(f->started <= f->length);
}

int chunk_file_append_sync(struct chunk_file *f,
                           struct slice data,
                           const uint32_t *crc,
                           struct err *err)
{
    struct file_job job = {.file = f,
                           .data = data,
                           .wanted_crc = crc,
                           .slot = f->next_sync,
                           .err = err};
    PRE(!f->id.sealed);
    PRE(!f->granted);
    PRE(data.len <= GFS_CHUNK_BYTES - f->length);
    if (!f->direct && data.len < DIRECT_BYTES_MIN) {
        int rc = chunk_file_append(f, data, crc, err);
        return rc ? rc : chunk_file_sync(f, err);
    }
    chunk_file_keep_room(f);
    offload(do_append_sync, &job);
    if (job.rc)
        return job.rc;
    chunk_file__take_append(&job);
    chunk_file__take_sync(f);
    note_direct(f);
    POST(f->started <= f->length);
    return 0;
}

/* The records go through the page cache: they survive the end of the process.
 */
static void do_append_unread(void *arg)
{
    struct file_job *job = arg;
    struct chunk_file *f = job->file;
    job->rc = chunk_file__sum_up(job);
    if (job->rc == 0)
        job->rc = open_direct(f, job->err);
    if (job->rc)
        return;
    f->direct->known = false;
    PRE(f->length % PAGE_BYTES == 0);
    chunk_file_direct_reserve(f->direct, 0, job->data.len + PAGE_BYTES);
    job->rc = write_data(job, 0);
    if (job->rc == 0)
        job->rc = chunk_file__write_records(job);
}

int chunk_file_append_unread(struct chunk_file *f,
                             struct slice data,
                             const uint32_t *crc,
                             struct err *err)
{
    struct file_job job = {
        .file = f, .data = data, .wanted_crc = crc, .err = err};
    PRE(!f->id.sealed);
    PRE(!f->granted);
    PRE(data.len <= GFS_CHUNK_BYTES - f->length);
    if (f->length % PAGE_BYTES || data.len < DIRECT_BYTES_MIN)
        return chunk_file_append(f, data, crc, err);
    chunk_file_keep_room(f);
    offload(do_append_unread, &job);
    if (job.rc)
        return job.rc;
    chunk_file__take_append(&job);
    note_direct(f);
    return 0;
}
