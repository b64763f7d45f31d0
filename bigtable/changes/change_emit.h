/* From entries of memtables and files back to commits: for readers of changes.
 *
 * Threads: the owner's.
 */
#ifndef BIGTABLE_CHANGES_CHANGE_EMIT_H
#define BIGTABLE_CHANGES_CHANGE_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct change_request;
struct change_result;

/* An entry and what its source knows of its commit. */
struct change_source_entry {
    uint64_t sequence;
    uint64_t mark; /* The last mark of its source at or before it, */
    int64_t us;    /* and the time of that one. */
    struct slice key;
    struct slice value;
};

/* Does @next continue the commit of @last, which has the same row and is the
 * entry before it? */
bool change_continues(const struct change_source_entry *last,
                      const struct change_source_entry *next);

struct change_emitter {
    const struct change_request *request; /* Borrowed, */
    struct change_result *out;            /* and this one. */
    struct buf entries;                   /* Of the change, */
    struct buf names;                     /* and those of its names that had */
    struct buf scratch;                   /* escapes. */
};

void change_emitter_close(struct change_emitter *e);
/* Put the commit of @count entries, in order, into the batch, unless the reader
 * sees none of it. ERR_CORRUPT. */
MUST_CHECK int change_emit(struct change_emitter *e,
                           const struct change_source_entry *list,
                           size_t count,
                           struct err *err);
bool change_batch_is_full(const struct change_emitter *e);

#endif /* BIGTABLE_CHANGES_CHANGE_EMIT_H */
