/* Encryption of the records of commit logs: the payload of a record is one
 * sealed unit. Its segment, sequence number and count are authenticated with
 * it, so that a record put in the place of another one does not open.
 */
#include "bigtable/log/log_seal.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"

#define LOG_SEAL_PURPOSE "quarry commit log"
#define LOG_AAD_BYTES    ((size_t)20)

int log_sealer_new(struct keyring *k, struct unit_sealer **out, struct err *err)
{
    return unit_sealer_new(k, LOG_SEAL_PURPOSE, out, err);
}

struct unit_opener *log_opener_new(struct keyring *k)
{
    return unit_opener_new(k, LOG_SEAL_PURPOSE);
}

static struct slice log_record_aad(uint64_t segment,
                                   const struct log_record_header *h,
                                   char aad[LOG_AAD_BYTES])
{
    PRE(segment > 0);
    put_le64(aad, segment);
    put_le64(aad + 8, h->sequence);
    put_le32(aad + 16, h->count);
    return slice_make(aad, LOG_AAD_BYTES);
}

void log_put_sealed_record(char *p,
                           struct unit_sealer *s,
                           uint64_t segment,
                           const struct log_record_header *h,
                           const struct slice *parts,
                           size_t part_count)
{
    PRE(h->length >= LOG_SEAL_BYTES);

    char *unit = p + LOG_RECORD_HEADER_BYTES;
    char *to = unit + UNIT_HEAD_BYTES;
    char aad[LOG_AAD_BYTES];
    struct slice sealed = slice_make(unit, h->length);
    size_t bytes = h->length - LOG_SEAL_BYTES;

    for (size_t i = 0; i < part_count; to += parts[i++].len)
        if (parts[i].len)
            memcpy(to, parts[i].data, parts[i].len);
    PRE((size_t)(to - unit) == UNIT_HEAD_BYTES + bytes);
    unit_seal(s, log_record_aad(segment, h, aad),
              slice_make(unit + UNIT_HEAD_BYTES, bytes), unit);
    log_put_record_header(p, segment, h, &sealed, 1);
}

int log_open_payload(struct unit_opener *o,
                     uint64_t segment,
                     const struct log_record_header *h,
                     char *p,
                     struct slice *payload,
                     struct err *err)
{
    char aad[LOG_AAD_BYTES];
    int rc;
    PRE(segment > 0);

    if (h->length < LOG_SEAL_BYTES)
        return err_set(err, ERR_CORRUPT, "a sealed record of %u bytes",
                       h->length);
    rc = unit_open(o, log_record_aad(segment, h, aad), slice_make(p, h->length),
                   p + UNIT_HEAD_BYTES, err);
    *payload = slice_make(p + UNIT_HEAD_BYTES, h->length - LOG_SEAL_BYTES);
    return rc;
}
