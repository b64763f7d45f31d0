/* How much a table may hold and be asked for. Part of the public C library:
 * quarry_access.h includes it.
 *
 * As text, one quota a word: "stored=10GiB memory=1GiB reads=1000/s". A quota
 * that is 0 is none.
 */
#ifndef BIGTABLE_ROW_QUOTA_H
#define BIGTABLE_ROW_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

struct buf;

struct quarry_quota {
    uint64_t stored_bytes; /* Of SSTables, each counted once however many
                              copies of it there are. */
    uint64_t memory_bytes; /* Of memtables, and of files of locality groups
                              that are kept in memory. */
    uint64_t reads_per_s;  /* Rows. */
    uint64_t writes_per_s; /* Rows. */
    uint64_t bytes_per_s;  /* Read and written. */
};

#define QUOTA_COUNT 5

/* "stored", "memory", "reads", "writes", "bytes". PRE: @i < QUOTA_COUNT. */
QUARRY_EXPORT const char *quota_name(size_t i) QUARRY_SYMBOL(quota_name);
/* Is it of bytes? */
QUARRY_EXPORT bool quota_is_bytes(size_t i) QUARRY_SYMBOL(quota_is_bytes);
/* The field of that name. Borrowed from @q. */
QUARRY_EXPORT uint64_t *quota_field(struct quarry_quota *q, size_t i)
    QUARRY_SYMBOL(quota_field);
QUARRY_EXPORT bool quota_is_none(const struct quarry_quota *q)
    QUARRY_SYMBOL(quota_is_none);
/* Of reads, writes or bytes a second. */
QUARRY_EXPORT bool quota_has_rate(const struct quarry_quota *q)
    QUARRY_SYMBOL(quota_has_rate);

/* Change @q by "NAME=VALUE": a size ("10GiB"), or a number a second ("500",
 * "500/s", "10MiB/s"); "none" takes it away. Errors: ERR_INVALID, @q is as it
 * was. */
QUARRY_EXPORT MUST_CHECK int
quota_parse(struct slice word, struct quarry_quota *q, struct err *err)
    QUARRY_SYMBOL(quota_parse);
/* As quota_parse() reads it: "10 GiB", "500/s", "none". */
QUARRY_EXPORT void quota_put_value(size_t i, uint64_t value, struct buf *out)
    QUARRY_SYMBOL(quota_put_value);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_ROW_QUOTA_H */
