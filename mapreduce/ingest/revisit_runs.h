/* Revisits that do not fit into memory: sorted runs of them in a temporary
 * file, merged when they are filled.
 *
 *     run     = revisit*
 *     revisit = bytes:u32 time:zigzag original:zigzag span:zigzag
 *               row:lslice original_row:lslice digest:lslice
 *
 * The file has no name once it is open, so that it goes with the process.
 * Threads: one at a time. Everything parks. Inside mapreduce/ingest only. */
#ifndef MAPREDUCE_INGEST_REVISIT_RUNS_H
#define MAPREDUCE_INGEST_REVISIT_RUNS_H

#include "base/core/buf.h"
#include "mapreduce/ingest/webtable.h"

struct file;
struct world;

struct revisit_runs {
    struct world *world;
    const char *dir;   /* Of the file. Borrowed. */
    struct file *file; /* NULL before the first run. Owned. */
    uint64_t bytes;
    uint64_t *ends; /* Of each run. Owned. */
    size_t count;
};

void revisit_runs_init(struct revisit_runs *r,
                       struct world *world,
                       const char *dir);
/* Close the file, which has no name and so is gone. */
void revisit_runs_close(struct revisit_runs *r);

/* In the order of time, then of rows. */
int revisit_cmp(const void *a, const void *b);

/* Write @list, sorted by revisit_cmp(), as one run. */
MUST_CHECK int revisit_runs_add(struct revisit_runs *r,
                                const struct revisit *list,
                                size_t count,
                                struct err *err);

/* --- reading all runs as one --------------------------------------------- */

struct revisit_merge;

/* Start merging the runs. Owned: revisit_merge_close(). */
MUST_CHECK int revisit_merge_open(const struct revisit_runs *r,
                                  struct revisit_merge **out,
                                  struct err *err);
void revisit_merge_close(struct revisit_merge *m); /* NULL is allowed. */
/* The next revisit, borrowed until the next call; NULL after the last.
 * ERR_CORRUPT: the disk did not return what was written. */
MUST_CHECK int revisit_merge_next(struct revisit_merge *m,
                                  const struct revisit **v,
                                  struct err *err);

#endif /* MAPREDUCE_INGEST_REVISIT_RUNS_H */
