/* Files of policies, and what is watched because of them. Private to
 * policies.c, policy_file.c and policy_watch.c.
 *
 * Threads: fibers of one loop. What parks says so.
 */
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

/* That of @table; 0: of the cluster. One that is not there is empty. Parks. */
MUST_CHECK int policy_file_read(struct master_term *r,
                                uint64_t table,
                                struct policy_file *f,
                                struct err *err);
void policy_file_close(struct policy_file *f);
/* Write f->policy in place of what was read. ERR_ABORTED: somebody was faster.
 * Parks. */
MUST_CHECK int policy_file_write(struct master_term *r,
                                 uint64_t table,
                                 const struct policy_file *f,
                                 struct err *err);
/* If it is there. Parks. */
void policy_file_remove(struct master_term *r, uint64_t table);

/* What @table has now, as far as its servers said. */
void policy_use_of(struct master_term *r,
                   uint64_t table,
                   struct table_use *out);
/* Set p->use to that, and say whether its quotas hold. */
void policy_use_judge(struct master_term *r,
                      uint64_t table,
                      struct table_policy *p);

/* This is written of @table now: it is watched if it has quotas. */
void policy_watch_note(struct master_term *r,
                       uint64_t table,
                       const struct table_policy *p);
void policy_watch_forget(struct master_term *r, uint64_t table);

#endif /* BIGTABLE_MASTER_POLICY_FILE_H */
