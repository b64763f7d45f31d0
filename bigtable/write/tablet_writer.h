/* One batch of mutations on its way through the write queue.
 *
 * A writer checks its batch, resolves its families and lays out its record of
 * the log (row/logged_mutation.h) before it has the turn, so that the leader of
 * its group only stamps and appends.
 *
 * Large operations are not copied: the record refers to them where they are.
 *
 * Threads: the writer's until it is queued; then the leader's, until `done`.
 */
#ifndef BIGTABLE_WRITE_TABLET_WRITER_H
#define BIGTABLE_WRITE_TABLET_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/runtime/sync.h"
#include "bigtable/row/cell_key.h" /* family_id */
#include "bigtable/write/write_queue.h"

struct table_part_view;

/* The family that an operation's name stands for. */
struct resolved {
    family_id family;
    uint16_t group; /* Index of its group. */
};

struct writer {
    struct writer *next;
    struct cond woken;
    bool done;
    bool exclusive; /* Holds the turn, writes nothing. */
    bool stale;     /* The schema changed, or the table is closed: prepare
                       again. */
    int rc;
    struct err err;
    struct table_part *table; /* Borrowed. */
    struct table_part_view *view;
    const struct quarry_mutation *const *mutations; /* Borrowed. */
    size_t count;    /* Of those, how many are in order. */
    size_t op_count; /* Operations of all of them. */
    size_t bytes;    /* About, in the log. */
    enum write_durability durability;
    int64_t now_us; /* Of the caller's clock; from its turn on, the stamp. */
    const struct write_condition *condition; /* Borrowed; NULL: none. */
    uint64_t sequence;                       /* Of the first operation. */
    struct buf resolved; /* struct resolved, one for each operation. */
    struct buf payload;  /* The target of `parts`, but for large operations. */
    struct buf parts;    /* struct slice: the record. */
    struct buf cuts;     /* struct cut: where `parts` will be cut. */
    struct buf stamped;  /* size_t: where in `payload` a stamp stands. */
    bool stamps;         /* Some cell gets a stamp. */
};

/* Not started. Owned. */
struct writer *writer_new(void);
void writer_free(struct writer *w);

/* Begin a write of @count mutations to @t, which the caller keeps alive, as it
 * does @mutations and @condition (NULL: none), until the write has ended. The
 * view of @t is taken now. */
void writer_start(struct writer *w,
                  struct table_part *t,
                  const struct quarry_mutation *const *mutations,
                  size_t count,
                  enum write_durability durability,
                  int64_t now_us,
                  const struct write_condition *condition);

/* Check the mutations, resolve their families and lay out the record. At the
 * first one that is wrong it stops: w->count are those before it, and the error
 * is returned. PRE: w->view is set. */
MUST_CHECK int writer_prepare(struct writer *w, struct err *err);
/* Give it its stamp, if it needs one. PRE: it is the leader's. */
void writer_stamp(struct writer *w);

#endif /* BIGTABLE_WRITE_TABLET_WRITER_H */
