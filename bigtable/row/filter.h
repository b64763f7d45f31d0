/* Filters of reads: the tree behind quarry_filter of quarry.h, which has the
 * kinds and the meaning of google.bigtable.v2.RowFilter.
 *
 * A filter turns the cells of one row into other cells of it: fewer, changed
 * (stripped, labelled), or several copies (interleave, sink).
 *
 * Its binary form is that message's wire format, so that the gateway
 * can pass its bytes through.
 *
 * Filters are immutable once built and shared by reference count. A mistake is
 * remembered in the node where it was made.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_ROW_FILTER_H
#define BIGTABLE_ROW_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct regex;

/* Bounds of what a user, or an unauthenticated peer, can make us do for one
 * row. */
#define FILTER_DEPTH_MAX       32
#define FILTER_NODES_MAX       4096
#define FILTER_LABEL_BYTES_MAX 15

/* filter_kinds.def; the values are the message's field numbers. */
enum filter_kind {
#define FILTER(KIND, number, api_name, name, argument, cell, row, EFFECT)      \
    FILTER_##KIND = (number),
#include "bigtable/row/filter_kinds.def"
#undef FILTER
};

/* Whether the verdict on a cell depends on other cells: filter_kinds.def. */
enum filter_effect {
    FILTER_EFFECT_PLAIN,
    FILTER_EFFECT_COUNTS,
    FILTER_EFFECT_PARTS,
    FILTER_EFFECT_WHOLE_ROW
};

/* One end of a range of bytes. */
enum filter_bound {
    FILTER_UNBOUNDED,
    FILTER_CLOSED,
    FILTER_OPEN
};

struct filter_end {
    enum filter_bound kind;
    struct buf bytes;
};

struct quarry_filter {
    enum filter_kind kind;
    atomic_uint references;
    unsigned depth;      /* 1 for a leaf. */
    unsigned node_count; /* Of the whole tree below and with this. */
    struct regex *regex; /* Owned. */
    struct buf text;     /* Pattern, family name, label or mask. */
    struct filter_end start;
    struct filter_end end;
    int64_t min_us; /* FILTER_TIMESTAMP_RANGE [min, max); max 0: none. */
    int64_t max_us;
    int64_t count;                /* Offset and limits. */
    double probability;           /* FILTER_ROW_SAMPLE. */
    struct quarry_filter **parts; /* Owned references. A condition has three:
                                     predicate, true, false; the last two may
                                     be NULL. */
    size_t part_count;
    struct err *error; /* Owned; NULL: no mistake was made here. */
};

/* New nodes: one reference, the caller's. They never fail; see filter_check. */
struct quarry_filter *filter_new(enum filter_kind kind);
struct quarry_filter *filter_new_regex(enum filter_kind kind,
                                       struct slice pattern);
struct quarry_filter *filter_new_range(enum filter_kind kind,
                                       struct slice family,
                                       enum filter_bound start_kind,
                                       struct slice start,
                                       enum filter_bound end_kind,
                                       struct slice end);
struct quarry_filter *filter_new_times(int64_t min_us, int64_t max_us);
struct quarry_filter *filter_new_count(enum filter_kind kind, int64_t count);
struct quarry_filter *filter_new_sample(double probability);
struct quarry_filter *filter_new_label(struct slice label);
/* Values as long as @mask with all its bits set. */
struct quarry_filter *filter_new_bitmask(struct slice mask);
/* Takes over the references in @parts; NULLs only in a condition. */
struct quarry_filter *filter_new_parts(enum filter_kind kind,
                                       struct quarry_filter *const *parts,
                                       size_t count);

struct quarry_filter *filter_ref(const struct quarry_filter *f);
void filter_unref(struct quarry_filter *f); /* NULL is allowed. */

/* 0, or the first mistake in the tree. */
MUST_CHECK int filter_check(const struct quarry_filter *f, struct err *err);

enum filter_effect filter_effect(enum filter_kind kind);

/* Append the name and the argument of @f, without its parts: one line. */
void filter_describe(const struct quarry_filter *f, struct buf *out);

/* Can cells of @family make a difference to what @f (NULL: no filter) gives?
 * True where that is not plain. */
bool filter_reads_family(const struct quarry_filter *f, struct slice family);

/* The column ranges outside of which no cell can make a difference to what @f
 * gives, borrowed from it: at most @max, into @ranges. False: that is not
 * plain, or they are more. */
bool filter_reads_columns(const struct quarry_filter *f,
                          const struct quarry_filter **ranges,
                          size_t max,
                          size_t *count);

/* Does it have a column range of a family of transactions (hidden.h)? */
bool filter_names_hidden(const struct quarry_filter *f);

/* The wire format of RowFilter. Decoding is for bytes from anywhere.
 * Errors: ERR_CORRUPT (not a RowFilter), ERR_TOOBIG, ERR_INVALID (a mistake in
 * it), ERR_UNSUPPORTED (a kind that does not exist here). */
void filter_encode(const struct quarry_filter *f, struct buf *out);
MUST_CHECK int
filter_decode(struct slice bytes, struct quarry_filter **out, struct err *err);

#endif /* BIGTABLE_ROW_FILTER_H */
