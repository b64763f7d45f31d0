/* Rates of principals at this server: a bucket of rows and one of bytes for
 * each principal that has a rate (wire/principal_rates.h). A call is admitted
 * when neither is in debt, and pays afterwards for what it read and wrote.
 *
 * Pure: the caller gives the time. Threads: one at a time.
 *
 * Invariants, kept by principal_buckets.c
 *     INV-1. A principal has both buckets, or none and is unbounded.
 *     INV-2. A bucket's rate is the principal's times this server's share,
 *            which is above 0 and at most 1.
 */
#ifndef BIGTABLE_TABLET_SERVER_PRINCIPAL_BUCKETS_H
#define BIGTABLE_TABLET_SERVER_PRINCIPAL_BUCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct metric_set;
struct principal_buckets;

/* A set in which nobody has a rate. Owned. */
struct principal_buckets *principal_buckets_new(void);
/* NULL is allowed. */
void principal_buckets_free(struct principal_buckets *b);

/* Put @rates in force, of which this server grants the part @share (0 to 1).
 * Debts stay. PRE: @rates are well formed. */
void principal_buckets_set(struct principal_buckets *b,
                           struct slice rates,
                           double share,
                           uint64_t now_ns);
/* Has any principal a rate? */
bool principal_buckets_any(const struct principal_buckets *b);

/* May @principal ask for more? It pays when the call is done. ERR_EXHAUSTED:
 * see principal_refuse(). */
MUST_CHECK int principal_buckets_may(struct principal_buckets *b,
                                     struct slice principal,
                                     uint64_t now_ns,
                                     struct err *err);
/* Charge @principal for @rows and @bytes that it had. */
void principal_buckets_pay(struct principal_buckets *b,
                           struct slice principal,
                           uint64_t rows,
                           uint64_t bytes,
                           uint64_t now_ns);
/* Add how often each was refused. */
void principal_buckets_gather(const struct principal_buckets *b,
                              struct metric_set *out);

#endif /* BIGTABLE_TABLET_SERVER_PRINCIPAL_BUCKETS_H */
