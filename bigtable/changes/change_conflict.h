/* The rest of a commit of another site, given the commits that were made here
 * since: a pure function.
 *
 * Every commit has a stamp: its time, its site, its number there. All sites
 * order commits by stamp, and each brings its cells to what the commits would
 * have made in that order. So
 *     - of two settings of one cell (row, family, qualifier, timestamp), that
 *       of the higher stamp is kept;
 *     - a deletion hides the cells in its range that were set by commits of
 *       lower stamps, whenever these arrive, and no others.
 * A site applies commits as they arrive. A commit that arrives behind others of
 * higher stamps is reduced: settings that those replaced or deleted are left
 * out, and cells that they set are set again behind a deletion that would hide
 * them. A second arrival does nothing.
 *
 * A stamp of time 0 stands for "before all that is known": so cells have that
 * are copied when a stream begins. Of two such settings of one cell the greater
 * value is kept.
 *
 * This needs all commits of the row of the same or a higher stamp, which are
 * among those that the tablet made at or after the stamp's time: it gives each
 * commit of another site a time of its own that is later than the stamp's
 * (change_apply.h).
 *
 * Threads: any.
 */
#ifndef BIGTABLE_CHANGES_CHANGE_CONFLICT_H
#define BIGTABLE_CHANGES_CHANGE_CONFLICT_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/change.h"

struct quarry_mutation;
struct quarry_row;

/* Less than 0, 0 or more: @a was made before, is, or was made after @b. */
int change_origin_cmp(const struct quarry_origin *a,
                      const struct quarry_origin *b);

enum change_outcome {
    CHANGE_AS_IS,   /* Nothing stands against it. */
    CHANGE_REDUCED, /* Some of it is left. */
    CHANGE_NOTHING, /* Nothing is. */
};

/* Reduce @m, which has the origin @origin, by @history, a batch of changes
 * (change_batch.h) of its row, in which those of the site itself, @here, have
 * no origin. @row: the row as it is, with all its versions; it is looked at for
 * a commit of time 0 alone, and NULL if nothing is there. The rest is in
 * @out, to be closed, if the outcome is CHANGE_REDUCED. ERR_CORRUPT: the
 * history is malformed. */
MUST_CHECK int change_conflict_reduce(const struct quarry_mutation *m,
                                      const struct quarry_origin *origin,
                                      uint64_t here,
                                      struct slice history,
                                      const struct quarry_row *row,
                                      struct quarry_mutation *out,
                                      enum change_outcome *outcome,
                                      struct err *err);

#endif /* BIGTABLE_CHANGES_CHANGE_CONFLICT_H */
