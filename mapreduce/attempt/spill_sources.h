/* The runs a reduce task merges: the segments of its partition in all spills.
 * When there are more than can be read at once, groups of neighbours are first
 * merged into spills of the task's own, which keeps the order of equal keys.
 *
 * One thread; parks.
 */
#ifndef MAPREDUCE_ATTEMPT_SPILL_SOURCES_H
#define MAPREDUCE_ATTEMPT_SPILL_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "mapreduce/records/block_codec.h"
#include "mapreduce/shuffle/run_merge.h"
#include "mapreduce/task/task_spec.h"

struct keyring;
struct world;

struct spill_sources_options {
    struct world *world;
    const char *work_dir;
    const char *prefix; /* Of the attempt, for files of its own. */
    uint32_t partition;
    const struct task_spec *spec; /* Its spills or, resolved, its segments;
                                     NULL: none. */
    const char *own_spill;        /* One more, after the others; NULL: none. */
    size_t memory_bytes;          /* For read buffers. */
    bool descending;
    int level;
    struct keyring *keyring; /* Of spills; borrowed; NULL: not encrypted. */
};

struct spill_sources {
    struct spill_sources_options opts;
    struct block_codec codec;
    struct merge_source **sources; /* In order; owned. */
    size_t count;
    size_t cap;
    char **paths; /* Owned. */
    size_t path_count;
    size_t path_cap;
    size_t read_bytes; /* At a time, of each source. */
    uint64_t bytes;    /* Of all segments. */
    uint64_t pairs;    /* In them. */
    uint32_t bad; /* Number of the spill or segment of the spec, from 1, that
                     the last error came from; 0: none of them. */
};

/* Find and open the runs. Close @s after failure too. ERR_CORRUPT, ERR_NOTFOUND
 * with `bad` set. Parks. */
MUST_CHECK int spill_sources_open(struct spill_sources *s,
                                  const struct spill_sources_options *opts,
                                  struct err *err);
/* Add a source after the others; ownership moves. */
void spill_sources_add(struct spill_sources *s, struct merge_source *source);
void spill_sources_close(struct spill_sources *s);

#endif /* MAPREDUCE_ATTEMPT_SPILL_SOURCES_H */
