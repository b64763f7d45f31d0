/* Files of policies in the lock service, and the tables that are watched
 * because of their quotas. Private to policies.c, policy_file.c and
 * policy_watch.c.
 *
 * Threads: fibers of one loop. Functions that park say so.
 *
 * Invariants
 *     INV-1. A generation of 0 means that the file does not exist: it is then
 *            made, and otherwise replaced on condition. (policy_file.c)
 *     INV-2. A watched table is one whose file had quotas, or rates, when it
 *            was last read or written. (policy_watch.c) */
#ifndef BIGTABLE_MASTER_POLICY_FILE_H
#define BIGTABLE_MASTER_POLICY_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/wire/policy.h"

struct master_term;

struct policy_file {
    struct buf bytes;
    uint64_t generation;        /* 0: there is none. */
    bool had_access;            /* The list it was read with. */
    struct table_policy policy; /* Borrows the bytes. */
};

/* Read the policy of @table; 0: of the cluster. A missing file is an empty
 * policy. policy_file_close() in any case. Parks. */
MUST_CHECK int policy_file_read(struct master_term *r,
                                uint64_t table,
                                struct policy_file *f,
                                struct err *err);
/* Frees the bytes that the policy borrows. */
void policy_file_close(struct policy_file *f);
/* Replace the file that was read by f->policy. ERR_ABORTED: it has changed.
 * Parks. */
MUST_CHECK int policy_file_write(struct master_term *r,
                                 uint64_t table,
                                 const struct policy_file *f,
                                 struct err *err);
/* Remove the file, if it is there. Parks. */
void policy_file_remove(struct master_term *r, uint64_t table);

/* Add up the use of the tablets of @table, as last reported. */
void policy_use_of(struct master_term *r,
                   uint64_t table,
                   struct table_use *out);
/* Set p->use to that, and whether it is over the quotas of size. */
void policy_use_judge(struct master_term *r,
                      uint64_t table,
                      struct table_policy *p);

/* The file of @table has this policy now: watch it if it has quotas. */
void policy_watch_note(struct master_term *r,
                       uint64_t table,
                       const struct table_policy *p);
/* Stop watching @table. */
void policy_watch_forget(struct master_term *r, uint64_t table);

#endif /* BIGTABLE_MASTER_POLICY_FILE_H */
