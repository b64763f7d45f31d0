/* Encoding and checking of the headers of log_format.h. A record's checksum
 * covers the number of its segment, so that a record of the file's earlier use
 * is never taken for one of this.
 */
#include "bigtable/log/log_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"

#define MAGIC        "QRYCMLOG"
#define NAME_SUFFIX  ".log"
#define SPARE_PREFIX "spare-"

/* While a part of a record is copied, the CPU is told to fetch this much of the
 * one behind the next: large parts and small ones take turns. */
#define AHEAD_PARTS 2
#define AHEAD_BYTES ((size_t)1024)
#define LINE_BYTES  ((size_t)64)

void log_segment_path(char path[LOG_PATH_BYTES],
                      const char *dir,
                      uint64_t number)
{
    int n = snprintf(path, LOG_PATH_BYTES, "%s/%08llu" NAME_SUFFIX, dir,
                     (unsigned long long)number);
    PRE(n > 0 && n < LOG_PATH_BYTES);
}

bool log_segment_number(const char *name, uint64_t *number)
{
    char *end;
    if (name[0] < '0' || name[0] > '9')
        return false;
    *number = strtoull(name, &end, 10);
    return strcmp(end, NAME_SUFFIX) == 0 && *number > 0 &&
           *number <= LOG_NUMBER_MAX;
}

bool log_spare_number(const char *name, uint64_t *number)
{
    char *end;
    if (strncmp(name, SPARE_PREFIX, strlen(SPARE_PREFIX)) != 0)
        return false;
    *number = strtoull(name + strlen(SPARE_PREFIX), &end, 10);
    return *end == '\0' && *number <= LOG_NUMBER_MAX;
}

void log_put_segment_header(char p[LOG_SEGMENT_HEADER_BYTES],
                            const struct log_segment_header *h)
{
    PRE(h->number > 0);
    memcpy(p, MAGIC, 8);
    put_le32(p + 8, h->is_sealed ? LOG_FORMAT_SEALED : LOG_FORMAT_VERSION);
    put_le64(p + 16, h->number);
    put_le64(p + 24, h->base);
    put_le32(p + 12, crc32c_extend(crc32c(p, 12), p + 16, 16));
}

int log_get_segment_header(struct slice bytes,
                           struct log_segment_header *h,
                           bool *whole,
                           struct err *err)
{
    const char *p = bytes.data;
    uint32_t version;
    *whole = false;
    if (bytes.len < LOG_SEGMENT_HEADER_BYTES || memcmp(p, MAGIC, 8) != 0 ||
        get_le32(p + 12) != crc32c_extend(crc32c(p, 12), p + 16, 16))
        return 0;
    version = get_le32(p + 8);
    if (version > LOG_FORMAT_SEALED) {
        err_set(err, ERR_UNSUPPORTED,
                "the log has format %u, and this program knows up to %d",
                version, LOG_FORMAT_SEALED);
        err_hint(err, "open it with a newer quarry");
        return ERR_UNSUPPORTED;
    }
    h->number = get_le64(p + 16);
    h->base = get_le64(p + 24);
    h->is_sealed = version == LOG_FORMAT_SEALED;
    *whole = h->base <= LOG_POSITION_MAX;
    return 0;
}

static uint32_t start_crc(uint64_t segment)
{
    char p[8];
    put_le64(p, segment);
    return crc32c(p, sizeof(p));
}

/* Everything but the checksum of the whole, which begins with what is returned.
 */
static uint32_t put_header(char p[LOG_RECORD_HEADER_BYTES],
                           uint64_t segment,
                           const struct log_record_header *h)
{
    PRE(h->count > 0);
    put_le32(p + 4, h->length);
    put_le64(p + 8, h->sequence);
    put_le64(p + 16, h->synced);
    put_le32(p + 24, h->count);
    put_le32(p + 28, 0);
    return crc32c_extend(start_crc(segment), p + 4,
                         LOG_RECORD_HEADER_BYTES - 4);
}

void log_put_record_header(char p[LOG_RECORD_HEADER_BYTES],
                           uint64_t segment,
                           const struct log_record_header *h,
                           const struct slice *parts,
                           size_t part_count)
{
    PRE(parts || part_count == 0);
    PRE(h->count > 0);
    uint32_t crc = put_header(p, segment, h);
    for (size_t i = 0; i < part_count; i++)
        crc = crc32c_extend(crc, parts[i].data, parts[i].len);
    put_le32(p, crc);
}

static void log_format_fetch(struct slice s)
{
    size_t bytes = MIN_OF(s.len, AHEAD_BYTES);
    for (size_t at = 0; at < bytes; at += LINE_BYTES)
        __builtin_prefetch(s.data + at);
}

/* In one pass: the parts lie scattered, and few of them are in the cache. */
void log_put_record(char *p,
                    uint64_t segment,
                    const struct log_record_header *h,
                    const struct slice *parts,
                    size_t part_count)
{
    uint32_t crc = put_header(p, segment, h);
    char *to = p + LOG_RECORD_HEADER_BYTES;
    for (size_t i = 0; i < part_count; to += parts[i++].len) {
        if (i + AHEAD_PARTS < part_count)
            log_format_fetch(parts[i + AHEAD_PARTS]);
        crc = crc32c_extend_copy(crc, to, parts[i].data, parts[i].len);
    }
    PRE((size_t)(to - p) == LOG_RECORD_HEADER_BYTES + h->length);
    put_le32(p, crc);
}

bool log_may_be_record(struct slice bytes)
{
    return bytes.len >= LOG_RECORD_HEADER_BYTES &&
           get_le32(bytes.data + 4) <= bytes.len - LOG_RECORD_HEADER_BYTES &&
           get_le32(bytes.data + 24) > 0 && get_le32(bytes.data + 28) == 0;
}

bool log_get_record(struct slice bytes,
                    uint64_t segment,
                    struct log_record_header *h,
                    struct slice *payload)
{
    const char *p = bytes.data;
    size_t len;
    if (!log_may_be_record(bytes))
        return false;
    len = get_le32(p + 4);
    if (get_le32(p) != crc32c_extend(start_crc(segment), p + 4,
                                     LOG_RECORD_HEADER_BYTES - 4 + len))
        return false;
    h->length = (uint32_t)len;
    h->sequence = get_le64(p + 8);
    h->synced = get_le64(p + 16);
    h->count = get_le32(p + 24);
    *payload = slice_make(p + LOG_RECORD_HEADER_BYTES, len);
    return true;
}
