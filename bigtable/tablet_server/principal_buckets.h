/* What principals may still ask of this server: a bucket of rows and one of
 * bytes for each that has a rate (wire/principal_rates.h), which is charged for
 * what its calls read and write as they do.
 *
 * Pure: the time is the caller's. Threads: one at a time.
 */
#ifndef BIGTABLE_TABLET_SERVER_PRINCIPAL_BUCKETS_H
#define BIGTABLE_TABLET_SERVER_PRINCIPAL_BUCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct principal_buckets;

/* Owned. Nobody has a rate. */
struct principal_buckets *principal_buckets_new(void);
void principal_buckets_free(struct principal_buckets *b); /* NULL is allowed. */

/* From now on @rates are in force, of which this server gives the part @share
 * (0 to 1). Who owes something still does. PRE: @rates are well formed. */
void principal_buckets_set(struct principal_buckets *b,
                           struct slice rates,
                           double share,
                           uint64_t now_ns);
/* Has anybody one? */
bool principal_buckets_any(const struct principal_buckets *b);

/* May @principal ask for more? ERR_EXHAUSTED: see principal_refuse(). */
MUST_CHECK int principal_buckets_may(struct principal_buckets *b,
                                     struct slice principal,
                                     uint64_t now_ns,
                                     struct err *err);
/* It had so much. */
void principal_buckets_pay(struct principal_buckets *b,
                           struct slice principal,
                           uint64_t rows,
                           uint64_t bytes,
                           uint64_t now_ns);

#endif /* BIGTABLE_TABLET_SERVER_PRINCIPAL_BUCKETS_H */
