/* Rows of a set, tablet after tablet, an answer of a server at a time.
 *
 * It continues after a tablet was split, moved or lost: the key of the next row
 * is all it remembers. Each answer is a snapshot of one moment.
 *
 * Threads: one loop.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_ROWS_READER_H
#define BIGTABLE_CLIENT_CLUSTER_ROWS_READER_H

#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/row_set.h"
#include "bigtable/client/options_copy.h"

struct rows_reader {
    struct cluster_table *table; /* Reference. */
    struct options_copy copy;
    struct row_set set;
    struct buf at; /* No row before it is wanted. */
    uint64_t left; /* Of the row limit; 0: no limit. */
    uint32_t bytes_max;
    bool done;
    /* The record of the scan: set after init; borrowed; NULL: not explained. */
    struct quarry_explain *explain;
    uint64_t retried; /* Calls, since the last answer. */
};

/* On error nothing is held. Parks. Errors: those of quarry_scan(). */
MUST_CHECK int rows_reader_init(struct rows_reader *r,
                                struct cluster_table *t,
                                const struct quarry_read_options *opts,
                                struct err *err);
void rows_reader_close(struct rows_reader *r);
/* Append the next rows to @rows: row_decoder. None when r->done is set. Parks;
 * tries again what may succeed until the fiber's deadline. */
MUST_CHECK int
rows_reader_next(struct rows_reader *r, struct buf *rows, struct err *err);

#endif /* BIGTABLE_CLIENT_CLUSTER_ROWS_READER_H */
