/* Shared by the kinds of tables: the operations a kind provides to saw_table.c
 * and the helpers saw_table.c provides to them. Private to tables/.
 *
 * Invariants
 *   INV-1. The memory of a state is allocated by saw_table__resize(), so the
 *          budget counts every byte; after close() of all states nothing is
 *          left.
 *   INV-2. A state of zeroed bytes is a valid empty state.
 *   INV-3. add() and merge() leave a valid state also when they fail.
 */
#ifndef SAWZALL_LITE_TABLES_IMPL_H
#define SAWZALL_LITE_TABLES_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/err.h"
#include "sawzall-lite/tables/saw_table.h"
#include "sawzall-lite/values/datum.h"

/* Receives the results of one key, a line at a time. */
struct saw_lines {
    void (*line)(struct saw_lines *l, const struct slice *data, size_t count);
    bool stopped; /* No more is wanted: long results stop here. */
};

/* The operations on the state of one key: `state_bytes` of zeroed memory at
 * first (INV-2). Memory it owns besides comes from saw_table__resize()
 * (INV-1). */
struct saw_kind_ops {
    struct saw_table_traits traits; /* Name, number, declaration. */
    size_t state_bytes;
    bool wants_origin;
    bool keys_alone;    /* A key without results is printed all the same. */
    bool greatest_best; /* Of kinds that keep the best: the largest weights. */
    /* Adding to a key that exists needs no more memory: never refused. */
    bool fixed_size;
    void (*close)(struct saw_table *t, void *state);
    /* @element is a valid datum, @weight too or empty. */
    int (*add)(struct saw_table *t,
               void *state,
               struct slice element,
               struct slice weight,
               saw_emit_origin origin,
               struct err *err);
    /* add() of an element that is an int, and of one whose weight is, without
     * making a datum of it. NULL: there is no shorter way. */
    int (*add_int)(struct saw_table *t,
                   void *state,
                   int64_t element,
                   struct err *err);
    int (*add_weight)(struct saw_table *t,
                      void *state,
                      struct slice element,
                      int64_t weight,
                      struct err *err);
    void (*encode)(struct saw_table *t, void *state, struct buf *out);
    /* The cursor ends with the state; leftovers are refused by the caller. */
    int (*merge)(struct saw_table *t,
                 void *state,
                 struct cursor *c,
                 struct err *err);
    /* Add @other, a state of @from, another table of the same declaration. It
     * may keep parts of it, and leaves a state that close() takes. NULL: as a
     * merge of what encode() gives. */
    int (*absorb)(struct saw_table *t,
                  void *state,
                  struct saw_table *from,
                  void *other,
                  struct err *err);
    /* Append the state that takes @state, one that encode() gave, back when it
     * is merged; false, with @out as it was: there is none. NULL: never is. */
    bool (*negate)(struct slice state, struct buf *out);
    /* The first value of the results of a key with @state, one that encode()
     * gave: a datum of it. Empty: it has none, or is malformed. NULL: never is
     * one. */
    struct slice (*first)(struct slice state);
    /* At most as many data a line as column_count says. */
    void (*results)(struct saw_table *t, void *state, struct saw_lines *out);
    size_t column_count;        /* Of values, beyond the keys. */
    const char *const *columns; /* Names; NULL entries: from declaration. */
};

STATIC_ASSERT(offsetof(struct saw_kind_ops, traits) == 0,
              "the traits of a kind lead to its operations");

/* The register of kinds, by number: an aggregator is a file that defines
 * saw_ops_NAME, and a line here. */
#define SAW_TABLE_KINDS(KIND)                                                  \
    KIND(collection)                                                           \
    KIND(sum)                                                                  \
    KIND(maximum)                                                              \
    KIND(minimum)                                                              \
    KIND(top)                                                                  \
    KIND(unique)                                                               \
    KIND(quantile)                                                             \
    KIND(set)                                                                  \
    KIND(sample)                                                               \
    KIND(weightedsample)                                                       \
    KIND(distinctsample)                                                       \
    KIND(inversehistogram)                                                     \
    KIND(bootstrapsum)                                                         \
    KIND(mrcounter)                                                            \
    KIND(text)                                                                 \
    KIND(recordio)

#define SAW_KIND_DECLARE(name) extern const struct saw_kind_ops saw_ops_##name;
SAW_TABLE_KINDS(SAW_KIND_DECLARE)
#undef SAW_KIND_DECLARE

/* Of the kind of @t. */
const struct saw_kind_ops *saw_table__ops(const struct saw_table *t);
/* Resize memory a state owns from @old to @bytes (0 frees), counting it. */
void *saw_table__resize(struct saw_table *t, void *p, size_t old, size_t bytes);
/* The (n) of the declaration, at least 0. */
size_t saw_table__param(const struct saw_table *t);
/* A buffer for use within one operation. */
struct buf *saw_table__scratch(struct saw_table *t);
/* Whether the budget is used up. For states that grow though fixed_size. */
bool saw_table__full(const struct saw_table *t);
/* ERR_EXHAUSTED, naming the table and its limit. */
int saw_table__refuse(struct saw_table *t, struct err *err);
/* ERR_CORRUPT, naming the table. */
int saw_table__corrupt(struct saw_table *t, struct err *err);

/* A byte string owned by a state, counted. */
struct saw_blob {
    char *data;
    size_t len;
    size_t cap;
};

/* Replace the contents; reuses the memory where it fits. */
void saw_blob_set(struct saw_table *t, struct saw_blob *b, struct slice s);
/* Append @s. */
void saw_blob_append(struct saw_table *t, struct saw_blob *b, struct slice s);
/* Free the memory. */
void saw_blob_close(struct saw_table *t, struct saw_blob *b);

static inline struct slice saw_blob_slice(const struct saw_blob *b)
{
    return slice_make(b->data ? b->data : "", b->len);
}

#endif /* SAWZALL_LITE_TABLES_IMPL_H */
