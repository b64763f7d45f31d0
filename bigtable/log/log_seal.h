/* Encryption of the records of commit logs.
 *
 * In a segment of format 2 the payload of each record is a sealed unit
 * (base/crypt/sealer.h); segment, sequence and count of the record are its
 * associated data. Headers and checksums are as without: a reader without the
 * key can see where the log ends, and whether it is damaged.
 */
#ifndef BIGTABLE_LOG_LOG_SEAL_H
#define BIGTABLE_LOG_LOG_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/crypt/sealer.h"
#include "bigtable/log/log_format.h"

struct keyring;

/* Bytes that sealing adds to a payload. */
#define LOG_SEAL_BYTES UNIT_BYTES_MORE

MUST_CHECK int
log_sealer_new(struct keyring *k, struct unit_sealer **out, struct err *err);
struct unit_opener *log_opener_new(struct keyring *k); /* @k may be NULL. */

/* As log_put_record(); @h->length is that of the sealed payload. */
void log_put_sealed_record(char *p,
                           struct unit_sealer *s,
                           uint64_t segment,
                           const struct log_record_header *h,
                           const struct slice *parts,
                           size_t part_count);
/* Open the payload of @h, which lies at @p, where it is; *@payload is the text
 * in there. Errors: those of unit_open(). */
MUST_CHECK int log_open_payload(struct unit_opener *o,
                                uint64_t segment,
                                const struct log_record_header *h,
                                char *p,
                                struct slice *payload,
                                struct err *err);

#endif /* BIGTABLE_LOG_LOG_SEAL_H */
