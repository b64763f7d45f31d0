/* Rights and quotas of tables: the record of a table in BIGTABLE_LOCK_POLICIES,
 * and the calls that show and change it.
 *
 *     lock service
 *       /bigtable/policies/NUMBER   struct table_policy of the table with that
 *                                   number; empty, or not there: open to all,
 *                                   without quotas
 *       /bigtable/policies/cluster  the same for the cluster: its list of
 *                                   rights, and the rates of principals
 *
 * The master alone writes them: when a table is made, when an authorised caller
 * changes a policy, when a table crosses one of its quotas of size, and when
 * its servers need other shares of its rates. Tablet servers keep a policy
 * until the lock service reports that its file was written.
 *
 * put appends; get borrows from the bytes and fails with ERR_CORRUPT.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_POLICY_H
#define BIGTABLE_WIRE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/rpc/call_tables.h"
#include "bigtable/row/quota.h"
#include "bigtable/wire/field_kinds.h"

#define BIGTABLE_LOCK_POLICIES "/bigtable/policies"
#define POLICY_CLUSTER         "cluster"
#define POLICY_PATH_BYTES      64

/* The path of the file of table @table; 0: of the cluster. */
void policy_path(uint64_t table, char path[POLICY_PATH_BYTES]);

/* The use of a table, the sum of its tablets, as the master saw it last. */
struct table_use {
    uint64_t tablets;
    uint64_t stored_bytes;
    uint64_t memory_bytes;
};

struct table_policy {
    bool has_access;     /* It has a list of rights: */
    struct slice access; /* see row/access.h. */
    struct quarry_quota quota;
    struct table_use use; /* When the file was written. */
    bool stored_is_over;  /* Quotas that `use` is above. */
    bool memory_is_over;
    struct slice shares; /* Of its rates; none: by the number of tablets. */
    struct slice rates;  /* Of principals: principal_rates.h. The cluster's. */
    struct slice roles;  /* Members of roles: row/access.h. The cluster's. */
};

/* A server's share of a table's rates, in parts of SHARE_WHOLE. The shares of a
 * policy are those of all its servers, one after the other. */
#define SHARE_WHOLE UINT32_C(1000000)
/* Servers with shares: of more, shares are by the number of tablets. */
#define SHARES_MAX 1024

/* Append a share. */
void table_share_put(uint64_t server, uint32_t part, struct buf *out);
/* Cut the first off @*shares; false at the end. */
bool table_share_get(struct slice *shares, uint64_t *server, uint32_t *part);
/* The share of @server; false: it has none. */
bool table_policy_share(const struct table_policy *p,
                        uint64_t server,
                        uint32_t *part);

/* Encode all of it. */
void table_policy_put(const struct table_policy *p, struct buf *out);
/* No bytes are a table without rules. */
MUST_CHECK int
table_policy_get(struct slice in, struct table_policy *p, struct err *err);

/* --- calls of the master ------------------------------------------------- */

#define MASTER_POLICY_METHODS(METHOD)                                          \
    /* struct policy_order; struct table_policy, with the use of now. */       \
    METHOD(MASTER_POLICY, 0x541, "master.policy", policies_show, ITSELF)       \
    /* struct policy_change. */                                                \
    METHOD(MASTER_SET_POLICY, 0x542, "master.set_policy", policies_change,     \
           ITSELF)

enum master_policy_method {
    MASTER_POLICY_METHODS(METHOD_NUMBER)
};

struct policy_order {
    struct slice table; /* Its name; "": the cluster. */
};

enum policy_change_kind {
    POLICY_GRANT = 1,   /* family, right, principals */
    POLICY_REVOKE = 2,  /* the same */
    POLICY_REPLACE = 3, /* access: the whole list. */
    POLICY_OPEN = 4,    /* No list any more. */
    POLICY_QUOTA = 5,   /* quota: all of them. */
    POLICY_RATE = 6,    /* principals: one; quota: reads_per_s rows read and
                           written, bytes_per_s. Of the cluster alone. */
    POLICY_ROLE = 7,    /* family: the role, right: what is done with it,
                           principals: access_change_roles(). Of the cluster
                           alone. */
};

struct policy_change {
    struct slice table; /* As above. */
    enum policy_change_kind kind;
    struct slice family;
    struct slice right;
    struct slice principals;
    struct slice access;
    struct quarry_quota quota;
};

static const struct message_field policy_order_fields[] = {
    FIELD(policy_order, table, field_policy_table),
};

#define POLICY_MESSAGES(MESSAGE)                                               \
    MESSAGE(policy_order, "question about a policy")

/* As POLICY_MESSAGES, but for the quota. */
void policy_change_put(const struct policy_change *c, struct buf *out);
MUST_CHECK int
policy_change_get(struct slice in, struct policy_change *c, struct err *err);

/* --- refusals ------------------------------------------------------------ */

/* ERR_EXHAUSTED: more of @quota (quota_name(), whose limit is @limit) was asked
 * of @table than it may be now; it may be tried again after @again_us:
 * ERR_DETAIL_RATE. */
int rate_refuse(struct slice table,
                size_t quota,
                uint64_t limit,
                uint64_t again_us,
                struct err *err);
/* The same of @principal, whose limit of @what ("ops", "bytes") it is. */
int principal_refuse(struct slice principal,
                     const char *what,
                     uint64_t limit,
                     uint64_t again_us,
                     struct err *err);
/* ERR_EXHAUSTED: @table has @used, more than its quota of size. @family (may be
 * empty) has most of it. */
int size_refuse(struct slice table,
                size_t quota,
                uint64_t limit,
                uint64_t used,
                struct slice family,
                struct err *err);

POLICY_MESSAGES(MESSAGE_FUNCTIONS)

#endif /* BIGTABLE_WIRE_POLICY_H */
