/* What a backup, or a snapshot, is called: by the API
 * ("projects/P/instances/I/clusters/C/backups/B"), in the store, and in the
 * registry.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_GATEWAY_BACKUP_NAME_H
#define BIGTABLE_GATEWAY_BACKUP_NAME_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/gateway/names.h"

/* Bytes of a name in the store, with its NUL. */
#define BACKUP_STORE_NAME_BYTES 320

/* What tells the two kinds apart; numbers of the fields that both have. */
struct backup_kind {
    const char *word; /* "backups" */
    const char *what; /* For messages. */
    char prefix;      /* Of the store's snapshots. */
    unsigned size;
    unsigned expires;
};

extern const struct backup_kind backup_kind_backup;
extern const struct backup_kind backup_kind_snapshot;

/* A backup by its names. */
struct backup_name {
    struct resource_name name; /* Borrowed from the request. */
    char store[BACKUP_STORE_NAME_BYTES];
    struct buf key; /* Of the registry; the caller closes it, after errors,
                       too. */
};

/* That of @id in the cluster @parent. ERR_INVALID. */
MUST_CHECK int backup_name_child(const struct backup_kind *k,
                                 struct slice parent,
                                 struct slice id,
                                 struct backup_name *b,
                                 struct err *err);
/* That of the API's name @text. ERR_INVALID. */
MUST_CHECK int backup_name_parse(const struct backup_kind *k,
                                 struct slice text,
                                 struct backup_name *b,
                                 struct err *err);

struct gateway;

/* Has the instance backups, or snapshots: in the cluster @cluster, or (empty)
 * in any? Those whose time is over do not count. Parks. */
MUST_CHECK int backup_exists(struct gateway *g,
                             struct slice instance,
                             struct slice cluster,
                             bool *exists,
                             struct err *err);

/* b->name is set: the rest follows. ERR_INVALID. */
MUST_CHECK int backup_name_fill(const struct backup_kind *k,
                                struct backup_name *b,
                                struct err *err);

/* Append the API's name as field 1. */
void backup_name_put(const struct backup_kind *k,
                     const struct resource_name *n,
                     struct buf *out);

/* ERR_NOTFOUND: there is no such one. */
MUST_CHECK int backup_not_found(const struct backup_kind *k,
                                const struct backup_name *b,
                                struct err *err);

#endif /* BIGTABLE_GATEWAY_BACKUP_NAME_H */
