/* Coding of the log's headers and records. */
#include "base/replica/log_format.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

STATIC_ASSERT(LOG_HEADER_BYTES == 8 + 4 + 4 + 6 * 8, "segment header");
STATIC_ASSERT(LOG_RECORD_BYTES == 4 * 4 + 3 * 8, "record header");

void log_header_put(const struct log_header *h, struct buf *out)
{
    char *p = buf_extend(out, LOG_HEADER_BYTES);
    memcpy(p, LOG_MAGIC, 8);
    put_le32(p + 8, LOG_VERSION);
    put_le64(p + 16, h->number);
    put_le64(p + 24, h->base);
    put_le64(p + 32, h->term);
    put_le64(p + 40, h->vote);
    put_le64(p + 48, h->index);
    put_le64(p + 56, h->index_term);
    put_le32(p + 12, crc32c(p + 16, LOG_HEADER_BYTES - 16));
}

int log_header_get(struct slice bytes, struct log_header *out, struct err *err)
{
    const char *p = bytes.data;
    if (bytes.len < LOG_HEADER_BYTES)
        return err_set(err, ERR_CORRUPT, "header cut short");
    if (memcmp(p, LOG_MAGIC, 8) != 0)
        return err_set(err, ERR_CORRUPT, "header: bad magic");
    if (get_le32(p + 12) != crc32c(p + 16, LOG_HEADER_BYTES - 16))
        return err_set(err, ERR_CORRUPT, "header: bad checksum");
    if (get_le32(p + 8) == 0 || get_le32(p + 8) > LOG_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "log format %u, newest known is %d", get_le32(p + 8),
                       LOG_VERSION);
    *out = (struct log_header){
        get_le64(p + 16), get_le64(p + 24), get_le64(p + 32), get_le64(p + 40),
        get_le64(p + 48), get_le64(p + 56), get_le32(p + 8)};
    return 0;
}

static uint32_t
record_crc(uint64_t number, uint64_t position, const char *p, size_t payload)
{
    char place[16];
    put_le64(place, number);
    put_le64(place + 8, position);
    return crc32c_extend(crc32c(place, sizeof(place)), p + 4,
                         LOG_RECORD_BYTES - 4 + payload);
}

void log_record_put(uint64_t number,
                    const struct log_record *r,
                    struct buf *out)
{
    size_t bytes = log_record_bytes(r->payload.len);
    char *p = buf_extend(out, bytes);
    PRE(r->payload.len <= LOG_PAYLOAD_MAX);
    put_le32(p + 4, (uint32_t)r->payload.len);
    put_le32(p + 8, (uint32_t)r->kind);
    put_le32(p + 12, 0);
    put_le64(p + 16, r->index);
    put_le64(p + 24, r->term);
    put_le64(p + 32, r->synced);
    if (r->payload.len)
        memcpy(p + LOG_RECORD_BYTES, r->payload.data, r->payload.len);
    memset(p + LOG_RECORD_BYTES + r->payload.len, 0,
           bytes - LOG_RECORD_BYTES - r->payload.len);
    put_le32(p, record_crc(number, r->position, p, r->payload.len));
}

bool log_record_get(struct slice bytes,
                    uint64_t number,
                    uint64_t position,
                    struct log_record *out)
{
    const char *p = bytes.data;
    uint32_t length, kind;
    if (bytes.len < LOG_RECORD_BYTES)
        return false;
    length = get_le32(p + 4);
    kind = get_le32(p + 8);
    if (kind < LOG_META || kind > LOG_COMMANDS || length > LOG_PAYLOAD_MAX ||
        log_record_bytes(length) > bytes.len ||
        get_le32(p) != record_crc(number, position, p, length))
        return false;
    *out = (struct log_record){.position = position,
                               .kind = (enum log_kind)kind,
                               .index = get_le64(p + 16),
                               .term = get_le64(p + 24),
                               .synced = get_le64(p + 32),
                               .payload =
                                   slice_make(p + LOG_RECORD_BYTES, length)};
    return true;
}

void log_commands_put(struct slice command, struct buf *out)
{
    put_le32(buf_extend(out, sizeof(uint32_t)), (uint32_t)command.len);
    buf_append_slice(out, command);
}

bool log_commands_next(struct slice *rest, struct slice *command)
{
    size_t begin = sizeof(uint32_t);
    size_t len;
    if (rest->len < begin)
        return false;
    len = get_le32(rest->data);
    if (len > rest->len - begin)
        return false;
    *command = slice_sub(*rest, begin, begin + len);
    *rest = slice_sub(*rest, begin + len, rest->len);
    return true;
}
