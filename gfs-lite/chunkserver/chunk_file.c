/* One chunk's file: creation, appends, sync, version, seal, and opening after a
 * crash. GFS 5.2 has the checksums, a 64 KiB block each.
 *
 * A change takes several writes (data, checksums, tail record), a large one on
 * a thread of the pool. The state in memory changes afterwards, on the loop, so
 * that readers see all of a change or nothing of it. Of the tail records the
 * one before the last is always intact: a torn write costs unacknowledged bytes
 * only.
 */
#include "gfs-lite/chunkserver/chunk_file.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunk_file_parts.h"

/* Larger appends are summed up and written by the pool: they would hold the
 * loop too long. */
#define QUICK_BYTES_MAX ((size_t)256 << 10)
/* The disk is given pieces of this size to write back: enough for one request.
 */
#define WRITE_BACK_BYTES ((uint32_t)2 << 20)
/* Room is reserved this far ahead of a chunk that is long enough to be worth
 * it, and in full for a chunk of KEEP_ALL_BYTES: its writer waits while room is
 * made. */
#define KEEP_BYTES     ((uint32_t)16 << 20)
#define KEEP_ALL_BYTES ((uint32_t)8 << 20)
/* Of an unsealed chunk: three of the server, and one of a writer with a grant.
 */
#define TAILS_MAX 4

int chunk_file__write_bytes(struct file *file,
                            uint64_t at,
                            const void *data,
                            size_t len,
                            struct err *err)
{
    struct slice part = slice_make(data, len);
    PRE(data || len == 0);
    return file_write_at(file, at, &part, 1, err);
}

/* --- life ---------------------------------------------------------------- */

static struct chunk_file *
new_file(struct world *w, const char *path, struct file *file)
{
    PRE(file);
    struct chunk_file *f = mem_zalloc(1, sizeof(*f));
    f->world = w;
    f->path = mem_strdup(path);
    f->file = file;
    f->next_sync = CHUNK_SLOT_SYNC_EVEN;
    return f;
}

void chunk_file_close(struct chunk_file *f)
{
    if (!f)
        return;
    chunk_file__close_direct(f);
    file_close(f->file);
    mem_free(f->path);
    mem_free(f);
}

static int write_identity(struct file *file,
                          const struct chunk_identity *id,
                          struct err *err)
{
    char sector[CHUNK_SECTOR_BYTES];
    chunk_identity_put(id, sector);
    return chunk_file__write_bytes(file, 0, sector, sizeof(sector), err);
}

int chunk_file_create(struct world *w,
                      const char *path,
                      uint64_t handle,
                      uint32_t version,
                      struct chunk_file **out,
                      struct err *err)
{
    struct chunk_identity id = {.handle = handle, .version = version};
    struct file *file;
    int rc =
        file_open(w, path, FILE_READ | FILE_WRITE | FILE_CREATE | FILE_TRUNCATE,
                  &file, err);
    *out = NULL;
    if (rc)
        return rc;
    rc = write_identity(file, &id, err);
    if (rc) {
        file_close(file);
        (void)!world_remove(
            w, path, NULL); /* If possible: the file has no content yet. */
        return rc;
    }
    *out = new_file(w, path, file);
    (*out)->id = id;
    POST(!(*out)->id.sealed);
    POST((*out)->length == 0);
    return 0;
}

int chunk_file_identify(struct world *w,
                        const char *path,
                        struct chunk_identity *id,
                        struct err *err)
{
    char sector[CHUNK_SECTOR_BYTES];
    struct file *file;
    int rc = file_open(w, path, FILE_READ, &file, err);
    if (rc)
        return rc;
    rc = chunk_file__read_bytes(file, 0, sector, sizeof(sector), err);
    if (rc == 0)
        rc = chunk_identity_get(sector, id, err);
    if (rc)
        err_wrap(err, "%s", path);
    file_close(file);
    return rc;
}

/* --- changing ------------------------------------------------------------ */

static int write_table(struct chunk_file *f,
                       uint32_t first,
                       const uint32_t *entries,
                       uint32_t count,
                       struct err *err)
{
    if (count == 0)
        return 0;
    PRE(first + count <= CHUNK_BLOCKS_MAX); /* INV-3 */
    return chunk_file__write_bytes(f->file,
                                   CHUNK_TABLE_AT + (uint64_t)first * 4,
                                   entries, count * sizeof(entries[0]), err);
}

static int write_tail(struct chunk_file *f,
                      const struct chunk_tail *tail,
                      enum chunk_slot slot,
                      struct err *err)
{
    PRE(tail->length <= GFS_CHUNK_BYTES);
    char sector[CHUNK_SECTOR_BYTES];
    chunk_tail_put(tail, sector);
    return chunk_file__write_bytes(f->file, (uint64_t)slot * CHUNK_SECTOR_BYTES,
                                   sector, sizeof(sector), err);
}

int chunk_file__sum_up(struct file_job *job)
{
    const struct chunk_file *f = job->file;
    uint32_t data_crc;
    PRE(f->length <= GFS_CHUNK_BYTES);
    PRE(job->data.len <= GFS_CHUNK_BYTES - f->length);
    job->sums.length = f->length;
    job->sums.crc = f->tail_crc;
    data_crc = chunk_sums_add(&job->sums, job->data);
    job->tail =
        (struct chunk_tail){f->sequence + 1, job->sums.length, job->sums.crc};
    if (!job->wanted_crc || *job->wanted_crc == data_crc)
        return 0;
    return err_set(job->err, ERR_CORRUPT,
                   "%zu bytes do not have the checksum that came with them",
                   job->data.len);
}

void chunk_file__take_append(const struct file_job *job)
{
    struct chunk_file *f = job->file;
    PRE(job->sums.first_block + job->sums.block_count <= CHUNK_BLOCKS_MAX);
    PRE(job->tail.length >= f->length); /* INV-1 */
    memcpy(f->table + job->sums.first_block, job->sums.entries,
           job->sums.block_count * sizeof(job->sums.entries[0]));
    f->length = job->tail.length;
    f->tail_crc = job->tail.crc;
    f->sequence = job->tail.sequence;
    POST(f->length <= GFS_CHUNK_BYTES);
}

int chunk_file__write_records(const struct file_job *job)
{
    int rc = write_table(job->file, job->sums.first_block, job->sums.entries,
                         job->sums.block_count, job->err);
    return rc ? rc
              : write_tail(job->file, &job->tail, CHUNK_SLOT_FLUSH, job->err);
}

static void do_append(void *arg)
{
    struct file_job *job = arg;
    struct chunk_file *f = job->file;
    PRE(!f->id.sealed);
    job->rc = chunk_file__sum_up(job);
    if (job->rc)
        return;
    job->rc =
        chunk_file__write_bytes(f->file, CHUNK_DATA_AT + (uint64_t)f->length,
                                job->data.data, job->data.len, job->err);
    if (job->rc == 0)
        job->rc = chunk_file__write_records(job);
}

int chunk_file_append(struct chunk_file *f,
                      struct slice data,
                      const uint32_t *crc,
                      struct err *err)
{
    struct file_job job = {
        .file = f, .data = data, .wanted_crc = crc, .err = err};
    PRE(!f->id.sealed);
    PRE(!f->granted);
    PRE(data.len <= GFS_CHUNK_BYTES - f->length);
    chunk_file__forget_direct(f);
    if (data.len <= QUICK_BYTES_MAX)
        do_append(&job);
    else
        offload(do_append, &job);
    INVARIANT(job.rc || job.tail.length == f->length + data.len);
    if (job.rc)
        return job.rc;
    chunk_file__take_append(&job);
    return 0;
}

bool chunk_file_is_behind(const struct chunk_file *f)
{
    return !f->id.sealed && f->length >= f->started + WRITE_BACK_BYTES;
}

void chunk_file_write_back(struct chunk_file *f)
{
    uint32_t from = f->started;
    uint32_t to = MIN_OF(f->length - f->length % CHUNK_BLOCK_BYTES,
                         from + WRITE_BACK_BYTES);
    if (to <= from)
        return;
    INVARIANT(to <= f->length);
    f->started = to; /* Before parking: the next piece begins here. */
    file_write_back(f->file, CHUNK_DATA_AT + (uint64_t)from, to - from);
}

bool chunk_file_lacks_room(const struct chunk_file *f)
{
    PRE(f->kept <= GFS_CHUNK_BYTES);
    return !f->id.sealed && f->kept < GFS_CHUNK_BYTES &&
           f->length >= WRITE_BACK_BYTES &&
           f->kept <= f->length + KEEP_BYTES / 2;
}

void chunk_file_keep_room(struct chunk_file *f)
{
    if (!chunk_file_lacks_room(f))
        return;
    f->kept = f->length >= KEEP_ALL_BYTES ? (uint32_t)GFS_CHUNK_BYTES
                                          : f->length + KEEP_BYTES;
    POST(f->kept >= f->length);
    file_allocate(f->file, CHUNK_DATA_AT + (uint64_t)f->kept);
}

void chunk_file__take_sync(struct chunk_file *f)
{
    f->next_sync = f->next_sync == CHUNK_SLOT_SYNC_EVEN ? CHUNK_SLOT_SYNC_ODD
                                                        : CHUNK_SLOT_SYNC_EVEN;
}

static void do_sync(void *arg)
{
    struct file_job *job = arg;
    job->rc = write_tail(job->file, &job->tail, job->slot, job->err);
    if (job->rc == 0)
        job->rc = file_sync(job->file->file, job->err);
}

int chunk_file_sync(struct chunk_file *f, struct err *err)
{
    struct file_job job = {.file = f,
                           .err = err,
                           .tail = {f->sequence + 1, f->length, f->tail_crc},
                           .slot = f->next_sync};
    PRE(f->length <= GFS_CHUNK_BYTES);
    if (f->id.sealed)
        return 0;
    chunk_file__forget_direct(f);
    offload(do_sync, &job);
    if (job.rc)
        return job.rc;
    f->sequence++;
    chunk_file__take_sync(f);
    return 0;
}

static int
store_identity(struct chunk_file *f, struct chunk_identity id, struct err *err)
{
    int rc;
    PRE(id.handle == f->id.handle);
    PRE(id.version >= f->id.version);
    chunk_file__forget_direct(f);
    rc = write_identity(f->file, &id, err);
    if (rc == 0)
        rc = file_sync(f->file, err);
    if (rc == 0)
        f->id = id;
    return rc;
}

int chunk_file_set_version(struct chunk_file *f,
                           uint32_t version,
                           struct err *err)
{
    struct chunk_identity id = f->id;
    int rc = chunk_file_sync(f, err);
    PRE(version >= f->id.version); /* INV-2 */
    id.version = version;
    return rc ? rc : store_identity(f, id, err);
}

/* The checksum of the block that the chunk ends in if it is cut to @length. */
static int
crc_at(struct chunk_file *f, uint32_t length, uint32_t *crc, struct err *err)
{
    PRE(length <= f->length);
    uint32_t block = block_of(length);
    char *bytes;
    int rc;
    *crc = f->tail_crc;
    if (!ends_in_block(length) || length == f->length)
        return 0;
    bytes = mem_alloc(CHUNK_BLOCK_BYTES);
    rc = chunk_file__read_block(f, block, f->length, f->tail_crc, bytes, err);
    if (rc == 0)
        *crc = crc32c(bytes, length % CHUNK_BLOCK_BYTES);
    mem_free(bytes);
    return rc;
}

int chunk_file_rewrite(struct chunk_file *f, struct err *err)
{
    char *bytes = mem_alloc(CHUNK_BLOCK_BYTES);
    uint32_t step;
    int rc = 0;
    chunk_file__forget_direct(f);
    PRE(!f->id.sealed);
    for (uint32_t at = 0; rc == 0 && at < f->length; at += step) {
        step = MIN_OF(f->length - at, (uint32_t)CHUNK_BLOCK_BYTES);
        rc = chunk_file__read_block(f, block_of(at), f->length, f->tail_crc,
                                    bytes, err);
        if (rc == 0)
            rc = chunk_file__write_bytes(f->file, CHUNK_DATA_AT + (uint64_t)at,
                                         bytes, step, err);
    }
    mem_free(bytes);
    if (rc)
        return rc;
    return write_table(f, 0, f->table, block_of(f->length), err);
}

int chunk_file_seal(struct chunk_file *f, uint32_t length, struct err *err)
{
    struct chunk_identity id = f->id;
    uint32_t crc;
    int rc;
    PRE(length <= f->length);
    PRE(!f->id.sealed);
    chunk_file__close_direct(f);
    rc = crc_at(f, length, &crc, err);
    if (rc == 0)
        rc = chunk_file__write_granted(f, length, err);
    if (rc == 0 && ends_in_block(length))
        rc = write_table(f, block_of(length), &crc, 1, err);
    if (rc == 0)
        rc = file_truncate(f->file, CHUNK_DATA_AT + (uint64_t)length, err);
    /* First the bytes that the identity describes, then the identity. */
    if (rc == 0)
        rc = file_sync(f->file, err);
    id.sealed = true;
    id.length = length;
    if (rc == 0)
        rc = store_identity(f, id, err);
    if (rc)
        return rc;
    if (ends_in_block(length))
        f->table[block_of(length)] = crc;
    INVARIANT(length <= f->length);
    f->length = length;
    POST(f->id.sealed);
    POST(f->id.length == f->length); /* INV-1 */
    return 0;
}

/* --- opening ------------------------------------------------------------- */

/* Is every block intact, from @from on, of the chunk with the length of @tail?
 */
static bool is_right(struct chunk_file *f,
                     const struct chunk_tail *tail,
                     uint32_t from,
                     uint64_t file_bytes)
{
    char *bytes;
    bool right = true;
    PRE(from <= tail->length);
    if (CHUNK_DATA_AT + (uint64_t)tail->length > file_bytes)
        return tail->length == 0;
    bytes = mem_alloc(CHUNK_BLOCK_BYTES);
    for (uint32_t b = block_of(from);
         right && b * CHUNK_BLOCK_BYTES < tail->length; b++)
        right = chunk_file__read_block(f, b, tail->length, tail->crc, bytes,
                                       NULL) == 0;
    mem_free(bytes);
    return right;
}

/* Collect the records of the unsealed chunk in @tails. *@synced is the length
 * up to which nothing can be wrong: what the older of two syncs describes is
 * durable, because it ended before the younger began. */
static size_t get_tails(struct chunk_file *f,
                        const char *head,
                        struct chunk_tail tails[TAILS_MAX],
                        uint32_t *synced)
{
    struct chunk_tail syncs[2];
    size_t count = 0;
    size_t sync_count = 0;
    for (int slot = CHUNK_SLOT_SYNC_EVEN; slot <= CHUNK_SLOT_FLUSH; slot++) {
        struct chunk_tail t;
        if (!chunk_tail_get(head + slot * CHUNK_SECTOR_BYTES, &t))
            continue;
        tails[count++] = t;
        f->sequence = MAX_OF(f->sequence, t.sequence);
        if (slot != CHUNK_SLOT_FLUSH)
            syncs[sync_count++] = t;
        else
            continue;
        if (sync_count == 1)
            f->next_sync = slot == CHUNK_SLOT_SYNC_EVEN ? CHUNK_SLOT_SYNC_ODD
                                                        : CHUNK_SLOT_SYNC_EVEN;
    }
    INVARIANT(count < TAILS_MAX);
    INVARIANT(sync_count <= 2);
    *synced = 0;
    if (sync_count < 2)
        return count;
    *synced = MIN_OF(syncs[0].length, syncs[1].length);
    f->next_sync = syncs[0].sequence < syncs[1].sequence ? CHUNK_SLOT_SYNC_EVEN
                                                         : CHUNK_SLOT_SYNC_ODD;
    return count;
}

/* Length and checksum of the unsealed chunk: those of the longest record whose
 * bytes are there. */
static int recover_tail(struct chunk_file *f,
                        const char *head,
                        uint64_t file_bytes,
                        struct err *err)
{
    struct chunk_tail tails[TAILS_MAX];
    uint32_t synced;
    size_t count = get_tails(f, head, tails, &synced);
    int rc = chunk_file__find_grant(f, &tails[count], err);
    INVARIANT(count < TAILS_MAX);
    if (rc)
        return rc;
    count += tails[count].length > 0;
    while (count > 0) {
        size_t best = 0;
        for (size_t i = 1; i < count; i++)
            if (tails[i].length > tails[best].length)
                best = i;
        if (is_right(f, &tails[best], MIN_OF(synced, tails[best].length),
                     file_bytes)) {
            f->length = tails[best].length;
            f->tail_crc = tails[best].crc;
            return 0;
        }
        tails[best] = tails[--count];
    }
    /* Nothing was synced, or synced bytes are damaged: then other servers have
     * them. */
    if (synced > 0)
        return err_set(err, ERR_CORRUPT, "%s: every tail record is damaged",
                       f->path);
    return 0;
}

static int read_head(struct chunk_file *f, struct err *err)
{
    char *head = mem_zalloc(1, CHUNK_HEAD_BYTES);
    uint64_t file_bytes = 0;
    size_t got = 0;
    int rc = file_read_at(f->file, 0, head, CHUNK_HEAD_BYTES, &got, err);
    if (rc == 0)
        rc = file_size(f->file, &file_bytes, err);
    if (rc == 0)
        rc = chunk_identity_get(head, &f->id, err);
    memcpy(f->table, head + CHUNK_TABLE_AT, sizeof(f->table));
    if (rc == 0 && f->id.sealed)
        f->length = f->id.length;
    else if (rc == 0)
        rc = recover_tail(f, head, file_bytes, err);
    POST(rc || f->length <= GFS_CHUNK_BYTES);
    mem_free(head);
    return rc;
}

int chunk_file_open(struct world *w,
                    const char *path,
                    struct chunk_file **out,
                    struct err *err)
{
    struct chunk_file *f;
    struct file *file;
    int rc = file_open(w, path, FILE_READ | FILE_WRITE, &file, err);
    *out = NULL;
    if (rc)
        return rc;
    f = new_file(w, path, file);
    rc = read_head(f, err);
    if (rc) {
        err_wrap(err, "%s", path);
        chunk_file_close(f);
        return rc;
    }
    POST(f->length <= GFS_CHUNK_BYTES);
    *out = f;
    return 0;
}
