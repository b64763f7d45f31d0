/* Sectors of a chunk's file. */
#include "gfs-lite/chunk_format.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"

#define TAIL_MAGIC     UINT32_C(0x4c494154) /* "TAIL" */
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

bool chunk_tail_get(const char sector[CHUNK_SECTOR_BYTES], struct chunk_tail *t)
{
    if (get_le32(sector + TAIL_MAGIC_AT) != TAIL_MAGIC ||
        get_le32(sector + TAIL_CRC) != crc32c(sector, TAIL_CRC))
        return false;
    t->sequence = get_le64(sector + TAIL_SEQUENCE);
    t->length = get_le32(sector + TAIL_LENGTH);
    t->crc = get_le32(sector + TAIL_BLOCK_CRC);
    return t->length <= GFS_CHUNK_BYTES;
}
