/* The contribution of one row of a table to a view: for each key of each table
 * of the program that it emitted to, the state that its emits alone make.
 *
 * The record of it, the value of a row of the view's own table, is: version
 * (1), flags (bit 0: the program failed on the row), when the row is to be
 * looked at again (8 bytes, µs, 0: not by itself), the number of entries, and
 * for each its table, key and state; tables ascending, keys ascending.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_VIEW_CONTRIBUTION_H
#define BIGTABLE_VIEW_CONTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct contribution_entry {
    uint32_t table;
    struct slice key; /* Borrowed from the record, as the state. */
    struct slice state;
};

/* A record taken apart; borrowed from its bytes. */
struct contribution {
    bool failed;
    int64_t due_us;
    struct contribution_entry *entries; /* Owned: contribution_close(). */
    size_t count;
};

/* The record under construction. */
struct contribution_writer {
    struct buf entries;
    size_t count;
};

void contribution_add(struct contribution_writer *w,
                      uint32_t table,
                      struct slice key,
                      struct slice state);
/* Append the record to @out, and empty @w, keeping its memory. */
void contribution_finish(struct contribution_writer *w,
                         bool failed,
                         int64_t due_us,
                         struct buf *out);
void contribution_writer_close(struct contribution_writer *w);

/* An empty @record is that of a row that is not there. On failure nothing is
 * owned. Errors: ERR_CORRUPT. */
MUST_CHECK int contribution_parse(struct slice record,
                                  struct contribution *out,
                                  struct err *err);
void contribution_close(struct contribution *c);

/* Order of entries: by table, then by key. */
int contribution_entry_cmp(const struct contribution_entry *a,
                           const struct contribution_entry *b);

#endif /* BIGTABLE_VIEW_CONTRIBUTION_H */
