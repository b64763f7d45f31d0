/* Changes to one row, as a list of operations in a compact encoding that the
 * commit log stores unchanged.
 *
 *     op     = kind:u8 family:lslice rest
 *     rest   = SET           qualifier:lslice timestamp:le64 value:lslice
 *              ADD, MERGE    the same: an operand of an aggregate
 *              DELETE_CELLS  qualifier:lslice min:le64 max:le64
 *              DELETE_FAMILY nothing
 *              DELETE_ROW    nothing (the family is empty)
 *              ORIGIN        site:le64 µs:le64 sequence:le64 here:le64 (the
 *                            family is empty): the first one, or none
 *
 * Mistakes made while building are remembered (the first one) and reported when
 * the mutation is used, so that builders need no checks.
 *
 * Threads: one at a time; any number may read one that is not changed.
 */
#ifndef BIGTABLE_ROW_MUTATION_H
#define BIGTABLE_ROW_MUTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/change.h" /* struct quarry_origin */

/* Resolved to one time for the whole mutation: QUARRY_NOW of quarry.h. */
#define MUTATION_NOW INT64_MIN

/* A record of the log holds a whole mutation. */
#define MUTATION_BYTES_MAX (VALUE_BYTES_MAX + ((size_t)64 << 20))
/* As Cloud Bigtable. */
#define MUTATION_COUNT_MAX ((size_t)100000)

enum mutation_kind {
    MUTATION_SET = 1,
    MUTATION_DELETE_CELLS = 2,
    MUTATION_DELETE_FAMILY = 3,
    MUTATION_DELETE_ROW = 4,
    MUTATION_ORIGIN = 5, /* Made in another table first. */
    MUTATION_ADD = 6,    /* An input of an aggregate: row/aggregate.h. */
    MUTATION_MERGE = 7,  /* A state of one. */
};

/* Of ORIGIN: all of its rest, and what the entry keeps of it. */
#define MUTATION_ORIGIN_BYTES ((size_t)32)
#define ENTRY_ORIGIN_BYTES    ((size_t)24)

/* Is an operation of @kind one of the row, without a family? */
static inline bool mutation_kind_is_of_row(enum mutation_kind kind)
{
    return kind == MUTATION_DELETE_ROW || kind == MUTATION_ORIGIN;
}

struct quarry_mutation {
    struct buf row;    /* Plain row name. */
    struct buf ops;    /* Encoded operations. */
    size_t count;      /* Operations in `ops`. */
    struct err *error; /* The first mistake; owned; NULL: none. */
    /* Which change of a client it is (tablet/done_changes.h), and what it will
     * be answered, borrowed; session 0: none that is asked for again. */
    uint64_t session;
    uint64_t sequence;
    struct slice answer;
};

/* One operation, decoded; slices are borrowed from the encoding. */
struct mutation_op {
    enum mutation_kind kind;
    struct slice family;
    struct slice qualifier;
    int64_t timestamp_us; /* SET and operands; DELETE_CELLS: inclusive lower
                             bound. */
    int64_t max_us;       /* DELETE_CELLS: exclusive upper bound; both 0: the
                             whole column. */
    struct slice value;   /* SET and operands; ORIGIN: its rest. */
};

void mutation_init(struct quarry_mutation *m, struct slice row);
void mutation_close(struct quarry_mutation *m);
void mutation_reset(struct quarry_mutation *m, struct slice row);
void mutation_set(struct quarry_mutation *m,
                  struct slice family,
                  struct slice qualifier,
                  int64_t timestamp_us,
                  struct slice value);
/* Add to, or merge into, the cell of an aggregate. */
void mutation_operand(struct quarry_mutation *m,
                      enum mutation_kind kind,
                      struct slice family,
                      struct slice qualifier,
                      int64_t timestamp_us,
                      struct slice operand);
void mutation_delete_cells(struct quarry_mutation *m,
                           struct slice family,
                           struct slice qualifier,
                           int64_t min_us,
                           int64_t max_us);
void mutation_delete_family(struct quarry_mutation *m, struct slice family);
void mutation_delete_row(struct quarry_mutation *m);
/* Begin @m, to which nothing was added yet, with the origin of what follows;
 * @here is the site that it will be applied to. */
void mutation_set_origin(struct quarry_mutation *m,
                         const struct quarry_origin *origin,
                         uint64_t here);
/* Does @m begin with an origin? Then it is in *@origin, and *@here. */
bool mutation_origin(const struct quarry_mutation *m,
                     struct quarry_origin *origin,
                     uint64_t *here);
/* The origin in the value of an ENTRY_ORIGIN. False: it is malformed. */
bool entry_origin(struct slice value, struct quarry_origin *out);

/* Most bytes of an operation besides its names and its value. */
#define MUTATION_OP_BYTES ((size_t)48)

/* Begin @m on @row, in memory of the caller: @room has MUTATION_OP_BYTES for
 * each operation that will be added, and their names and values besides. Both
 * are borrowed as long as @m is; it is not closed but ended. */
void mutation_begin(struct quarry_mutation *m,
                    struct slice row,
                    char *room,
                    size_t room_bytes);
void mutation_end(struct quarry_mutation *m);
/* Make the setting of a cell all that @m, which was just begun, does, and leave
 * @value where it is: what else there is to say is written right before it,
 * over what lies from @room on, which may be the names. Both are borrowed as
 * long as @m is, to which nothing may be added. False, and nothing has changed:
 * there is no room, or mutation_set() has something to complain of. */
bool mutation_set_in_place(struct quarry_mutation *m,
                           struct slice family,
                           struct slice qualifier,
                           int64_t timestamp_us,
                           char *room,
                           struct slice value);

/* Make @out the @count operations in @ops on @row, bytes from anywhere that
 * stay where they are: @out borrows them, and is not closed. Errors:
 * ERR_CORRUPT; ERR_INVALID, ERR_TOOBIG: what the builders above would not have
 * made. */
MUST_CHECK int mutation_borrow(struct slice row,
                               struct slice ops,
                               size_t count,
                               struct quarry_mutation *out,
                               struct err *err);

/* 0, or the remembered mistake; also an error when nothing is to be done. */
MUST_CHECK int mutation_check(const struct quarry_mutation *m, struct err *err);

/* Does an operation of @kind write a cell, with a timestamp and a value? */
static inline bool mutation_kind_has_value(enum mutation_kind kind)
{
    return kind == MUTATION_SET || kind == MUTATION_ADD ||
           kind == MUTATION_MERGE;
}

/* Decode the next operation of @c. False at the end or when c->bad is set. */
bool mutation_next(struct cursor *c, struct mutation_op *op);

/* The entry that @op makes: everything of @key but its row and sequence,
 * and the entry's value, for which @range gives room. */
void mutation_entry(const struct mutation_op *op,
                    family_id family,
                    int64_t now_us,
                    struct cell_key *key,
                    struct slice *value,
                    char range[16]);

/* A row key that may be stored: 1 byte to 64 KiB. */
MUST_CHECK int row_name_check(struct slice row, struct err *err);

#endif /* BIGTABLE_ROW_MUTATION_H */
