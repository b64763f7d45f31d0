/* Encoding and decoding of the structures of sstable_format.h. Handles are
 * checked against the size of the file here, once, so that readers may trust
 * them.
 */
#include "bigtable/sstable/sstable_format.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "bigtable/sstable/sealing.h"

static bool handle_fits(const struct block_handle *h, uint64_t file_bytes)
{
    uint64_t end = h->offset + h->stored_bytes + BLOCK_TRAILER_BYTES;
    return h->offset <= SSTABLE_BYTES_MAX && end <= file_bytes &&
           h->raw_bytes <= BLOCK_BYTES_MAX &&
           h->raw_bytes / BLOCK_EXPANSION_MAX <= h->stored_bytes;
}

char *block_handle_put(char *p, const struct block_handle *h)
{
    PRE(h->offset <= SSTABLE_BYTES_MAX);
    PRE(h->stored_bytes > 0 || h->raw_bytes == 0);
    p = put_varint(p, h->offset);
    p = put_varint(p, h->stored_bytes);
    return put_varint(p, h->raw_bytes);
}

void block_handle_get(struct cursor *c,
                      uint64_t file_bytes,
                      struct block_handle *h)
{
    uint64_t offset = cursor_varint(c);
    uint64_t stored = cursor_varint(c);
    uint64_t raw = cursor_varint(c);

    *h = (struct block_handle){0};
    if (stored > UINT32_MAX || raw > UINT32_MAX) {
        c->bad = true;
        return;
    }
    h->offset = offset;
    h->stored_bytes = (uint32_t)stored;
    h->raw_bytes = (uint32_t)raw;
    if (stored > 0 && !handle_fits(h, file_bytes))
        c->bad = true;
}

void block_trailer_put(char *p, enum block_codec codec, uint32_t payload_crc)
{
    PRE(codec == BLOCK_RAW || block_codec_ops(codec));
    p[0] = (char)codec;
    put_le32(p + 1, crc32c_extend(payload_crc, p, 1));
}

int block_trailer_check(const char *p,
                        size_t stored_bytes,
                        enum block_codec *codec,
                        struct err *err)
{
    unsigned char byte = (unsigned char)p[stored_bytes];
    uint32_t crc = crc32c(p, stored_bytes + 1);

    if (crc != get_le32(p + stored_bytes + 1))
        return err_set(err, ERR_CORRUPT, "checksum mismatch");
    if (byte != BLOCK_RAW && !block_codec_ops(byte))
        return err_set(err, ERR_CORRUPT, "unknown block codec %u", byte);
    *codec = (enum block_codec)byte;
    return 0;
}

static void footer_handle_put(char *p, const struct block_handle *h)
{
    PRE(h->offset <= SSTABLE_BYTES_MAX);
    PRE(h->stored_bytes > 0 || h->raw_bytes == 0);
    put_le64(p, h->offset);
    put_le32(p + 8, h->stored_bytes);
    put_le32(p + 12, h->raw_bytes);
}

static int footer_handle_get(const char *p,
                             uint64_t file_bytes,
                             const char *what,
                             struct block_handle *h,
                             struct err *err)
{
    h->offset = get_le64(p);
    h->stored_bytes = get_le32(p + 8);
    h->raw_bytes = get_le32(p + 12);
    if (h->stored_bytes > 0 && !handle_fits(h, file_bytes))
        return err_set(err, ERR_CORRUPT,
                       "footer: the %s at %" PRIu64 " lies outside the file",
                       what, h->offset);
    return 0;
}

void sstable_footer_append(struct buf *out, const struct sstable_footer *f)
{
    PRE(f->top.stored_bytes > 0);
    PRE(f->properties.stored_bytes > 0);

    char *p = buf_extend(out, SSTABLE_FOOTER_BYTES);

    footer_handle_put(p + FOOTER_TOP_AT, &f->top);
    footer_handle_put(p + FOOTER_PROPERTIES_AT, &f->properties);
    footer_handle_put(p + FOOTER_DICTIONARY_AT, &f->dictionary);
    put_le64(p + FOOTER_RESERVED_AT, 0);
    put_le32(p + FOOTER_VERSION_AT,
             f->is_sealed ? SSTABLE_VERSION_SEALED : SSTABLE_VERSION);
    put_le32(p + FOOTER_CRC_AT, crc32c(p, FOOTER_CRC_AT));
    put_le64(p + FOOTER_MAGIC_AT, SSTABLE_MAGIC);
}

int sstable_footer_parse(const char *p,
                         uint64_t file_bytes,
                         struct sstable_footer *f,
                         struct err *err)
{
    uint64_t body_bytes = file_bytes - SSTABLE_FOOTER_BYTES;
    uint32_t version = get_le32(p + FOOTER_VERSION_AT);
    int rc;

    PRE(file_bytes >= SSTABLE_FOOTER_BYTES);
    if (get_le64(p + FOOTER_MAGIC_AT) != SSTABLE_MAGIC)
        return err_set(err, ERR_CORRUPT, "footer: not an SSTable (magic)");
    if (get_le32(p + FOOTER_CRC_AT) != crc32c(p, FOOTER_CRC_AT))
        return err_set(err, ERR_CORRUPT, "footer: checksum mismatch");
    if (version > SSTABLE_VERSION_SEALED) {
        rc = err_set(err, ERR_UNSUPPORTED,
                     "footer: table format %" PRIu32 ", newest known is %u",
                     version, SSTABLE_VERSION_SEALED);
        err_hint(err, "open it with the newer quarry that wrote it");
        return rc;
    }
    f->is_sealed = version == SSTABLE_VERSION_SEALED;
    if (f->is_sealed) {
        if (body_bytes < SSTABLE_SEALING_BYTES)
            return err_set(err, ERR_CORRUPT, "footer: no room for a sealing");
        body_bytes -= SSTABLE_SEALING_BYTES;
    }
    rc = footer_handle_get(p + FOOTER_TOP_AT, body_bytes, "top", &f->top, err);
    if (!rc)
        rc = footer_handle_get(p + FOOTER_PROPERTIES_AT, body_bytes,
                               "properties", &f->properties, err);
    if (!rc)
        rc = footer_handle_get(p + FOOTER_DICTIONARY_AT, body_bytes,
                               "dictionary", &f->dictionary, err);
    if (!rc && (f->top.stored_bytes == 0 || f->properties.stored_bytes == 0))
        rc = err_set(err, ERR_CORRUPT, "footer: no top or no properties");
    return rc;
}

void partition_entry_append(struct buf *out, const struct partition_entry *e)
{
    PRE(e->index.stored_bytes > 0);
    PRE(e->block_count > 0);

    char room[2 * BLOCK_HANDLE_BYTES_MAX + VARINT64_BYTES_MAX];
    char *p = block_handle_put(room, &e->index);

    p = block_handle_put(p, &e->filter);
    p = put_varint(p, e->block_count);
    POST((size_t)(p - room) <= sizeof(room));
    buf_append(out, room, (size_t)(p - room));
}

int partition_entry_parse(struct slice value,
                          uint64_t file_bytes,
                          struct partition_entry *e,
                          struct err *err)
{
    struct cursor c = cursor_make(value);
    uint64_t count;

    block_handle_get(&c, file_bytes, &e->index);
    block_handle_get(&c, file_bytes, &e->filter);
    count = cursor_varint(&c);
    if (c.bad || cursor_left(&c) || e->index.stored_bytes == 0 || count == 0 ||
        count > UINT32_MAX)
        return err_set(err, ERR_CORRUPT, "top: malformed partition entry");
    e->block_count = (uint32_t)count;
    return 0;
}
