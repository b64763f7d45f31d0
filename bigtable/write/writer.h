/* One batch on its way through the write queue, and its form in the log.
 *
 *     payload  = mutation…
 *     mutation = table:varint now:le64 count row:lslice
 *                family:le16 × count, ops:lslice
 *     count    = count:varint, or with LOGGED_WITH_CHANGE in it:
 *                count:varint session:le64 sequence:varint answer:lslice
 *
 * `now` is the stamp of the cells that the table stamps; 0: it stamps none.
 *
 * Family ids are logged beside the operations, which carry names: a name may
 * mean another family by the time the log is read.
 */
#ifndef BIGTABLE_WRITE_WRITER_H
#define BIGTABLE_WRITE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/runtime/sync.h"
#include "bigtable/row/cell_key.h" /* family_id */
#include "bigtable/write/write_queue.h"

struct store_table_view;

/* What an operation's family name means. */
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
    struct store_table *table; /* Borrowed. */
    struct store_table_view *view;
    const struct quarry_mutation *const *mutations; /* Borrowed. */
    size_t count;    /* Of those, how many are in order. */
    size_t op_count; /* Operations of all of them. */
    size_t bytes;    /* About, in the log. */
    enum write_durability durability;
    int64_t now_us; /* Of the caller's clock; from its turn on, the stamp. */
    const struct write_condition *condition; /* Borrowed; NULL: none. */
    uint64_t sequence;                       /* Of the first operation. */
    struct buf resolved; /* struct resolved, one for each operation. */
    struct buf payload;  /* What `parts` point to, but for large operations. */
    struct buf parts;    /* struct slice: the record. */
    struct buf cuts;     /* struct cut: where `parts` will be cut. */
    struct buf stamped;  /* size_t: where in `payload` a stamp stands. */
    bool stamps;         /* Some cell gets a stamp. */
};

struct writer *writer_new(void);
void writer_free(struct writer *w);

void writer_start(struct writer *w,
                  struct store_table *t,
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

/* In the count of a mutation: which change of which client it is follows
 * (done_changes.h). Counts are smaller. */
#define LOGGED_WITH_CHANGE (UINT64_C(1) << 17)

/* A mutation as the log has it; slices are borrowed from the log's bytes. */
struct logged_mutation {
    uint64_t table;
    int64_t now_us;
    size_t count;
    struct slice row;
    const char *families; /* le16 × count. */
    struct slice ops;
    uint64_t session; /* 0: no client will ask for it again. */
    uint64_t sequence;
    struct slice answer;
};

/* The part of it that is the count, and whose change it is. */
size_t logged_count_read(struct cursor *c, struct logged_mutation *m);
void logged_count_put(struct buf *out, const struct logged_mutation *m);

/* The next one; false at the end or when c->bad is set. */
bool logged_mutation_read(struct cursor *c, struct logged_mutation *m);

#endif /* BIGTABLE_WRITE_WRITER_H */
