/* Rates of principals in a cluster: the part `rates` of the cluster's policy
 * (policy.h).
 *
 *     rates = { name:lslice ops:varint bytes:varint }    ascending by name
 *
 * put appends; get fails with ERR_CORRUPT. Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_PRINCIPAL_RATES_H
#define BIGTABLE_WIRE_PRINCIPAL_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Principals that have rates, at most, so that the file stays small. */
#define PRINCIPAL_RATES_MAX       1024
#define PRINCIPAL_RATES_BYTES_MAX ((size_t)192 << 10)
#define PRINCIPAL_RATE_NAME_MAX   128

/* Per second; 0: unbounded. */
struct principal_rate {
    struct slice name;
    uint64_t ops; /* Rows read and written. */
    uint64_t bytes;
};

/* Append one rate. PRE: its name is above those before it. */
void principal_rate_put(const struct principal_rate *r, struct buf *out);
/* Cut the first off @*rates; false at the end, and where they are malformed. */
bool principal_rate_get(struct slice *rates, struct principal_rate *r);
/* Are they in order, and no more than there may be? */
MUST_CHECK int principal_rates_check(struct slice rates, struct err *err);
/* @rates with @r in place of what its name had, appended to @out; without a
 * bound: without it. ERR_TOOBIG; ERR_INVALID (the name). */
MUST_CHECK int principal_rates_change(struct slice rates,
                                      const struct principal_rate *r,
                                      struct buf *out,
                                      struct err *err);

#endif /* BIGTABLE_WIRE_PRINCIPAL_RATES_H */
