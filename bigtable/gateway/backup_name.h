/* Names of a backup or a snapshot: the API's
 * ("projects/P/instances/I/clusters/C/backups/B"), the one of the store's
 * snapshot, and the key of its message in the registry.
 *
 * Pure, but for backup_exists(); any thread.
 */
#ifndef BIGTABLE_GATEWAY_BACKUP_NAME_H
#define BIGTABLE_GATEWAY_BACKUP_NAME_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/gateway/resource_names.h"

/* Bytes of a name in the store, with its NUL. */
#define BACKUP_STORE_NAME_BYTES 320

/* How the two kinds differ; the numbers of fields that both have. */
struct backup_kind {
    const char *word; /* "backups" */
    const char *what; /* In error messages. */
    char prefix;      /* Of the store's snapshots. */
    unsigned size;    /* Field of the size in bytes, */
    unsigned expires; /* and of the time it expires. */
};

extern const struct backup_kind backup_kind_backup;
extern const struct backup_kind backup_kind_snapshot;

/* A backup by its names. */
struct backup_name {
    struct resource_name name; /* Borrowed from the request. */
    char store[BACKUP_STORE_NAME_BYTES];
    struct buf key; /* Of the registry; owned: the caller closes it, also
                       after an error. */
};

/* Set *@b to the names of @id in the cluster @parent. ERR_INVALID. */
MUST_CHECK int backup_name_child(const struct backup_kind *k,
                                 struct slice parent,
                                 struct slice id,
                                 struct backup_name *b,
                                 struct err *err);
/* Set *@b to the names of the one that the API calls @text. ERR_INVALID. */
MUST_CHECK int backup_name_parse(const struct backup_kind *k,
                                 struct slice text,
                                 struct backup_name *b,
                                 struct err *err);

struct gateway;

/* Set *@exists: has the instance backups or snapshots in the cluster @cluster,
 * or (empty) in any? Removes expired ones, which do not count. Parks. */
MUST_CHECK int backup_exists(struct gateway *g,
                             struct slice instance,
                             struct slice cluster,
                             bool *exists,
                             struct err *err);

/* Derive the other names of @b from b->name. ERR_INVALID. */
MUST_CHECK int backup_name_fill(const struct backup_kind *k,
                                struct backup_name *b,
                                struct err *err);

/* Append the API's name as the field `name` of the message. */
void backup_name_put(const struct backup_kind *k,
                     const struct resource_name *n,
                     struct buf *out);

/* The error for @b that does not exist: ERR_NOTFOUND. */
MUST_CHECK int backup_not_found(const struct backup_kind *k,
                                const struct backup_name *b,
                                struct err *err);

#endif /* BIGTABLE_GATEWAY_BACKUP_NAME_H */
