/* The rights of the master's callers, and the policies of tables
 * (wire/policy.h): checked, shown, changed and watched.
 *
 * Orders are few, so rights are read from the lock service with each of them.
 *
 * A table over one of its quotas of size is marked so in its file, where its
 * tablet servers read it. A table with rates has the shares of its servers
 * there.
 *
 * Threads: fibers of one loop. Everything parks. */
#ifndef BIGTABLE_MASTER_POLICIES_H
#define BIGTABLE_MASTER_POLICIES_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/access.h"

struct buf;
struct chubby;
struct cluster_roles;
struct policy_watch;
struct master_term;
struct rpc_call;

/* Make the directory of policies and, where names are proved, let only @roles
 * change the lock service below /bigtable. */
MUST_CHECK int policies_prepare(struct chubby *c,
                                const struct cluster_roles *roles,
                                struct err *err);

/* Read which tables have quotas; then policies_watch() enforces them. */
MUST_CHECK int policies_load(struct master_term *r, struct err *err);
/* Start a look at the use of tables with quotas, if one is due. */
void policies_watch(struct master_term *r);
/* PRE: the term's fibers have ended. */
void policies_close(struct master_term *r);

/* The check of a method, made before its handler runs. */
enum master_gate {
    MASTER_GATE_ANYBODY = 1, /* Nothing is seen or lost by it. */
    MASTER_GATE_ITSELF,      /* The handler checks, when it knows more. */
    MASTER_GATE_STATUS,      /* As ANYBODY, and before the master is ready. */
    MASTER_GATE_CLUSTER,     /* A role of the cluster. */
    MASTER_GATE_ADMIN,       /* An administrator. */
    MASTER_GATE_CREATE,      /* The right to make tables. */
    MASTER_GATE_OWN,         /* To own the table of a table_order, */
    MASTER_GATE_WRITE,       /* or to write all of it. */
    MASTER_GATE_SNAPSHOT,    /* To read the table of a snapshot_order; */
    MASTER_GATE_CLONE,       /* and to make tables. */
};

/* May the caller of @call make it? ERR_DENIED; those of a malformed body. */
MUST_CHECK int policies_check(struct master_term *r,
                              enum master_gate gate,
                              const struct rpc_call *call,
                              struct err *err);
/* Has @principal @right to all families of the table @name, or is it an
 * administrator? ERR_DENIED. */
MUST_CHECK int policies_check_table(struct master_term *r,
                                    struct slice principal,
                                    struct slice name,
                                    enum access_right right,
                                    struct err *err);

/* The same for a snapshot of the table @name. If the table is gone, those who
 * may make tables have all rights to its snapshots. */
MUST_CHECK int policies_check_snapshot(struct master_term *r,
                                       struct slice principal,
                                       struct slice name,
                                       enum access_right right,
                                       struct err *err);

/* Append the list of rights of the table @name. *@any: it has one. */
MUST_CHECK int policies_list(struct master_term *r,
                             struct slice name,
                             bool *any,
                             struct buf *out,
                             struct err *err);
/* Write the policy of the new table @table: where names are proved, @creator
 * owns it. A table that is made of another one has that one's list @access
 * besides; NULL: there is none. */
MUST_CHECK int policies_made(struct master_term *r,
                             uint64_t table,
                             struct slice creator,
                             const struct slice *access,
                             struct err *err);
/* Remove the policy of a table that is gone. */
void policies_dropped(struct master_term *r, uint64_t table);

#endif /* BIGTABLE_MASTER_POLICIES_H */
