/* Which entries of a locality group count: fed with entries in key order, it
 * tells the fate of each.
 *
 * A deletion hides what is older (has a lower sequence number) in its scope,
 * and nothing else: a cell put later with an earlier timestamp is seen. Of
 * several entries of one column and timestamp the newest counts. Cells that the
 * family's GC rule collects are not shown, whether or not they are still
 * stored. Operands of an aggregate (aggregate.h) are one cell, down to the
 * first older entry of that time that is none or that is deleted. Families of
 * transactions (hidden.h) outlive a deletion of the row.
 *
 * Readers and compactions share it, which is what makes them agree. One that
 * sees but some of the tables counts versions as well: what it does not see can
 * only add to them. Deletions of single versions are the exception: which older
 * ones they uncover is open, since any may have been collected before.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_ROW_VISIBILITY_H
#define BIGTABLE_ROW_VISIBILITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/schema.h"

enum fate {
    FATE_SHOWN,     /* A visible cell. */
    FATE_FOLDED,    /* The newest operand of a visible cell of an aggregate, */
    FATE_OPERAND,   /* and an older one, to be folded into it. */
    FATE_HIDDEN,    /* Deleted or overwritten. */
    FATE_TOMBSTONE, /* A deletion that may hide something. */
    FATE_REDUNDANT, /* A deletion that a newer, wider one covers. */
    FATE_COLLECTED, /* The GC rule collects it and all later of the column. */
    FATE_FOREIGN,   /* Of a family that is not in the schema any more. */
    FATE_MALFORMED, /* Not a cell key. */
};

/* The time of the last entry of the column. */
enum visibility_time {
    TIME_NONE,     /* There was none yet. */
    TIME_TAKEN,    /* An entry had it, which wins over all that follow. */
    TIME_OPERANDS, /* Operands have it, into which those that follow fold. */
};

/* A deletion of a range of times. */
struct deleted_range {
    int64_t min_us;
    int64_t max_us;
    uint64_t sequence;
};

struct visibility {
    const struct schema *schema; /* Borrowed. */
    int64_t now_us;              /* For rules about age. */

    struct buf prefix;    /* Row part and column part of the last entry. */
    size_t row_length;    /* Of it, the row part; 0 before the first entry. */
    size_t column_length; /* All of it; row part + 3 for family entries. */
    bool has_column;      /* The last entry was one of a column, */
    bool has_escapes;     /* whose qualifier holds zero bytes. */
    family_id family;
    const struct family *rules; /* Of `family`; NULL: dropped. */
    size_t next_row_length;     /* visibility_begin_row(); 0: not told. */

    uint64_t row_deleted;    /* Sequence of the newest deletion of the row, */
    uint64_t family_deleted; /* of the family or the row, */
    uint64_t column_deleted; /* of the column, the family or the row. */
    struct deleted_range *ranges; /* Owned; of this column. */
    size_t range_count;
    size_t range_cap;

    enum visibility_time at_time; /* The column's state at `time_us`. */
    int64_t time_us;
    uint64_t operand; /* Sequence of the last operand at that time. */
    uint64_t newer;   /* Shown cells of the column so far, */
    int64_t newer_us; /* and the time of the last of them. */
    bool collecting;  /* The rule collected one of the column already. */
};

/* @schema is borrowed until close. */
void visibility_init(struct visibility *v,
                     const struct schema *schema,
                     int64_t now_us);
void visibility_close(struct visibility *v);
/* Forget the position: the next entry may be anywhere. */
void visibility_restart(struct visibility *v);

/* The next entry is the first of another row, whose encoded part has
 * @row_length bytes: saves looking for its end again. */
static inline void visibility_begin_row(struct visibility *v, size_t row_length)
{
    v->next_row_length = row_length;
}

/* Tell the fate of the next entry. PRE: keys ascend. Both are borrowed for the
 * call alone. */
enum fate
visibility_feed(struct visibility *v, struct slice key, struct slice value);

#endif /* BIGTABLE_ROW_VISIBILITY_H */
