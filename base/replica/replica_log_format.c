/* Coding of the log's headers and records. A record's checksum covers segment
 * and position beside its bytes, so that one in a wrong place is not whole.
 */
#include "base/replica/replica_log_format.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

STATIC_ASSERT(LOG_HEADER_BYTES == 8 + 4 + 4 + 6 * 8, "segment header");
STATIC_ASSERT(LOG_RECORD_BYTES == 4 * 4 + 3 * 8, "record header");

/* In a sealed segment it covers the version as well: a plain one must not be
 * taken for it. */
static uint32_t header_crc(const char *p)
{
    uint32_t crc = get_le32(p + 8) == LOG_VERSION_SEALED ? crc32c(p, 12) : 0;
    return crc32c_extend(crc, p + 16, LOG_HEADER_BYTES - 16);
}

#define LOG_SEAL_PURPOSE "quarry member's log"
#define LOG_AAD_BYTES    ((size_t)36)

int replica_log_sealer_new(struct keyring *k,
                           struct unit_sealer **out,
                           struct err *err)
{
    return unit_sealer_new(k, LOG_SEAL_PURPOSE, out, err);
}

struct unit_opener *replica_log_opener_new(struct keyring *k)
{
    return unit_opener_new(k, LOG_SEAL_PURPOSE);
}

static struct slice
record_aad(uint64_t number, const struct log_record *r, char aad[LOG_AAD_BYTES])
{
    PRE(r->kind >= LOG_META);
    PRE(r->kind <= LOG_COMMANDS);
    put_le64(aad, number);
    put_le64(aad + 8, r->position);
    put_le32(aad + 16, (uint32_t)r->kind);
    put_le64(aad + 20, r->index);
    put_le64(aad + 28, r->term);
    return slice_make(aad, LOG_AAD_BYTES);
}

void log_record_seal(struct unit_sealer *s,
                     uint64_t number,
                     struct log_record *r,
                     struct buf *out)
{
    char aad[LOG_AAD_BYTES];
    PRE(s);
    if (r->payload.len == 0)
        return;
    buf_clear(out);
    unit_seal(s, record_aad(number, r, aad), r->payload,
              buf_extend(out, r->payload.len + UNIT_BYTES_MORE));
    r->payload = buf_slice(out);
}

int log_record_open(struct unit_opener *o,
                    uint64_t number,
                    struct log_record *r,
                    struct buf *out,
                    struct err *err)
{
    char aad[LOG_AAD_BYTES];
    int rc;
    PRE(number > 0);
    PRE(r->payload.data || r->payload.len == 0);
    if (r->payload.len == 0)
        return 0;
    if (r->payload.len < UNIT_BYTES_MORE)
        return err_set(err, ERR_CORRUPT, "a sealed record of %zu bytes",
                       r->payload.len);
    buf_clear(out);
    rc = unit_open(o, record_aad(number, r, aad), r->payload,
                   buf_extend(out, r->payload.len - UNIT_BYTES_MORE), err);
    r->payload = buf_slice(out);
    return rc;
}

void log_header_put(const struct log_header *h, struct buf *out)
{
    char *p = buf_extend(out, LOG_HEADER_BYTES);
    PRE(h->number > 0);
    memcpy(p, LOG_MAGIC, 8);
    put_le32(p + 8, h->is_sealed ? LOG_VERSION_SEALED : LOG_VERSION);
    put_le64(p + 16, h->number);
    put_le64(p + 24, h->base);
    put_le64(p + 32, h->term);
    put_le64(p + 40, h->vote);
    put_le64(p + 48, h->index);
    put_le64(p + 56, h->index_term);
    put_le32(p + 12, header_crc(p));
}

int log_header_get(struct slice bytes, struct log_header *out, struct err *err)
{
    const char *p = bytes.data;
    if (bytes.len < LOG_HEADER_BYTES)
        return err_set(err, ERR_CORRUPT, "header cut short");
    if (memcmp(p, LOG_MAGIC, 8) != 0)
        return err_set(err, ERR_CORRUPT, "header: bad magic");
    if (get_le32(p + 12) != header_crc(p))
        return err_set(err, ERR_CORRUPT, "header: bad checksum");
    if (get_le32(p + 8) == 0 || get_le32(p + 8) > LOG_VERSION_SEALED)
        return err_set(err, ERR_UNSUPPORTED,
                       "log format %u, newest known is %d", get_le32(p + 8),
                       LOG_VERSION_SEALED);
    *out = (struct log_header){
        get_le64(p + 16), get_le64(p + 24),
        get_le64(p + 32), get_le64(p + 40),
        get_le64(p + 48), get_le64(p + 56),
        get_le32(p + 8),  get_le32(p + 8) == LOG_VERSION_SEALED};
    return 0;
}

static uint32_t
record_crc(uint64_t number, uint64_t position, const char *p, size_t payload)
{
    char place[16];
    PRE(payload <= LOG_STORED_MAX);
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
    PRE(r->payload.len <= LOG_STORED_MAX);
    PRE(r->kind >= LOG_META && r->kind <= LOG_COMMANDS);
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
    if (kind < LOG_META || kind > LOG_COMMANDS || length > LOG_STORED_MAX ||
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
    PRE(command.len <= LOG_PAYLOAD_MAX);
    put_le32(buf_extend(out, sizeof(uint32_t)), (uint32_t)command.len);
    buf_append_slice(out, command);
}

bool log_commands_next(struct slice *rest, struct slice *command)
{
    size_t begin = sizeof(uint32_t);
    size_t len;
    PRE(rest->len > 0);
    if (rest->len < begin)
        return false;
    len = get_le32(rest->data);
    if (len > rest->len - begin)
        return false;
    *command = slice_sub(*rest, begin, begin + len);
    *rest = slice_sub(*rest, begin + len, rest->len);
    return true;
}
