/* Encoding and decoding of the sectors of a chunk's file: each record carries
 * its magic and a checksum, because a sector may be torn or never written.
 */
#include "gfs-lite/chunk_format.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"

#define TAIL_MAGIC     UINT32_C(0x4c494154) /* "TAIL" */
#define GRANT_MAGIC    UINT32_C(0x544e5247) /* "GRNT" */
#define FORMAT_VERSION 2

/* Offsets in the identity; its CRC covers what is before. */
enum {
    ID_MAGIC = 0,
    ID_FORMAT = 8,
    ID_VERSION = 12,
    ID_HANDLE = 16,
    ID_SEALED = 24,
    ID_LENGTH = 28,
    ID_CRC = 32,
};

enum {
    TAIL_MAGIC_AT = 0,
    TAIL_LENGTH = 4,
    TAIL_SEQUENCE = 8,
    TAIL_BLOCK_CRC = 16,
    TAIL_CRC = 20,
};

enum {
    GRANT_MAGIC_AT = 0,
    GRANT_BASE = 4,
    GRANT_NUMBER = 8,
    GRANT_OPEN = 16,
    GRANT_CRC = 20,
};

void chunk_identity_put(const struct chunk_identity *id,
                        char sector[CHUNK_SECTOR_BYTES])
{
    memset(sector, 0, CHUNK_SECTOR_BYTES);
    memcpy(sector + ID_MAGIC, CHUNK_MAGIC, strlen(CHUNK_MAGIC));
    put_le32(sector + ID_FORMAT, FORMAT_VERSION);
    put_le32(sector + ID_VERSION, id->version);
    put_le64(sector + ID_HANDLE, id->handle);
    put_le32(sector + ID_SEALED, id->sealed);
    put_le32(sector + ID_LENGTH, id->length);
    put_le32(sector + ID_CRC, crc32c(sector, ID_CRC));
}

int chunk_identity_get(const char sector[CHUNK_SECTOR_BYTES],
                       struct chunk_identity *id,
                       struct err *err)
{
    if (memcmp(sector + ID_MAGIC, CHUNK_MAGIC, strlen(CHUNK_MAGIC)) != 0)
        return err_set(err, ERR_CORRUPT, "no file of a chunk");
    if (get_le32(sector + ID_FORMAT) != FORMAT_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "chunk file of format %u, newest known is %d",
                       get_le32(sector + ID_FORMAT), FORMAT_VERSION);
    if (get_le32(sector + ID_CRC) != crc32c(sector, ID_CRC))
        return err_set(err, ERR_CORRUPT, "identity: checksum");
    id->handle = get_le64(sector + ID_HANDLE);
    id->version = get_le32(sector + ID_VERSION);
    id->sealed = get_le32(sector + ID_SEALED) & 1;
    id->length = get_le32(sector + ID_LENGTH);
    if (id->length > GFS_CHUNK_BYTES)
        return err_set(err, ERR_CORRUPT, "identity: length");
    return 0;
}

void chunk_tail_put(const struct chunk_tail *t, char sector[CHUNK_SECTOR_BYTES])
{
    memset(sector, 0, CHUNK_SECTOR_BYTES);
    put_le32(sector + TAIL_MAGIC_AT, TAIL_MAGIC);
    put_le32(sector + TAIL_LENGTH, t->length);
    put_le64(sector + TAIL_SEQUENCE, t->sequence);
    put_le32(sector + TAIL_BLOCK_CRC, t->crc);
    put_le32(sector + TAIL_CRC, crc32c(sector, TAIL_CRC));
}

/* A record that begins with its magic, and whose checksum is at @crc_at. */
static bool is_record(const char *sector, uint32_t magic, size_t crc_at)
{
    return get_le32(sector) == magic &&
           get_le32(sector + crc_at) == crc32c(sector, crc_at);
}

bool chunk_tail_get(const char sector[CHUNK_SECTOR_BYTES], struct chunk_tail *t)
{
    if (!is_record(sector, TAIL_MAGIC, TAIL_CRC))
        return false;
    t->sequence = get_le64(sector + TAIL_SEQUENCE);
    t->length = get_le32(sector + TAIL_LENGTH);
    t->crc = get_le32(sector + TAIL_BLOCK_CRC);
    return t->length <= GFS_CHUNK_BYTES;
}

void chunk_grant_put(const struct chunk_grant *g,
                     char sector[CHUNK_SECTOR_BYTES])
{
    memset(sector, 0, CHUNK_SECTOR_BYTES);
    put_le32(sector + GRANT_MAGIC_AT, GRANT_MAGIC);
    put_le32(sector + GRANT_BASE, g->base);
    put_le64(sector + GRANT_NUMBER, g->number);
    put_le32(sector + GRANT_OPEN, g->open);
    put_le32(sector + GRANT_CRC, crc32c(sector, GRANT_CRC));
}

bool chunk_grant_get(const char sector[CHUNK_SECTOR_BYTES],
                     struct chunk_grant *g)
{
    if (!is_record(sector, GRANT_MAGIC, GRANT_CRC))
        return false;
    g->number = get_le64(sector + GRANT_NUMBER);
    g->base = get_le32(sector + GRANT_BASE);
    g->open = get_le32(sector + GRANT_OPEN) & 1;
    return g->base <= GFS_CHUNK_BYTES;
}

uint32_t chunk_sums_add(struct chunk_sums *s, struct slice data)
{
    uint32_t crc = s->length % CHUNK_BLOCK_BYTES ? s->crc : 0;
    uint32_t data_crc = 0;
    s->first_block = s->length / CHUNK_BLOCK_BYTES;
    s->block_count = 0;
    while (data.len) {
        uint32_t room = CHUNK_BLOCK_BYTES - s->length % CHUNK_BLOCK_BYTES;
        uint32_t step = (uint32_t)MIN_OF(data.len, room);
        uint32_t step_crc = crc32c(data.data, step);
        crc = crc32c_join(crc, step_crc, step);
        data_crc = crc32c_join(data_crc, step_crc, step);
        s->length += step;
        data = slice_sub(data, step, data.len);
        if (step == room) {
            INVARIANT(s->block_count < CHUNK_BLOCKS_MAX);
            s->entries[s->block_count++] = crc;
            crc = 0;
        }
    }
    INVARIANT(s->length <= GFS_CHUNK_BYTES);
    s->crc = crc;
    return data_crc;
}
