/* The rules of one table, as they are kept. Private to rules.c, table_rights.c
 * and quotas.c.
 *
 * Invariants, kept by rules.c
 *     INV-1. A book has one table_rules for each table; that of number 0 is the
 *            cluster's.
 *     INV-2. `policy` and `list` are of the same reading of the file, whose
 *            `bytes` the policy borrows.
 *     INV-3. At most GRANTS_MAX grants, all made from `list`. */
#ifndef BIGTABLE_TABLET_SERVER_RULES_STATE_H
#define BIGTABLE_TABLET_SERVER_RULES_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/runtime/sync.h"
#include "bigtable/row/access.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet_server/token_bucket.h"
#include "bigtable/wire/policy.h"

struct chubby_handle;
struct metric_set;
struct rule_book;

/* Rights of a principal to one table. */
struct grants {
    unsigned everywhere; /* To every family, by lines for all of them. */
    unsigned anywhere;
    bool is_administrator;    /* May read everything, which the audit log notes,
                               */
    uint64_t noted_ns;        /* last at this time. */
    struct hash_map families; /* To families that calls have named: bits. */
};

struct table_rules {
    uint64_t table; /* First: its key in the map. */
    bool fresh;     /* As the lock service has them. */
    bool none;      /* There are no rules to check. */
    char *name;
    struct rule_book *book; /* Borrowed. */
    struct mutex reading;
    struct chubby_handle *file;               /* NULL: not open. */
    struct buf bytes;                         /* Of it, */
    struct table_policy policy;               /* which borrows them. */
    struct access_list *list;                 /* NULL: open to all. */
    struct hash_map grants;                   /* By principal: struct grants. */
    struct token_bucket buckets[QUOTA_COUNT]; /* Of rates. */
    uint64_t counted_ns; /* When this server's share was determined; 0: never.
                          */
    char largest[FAMILY_NAME_BYTES_MAX +
                 1]; /* Family with the most bytes here, found then: */
    uint64_t largest_ns;
};

/* Rights of @principal to the table. Borrowed until the rules change. */
struct grants *rules__grants(struct table_rules *r, struct slice principal);
/* Its rights to @family: bits of enum access_right. */
unsigned rules__rights(struct table_rules *r,
                       struct grants *g,
                       struct slice principal,
                       struct slice family);

/* Add the quotas of the table. */
void rules__gather_limits(const struct table_rules *r, struct metric_set *out);

#endif /* BIGTABLE_TABLET_SERVER_RULES_STATE_H */
