/* Digests of ranges of rows, made where the rows are, so that two tables are
 * compared by few bytes.
 *
 * A scan whose program is a request for them (row_digest_ask()) returns pieces
 * in place of rows. A piece ends behind a row that the hash of its name and its
 * size choose: two tables that have the row as well end a piece there, wherever
 * their tablets are cut. So both may be read once, side by side, and ends that
 * are missing at one of them only join pieces. A tablet, or an answer that took
 * long, may end within a piece; sums are added up then.
 *
 *     program   = "native row_digest " piece-bytes {" " family}
 *     piece     = a row with the name of the last row that is in it, and one
 *                 cell without family and qualifier, whose value is
 *                 ended:u8 rows:varint bytes:varint sum:u64 sum:u64
 *
 * A sum is that of two hashes of each cell: of its row, the place of its family
 * in the request, its qualifier, timestamp and value. The order of cells, and
 * what families are called, does not count. Servers that know of no digests
 * refuse the program (ERR_INVALID).
 *
 * Threads: the owner's; what has no object is any thread's.
 */
#ifndef BIGTABLE_READ_ROW_DIGEST_H
#define BIGTABLE_READ_ROW_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/cells.h"

struct row_digest;

#define ROW_DIGEST_SUMS 2

struct row_digest_piece {
    struct slice last; /* Its last row. Borrowed. */
    bool ended;        /* False: what follows belongs to it. */
    uint64_t rows;
    uint64_t bytes;
    uint64_t sums[ROW_DIGEST_SUMS];
};

/* Append a program that asks for pieces of about @piece_bytes of rows that have
 * the @count @families. PRE: it is not 0. */
void row_digest_ask(struct buf *program,
                    uint64_t piece_bytes,
                    const char *const *families,
                    size_t count);
/* Is @program a request for digests? */
bool row_digest_is_asked(struct slice program);

/* *@out is owned. ERR_INVALID: the request has mistakes. */
MUST_CHECK int
row_digest_new(struct slice program, struct row_digest **out, struct err *err);
void row_digest_free(struct row_digest *d); /* NULL is allowed. */
/* Add a row of the scan. True: it ends the piece. ERR_INVALID: it has a family
 * that the request does not name. */
MUST_CHECK int row_digest_add(struct row_digest *d,
                              const struct quarry_row *row,
                              bool *ends,
                              struct err *err);
/* The piece of the rows since the last one; has it @ended? NULL: there were
 * none. Borrowed until the next call. */
const struct quarry_row *row_digest_take(struct row_digest *d, bool ended);

/* Read a piece; false: @row is none. */
MUST_CHECK bool row_digest_read(const struct quarry_row *row,
                                struct row_digest_piece *out);

#endif /* BIGTABLE_READ_ROW_DIGEST_H */
