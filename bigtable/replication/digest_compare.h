/* Two tables compared by digests of ranges of their rows, which are made where
 * the rows are (bigtable/read/row_digest.h). Ranges that differ are cut into
 * smaller ones, by digests again, until few rows are left.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_REPLICATION_DIGEST_COMPARE_H
#define BIGTABLE_REPLICATION_DIGEST_COMPARE_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"

struct digest_compare {
    struct quarry_table *tables[2]; /* Borrowed, as all. */
    /* Their families, each at the same place, and columns. */
    const struct quarry_read_options *reads[2];
    const quarry_flag *cancel; /* ERR_CANCELLED when it is set; NULL: never. */
    /* Rows [start, end) may differ. */
    int (*found)(void *arg,
                 struct slice start,
                 struct slice end,
                 struct err *err);
    void *arg;
    /* Output: */
    uint64_t rows;   /* Of ranges that are equal. */
    uint64_t pieces; /* Digests that were compared. */
};

/* Compare the rows [start, end); an empty @end has no bound. Both tables are
 * read once, side by side, and again where they differ. Parks.
 * Errors: ERR_UNSUPPORTED: one end makes no digests, and nothing was found yet;
 * those of scans and of found(). */
MUST_CHECK int digest_compare_run(struct digest_compare *c,
                                  struct slice start,
                                  struct slice end,
                                  struct err *err);

#endif /* BIGTABLE_REPLICATION_DIGEST_COMPARE_H */
