/* Grants: a writer of this machine appends to an unsealed chunk's file itself,
 * and the server takes over its bytes when it needs to know the length.
 * chunk_format.h describes the records by which the two meet.
 *
 * The writer is trusted no more than a caller is: lengths are checked here, and
 * bytes by their readers. It can spoil only its own chunk.
 */
#include <stdatomic.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunk_file_parts.h"

static int
write_grant(struct chunk_file *f, struct chunk_grant g, struct err *err)
{
    PRE(g.base <= GFS_CHUNK_BYTES);
    char sector[CHUNK_SECTOR_BYTES];
    int rc;
    chunk_grant_put(&g, sector);
    rc = chunk_file__write_bytes(f->file, CHUNK_GRANT_AT, sector,
                                 sizeof(sector), err);
    if (rc == 0)
        f->grant = g;
    return rc;
}

/* --- what the writer has added ------------------------------------------- */

/* The longest tail record of the writer; length 0: there is none, or its bytes
 * are not there. A record that is being written does not count: it replaces the
 * one before the last. */
static int
read_record(struct chunk_file *f, struct chunk_tail *t, struct err *err)
{
    char sectors[2 * CHUNK_SECTOR_BYTES] = {0};
    struct chunk_tail other;
    uint64_t bytes = 0;
    size_t got = 0;
    int rc = file_read_at(f->file, CHUNK_WRITER_AT, sectors, sizeof(sectors),
                          &got, err);
    t->length = 0;
    if (rc == 0)
        rc = file_size(f->file, &bytes, err);
    if (rc)
        return rc;
    if (!chunk_tail_get(sectors, t))
        t->length = 0;
    if (chunk_tail_get(sectors + CHUNK_SECTOR_BYTES, &other) &&
        other.length > t->length)
        *t = other;
    if (CHUNK_DATA_AT + (uint64_t)t->length > bytes)
        t->length = 0;
    return 0;
}

/* Read the checksums of whole blocks before @length that were written under the
 * grant. */
static int read_sums(struct chunk_file *f, uint32_t length, struct err *err)
{
    uint32_t first = block_of(f->grant.base);
    uint32_t count;
    PRE(length >= f->grant.base); /* INV-1 */
    count = block_of(length) - first;
    if (count == 0)
        return 0;
    return chunk_file__read_bytes(f->file, CHUNK_SUMS_AT + (uint64_t)first * 4,
                                  f->table + first, (size_t)count * 4, err);
}

int chunk_file_absorb(struct chunk_file *f, struct err *err)
{
    struct chunk_tail t = {.length = 0};
    int rc = f->granted ? read_record(f, &t, err) : 0;
    /* A record that ends before the grant began is damaged. */
    if (rc == 0 && t.length > MAX_OF(f->length, f->grant.base)) {
        rc = read_sums(f, t.length, err);
        if (rc)
            return rc;
        f->length = t.length;
        f->tail_crc = t.crc;
        POST(f->length <= GFS_CHUNK_BYTES);
    }
    return rc;
}

/* --- giving and ending --------------------------------------------------- */

int chunk_file_grant(struct chunk_file *f, struct err *err)
{
    struct chunk_grant g = {
        .number = world_random(f->world), .base = f->length, .open = true};
    int rc;
    PRE(!f->id.sealed);
    if (f->granted)
        return err_set(err, ERR_BUSY, "%s: there is a grant", f->path);
    rc = write_grant(f, g, err);
    f->granted = rc == 0;
    POST(rc || f->granted);
    return rc;
}

int chunk_file_end_grant(struct chunk_file *f, struct err *err)
{
    struct chunk_grant g = f->grant;
    int rc = 0;
    if (!f->granted || f->id.sealed)
        return 0;
    g.open = false;
    if (f->grant.open)
        rc = write_grant(f, g, err);
    atomic_thread_fence(
        memory_order_seq_cst); /* End it first, then read its records. */
    return rc ? rc : chunk_file_absorb(f, err);
}

int chunk_file__write_granted(struct chunk_file *f,
                              uint32_t length,
                              struct err *err)
{
    uint32_t first = block_of(f->grant.base);
    PRE(length <= f->length);
    if (!f->granted || block_of(length) <= first)
        return 0;
    return chunk_file__write_bytes(
        f->file, CHUNK_TABLE_AT + (uint64_t)first * 4, f->table + first,
        (size_t)(block_of(length) - first) * 4, err);
}

int chunk_file_settle(struct chunk_file *f, struct err *err)
{
    static const char nothing[2 * CHUNK_SECTOR_BYTES];
    int rc;
    PRE(!f->id.sealed);
    if (!f->granted)
        return 0;
    rc = chunk_file_end_grant(f, err);
    if (rc)
        return rc;
    /* Everything is on the disk before the grant is forgotten. */
    if (f->length > f->grant.base) {
        rc = chunk_file__write_granted(f, f->length, err);
        if (rc == 0)
            rc = chunk_file_sync(f, err);
    }
    if (rc == 0)
        rc = chunk_file__write_bytes(f->file, CHUNK_WRITER_AT, nothing,
                                     sizeof(nothing), err);
    if (rc == 0)
        rc = chunk_file__write_bytes(f->file, CHUNK_GRANT_AT, nothing,
                                     CHUNK_SECTOR_BYTES, err);
    if (rc == 0)
        f->granted = false;
    POST(rc || !f->granted); /* INV-4 */
    return rc;
}

/* --- opening ------------------------------------------------------------- */

int chunk_file__find_grant(struct chunk_file *f,
                           struct chunk_tail *t,
                           struct err *err)
{
    char sector[CHUNK_SECTOR_BYTES] = {0};
    uint32_t first;
    size_t got = 0;
    int rc = file_read_at(f->file, CHUNK_GRANT_AT, sector, sizeof(sector), &got,
                          err);
    t->length = 0;
    if (rc)
        return rc;
    f->granted = chunk_grant_get(sector, &f->grant);
    if (!f->granted)
        return 0;
    if (f->grant.open) {
        struct chunk_grant g = f->grant;
        g.open = false;
        rc = write_grant(f, g, err);
    }
    atomic_thread_fence(memory_order_seq_cst);
    if (rc == 0)
        rc = read_record(f, t, err);
    if (t->length <= f->grant.base)
        t->length = 0;
    /* Read all checksums there may be: a sync's record may count more bytes
     * than the writer's, should that be lost. */
    first = block_of(f->grant.base);
    INVARIANT(first <= CHUNK_BLOCKS_MAX);
    if (rc == 0)
        rc = file_read_at(f->file, CHUNK_SUMS_AT + (uint64_t)first * 4,
                          f->table + first,
                          (size_t)(CHUNK_BLOCKS_MAX - first) * 4, &got, err);
    return rc;
}
