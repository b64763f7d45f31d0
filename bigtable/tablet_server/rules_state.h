/* What is known of the rules of one table. Private to rules.c, rights.c and
 * quotas.c.
 */
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
struct rule_book;

/* What a principal may do. */
struct grants {
    unsigned everywhere; /* To every family, by lines for all of them. */
    unsigned anywhere;
    bool is_administrator;    /* Reads everything, which is noted. */
    uint64_t noted_ns;        /* When it was last. */
    struct hash_map families; /* To those that were asked for: bits. */
};

struct table_rules {
    uint64_t table; /* First: its key in the map. */
    bool fresh;     /* As the lock service has it. */
    bool none;      /* And then: there are none to be heeded. */
    char *name;
    struct rule_book *book; /* Borrowed. */
    struct mutex reading;
    struct chubby_handle *file;               /* NULL: not open. */
    struct buf bytes;                         /* Of it, */
    struct table_policy policy;               /* which borrows them. */
    struct access_list *list;                 /* NULL: open to all. */
    struct hash_map grants;                   /* By principal: struct grants. */
    struct token_bucket buckets[QUOTA_COUNT]; /* Of rates. */
    uint64_t counted_ns; /* When the share of the rates was found; 0: never. */
    char largest[FAMILY_NAME_BYTES_MAX +
                 1]; /* Family with the most bytes here, found then: */
    uint64_t largest_ns;
};

/* Rights of @principal, kept. Borrowed until the rules change. */
struct grants *rules__grants(struct table_rules *r, struct slice principal);
unsigned rules__rights(struct table_rules *r,
                       struct grants *g,
                       struct slice principal,
                       struct slice family);

#endif /* BIGTABLE_TABLET_SERVER_RULES_STATE_H */
