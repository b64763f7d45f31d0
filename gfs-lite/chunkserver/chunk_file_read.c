/* Reads of a chunk's file: every byte is verified before it leaves, whole
 * blocks in one read where possible (GFS 5.2). Verified blocks are trusted for
 * a few seconds, because a page in memory does not decay that fast.
 */
#include <string.h>

#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunk_file_parts.h"

/* A verified block is not verified again for this long. */
#define FRESH_S 10

int chunk_file__read_bytes(struct file *file,
                           uint64_t at,
                           void *dst,
                           size_t len,
                           struct err *err)
{
    size_t got = 0;
    PRE(dst || len == 0);
    int rc = file_read_at(file, at, dst, len, &got, err);
    if (rc == 0 && got < len)
        rc = err_set(err, ERR_CORRUPT, "the file is too short");
    return rc;
}

/* --- checking ------------------------------------------------------------ */

static int chunk_file_read_damaged(const struct chunk_file *f,
                                   uint32_t block,
                                   struct err *err)
{
    return err_set(err, ERR_CORRUPT, "%s: block %u: checksum", f->path, block);
}

/* The checksum that a block must have in a chunk of @length with @tail_crc. */
static uint32_t wanted_crc(const struct chunk_file *f,
                           uint32_t length,
                           uint32_t tail_crc,
                           uint32_t block)
{
    PRE(block < CHUNK_BLOCKS_MAX); /* INV-3 */
    bool is_tail = block == block_of(length) && ends_in_block(length);
    return is_tail && !f->id.sealed ? tail_crc : f->table[block];
}

int chunk_file__read_block(struct chunk_file *f,
                           uint32_t block,
                           uint32_t length,
                           uint32_t tail_crc,
                           char *dst,
                           struct err *err)
{
    uint32_t bytes = chunk_block_bytes(length, block);
    uint32_t want = wanted_crc(f, length, tail_crc, block);
    PRE(bytes <= CHUNK_BLOCK_BYTES);
    int rc = 0;
    for (int tries = 0; tries < 2; tries++) {
        rc = chunk_file__read_bytes(
            f->file, CHUNK_DATA_AT + (uint64_t)block * CHUNK_BLOCK_BYTES, dst,
            bytes, err);
        if (rc == 0 && crc32c(dst, bytes) == want)
            return 0;
        if (rc == 0)
            rc = chunk_file_read_damaged(f, block, err);
    }
    return rc;
}

/* A read of a range. */
struct range_read {
    struct chunk_file *file;
    uint32_t length; /* The chunk's when it began, */
    uint32_t tail_crc;
    bool trust;     /* Skip blocks that were verified a short while ago. */
    uint32_t now_s; /* Never 0. */
    uint32_t crc;   /* Of all bytes read. */
};

static bool is_trusted(const struct range_read *r, uint32_t block)
{
    PRE(block < CHUNK_BLOCKS_MAX);
    uint32_t then = r->file->checked_s[block];
    return r->trust && then && r->now_s - then < FRESH_S;
}

static bool
is_right_block(struct range_read *r, uint32_t block, const char *bytes)
{
    if (is_trusted(r, block))
        return true;
    if (crc32c(bytes, CHUNK_BLOCK_BYTES) != r->file->table[block])
        return false;
    r->file->checked_s[block] = r->now_s;
    return true;
}

/* Read whole blocks from @block on at once; the first *@good are intact. */
static int read_run(struct range_read *r,
                    uint32_t block,
                    uint32_t count,
                    char *dst,
                    uint32_t *good,
                    struct err *err)
{
    PRE(count > 0);
    PRE(block + count <= CHUNK_BLOCKS_MAX);
    int rc = chunk_file__read_bytes(
        r->file->file, CHUNK_DATA_AT + (uint64_t)block * CHUNK_BLOCK_BYTES, dst,
        (size_t)count * CHUNK_BLOCK_BYTES, err);
    *good = 0;
    while (rc == 0 && *good < count &&
           is_right_block(r, block + *good,
                          dst + (size_t)*good * CHUNK_BLOCK_BYTES)) {
        r->crc = crc32c_join(r->crc, r->file->table[block + *good],
                             CHUNK_BLOCK_BYTES);
        (*good)++;
        POST(*good <= count);
    }
    return rc;
}

/* Read a part of one block: all of it is read and verified, because a part has
 * no checksum; straight to @dst when it is wanted whole. */
static int read_part(struct range_read *r,
                     uint32_t offset,
                     uint32_t len,
                     char *dst,
                     struct err *err)
{
    struct chunk_file *f = r->file;
    uint32_t block = block_of(offset);
    bool whole = offset % CHUNK_BLOCK_BYTES == 0 &&
                 len == chunk_block_bytes(r->length, block);
    char *bytes = whole ? dst : NULL;
    int rc;
    PRE(len <= CHUNK_BLOCK_BYTES - offset % CHUNK_BLOCK_BYTES);
    if (!whole)
        bytes = mem_alloc(CHUNK_BLOCK_BYTES);
    rc = chunk_file__read_block(f, block, r->length, r->tail_crc, bytes, err);
    if (rc == 0 && chunk_block_bytes(r->length, block) == CHUNK_BLOCK_BYTES)
        f->checked_s[block] = r->now_s;
    if (!whole) {
        if (rc == 0)
            memcpy(dst, bytes + offset % CHUNK_BLOCK_BYTES, len);
        mem_free(bytes);
    }
    return rc;
}

static int read_range(struct range_read *r,
                      uint32_t offset,
                      uint32_t len,
                      char *dst,
                      struct err *err)
{
    PRE(offset <= r->length);
    PRE(len <= r->length - offset);
    while (len > 0) {
        uint32_t whole = len / CHUNK_BLOCK_BYTES;
        uint32_t step;
        uint32_t good = 0;
        int rc = 0;
        if (offset % CHUNK_BLOCK_BYTES == 0 && whole > 0)
            rc = read_run(r, block_of(offset), whole, dst, &good, err);
        step = good * CHUNK_BLOCK_BYTES;
        if (rc == 0 && good == 0) {
            step = MIN_OF(len, CHUNK_BLOCK_BYTES - offset % CHUNK_BLOCK_BYTES);
            rc = read_part(r, offset, step, dst, err);
            if (rc == 0)
                r->crc = crc32c_extend(r->crc, dst, step);
        }
        if (rc)
            return rc;
        INVARIANT(step > 0);
        INVARIANT(step <= len);
        offset += step;
        dst += step;
        len -= step;
    }
    return 0;
}

static struct range_read begin_read(struct chunk_file *f, bool trust)
{
    PRE(f->length <= GFS_CHUNK_BYTES);
    return (struct range_read){
        .file = f,
        .length = f->length,
        .tail_crc = f->tail_crc,
        .trust = trust,
        .now_s = (uint32_t)(world_mono_ns(f->world) / 1000000000) + 1};
}

int chunk_file_read(struct chunk_file *f,
                    uint32_t offset,
                    uint32_t len,
                    char *dst,
                    struct err *err)
{
    struct range_read r = begin_read(f, false);
    return read_range(&r, offset, len, dst, err);
}

int chunk_file_read_with_crc(struct chunk_file *f,
                             uint32_t offset,
                             uint32_t len,
                             char *dst,
                             uint32_t *crc,
                             struct err *err)
{
    struct range_read r = begin_read(f, true);
    int rc = read_range(&r, offset, len, dst, err);
    *crc = r.crc;
    return rc;
}

bool chunk_file_is_ready(struct chunk_file *f,
                         uint32_t offset,
                         uint32_t len,
                         uint32_t *crc)
{
    struct range_read r = begin_read(f, true);
    PRE(offset <= f->length);
    PRE(len <= f->length - offset);
    *crc = 0;
    if (!f->id.sealed || offset % CHUNK_BLOCK_BYTES || len % CHUNK_BLOCK_BYTES)
        return false;
    for (uint32_t b = block_of(offset); b < block_of(offset + len); b++) {
        if (!is_trusted(&r, b))
            return false;
        *crc = crc32c_join(*crc, f->table[b], CHUNK_BLOCK_BYTES);
    }
    return file_is_cached(f->file, CHUNK_DATA_AT + (uint64_t)offset, len);
}
