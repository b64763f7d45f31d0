/* Restoring one table: for backups, and for stores in directories that a
 * cluster adopts, whose files are taken from where they lie. Private to
 * bigtable/backup. Everything parks.
 */
#ifndef BIGTABLE_BACKUP_BACKUP_RESTORE_H
#define BIGTABLE_BACKUP_BACKUP_RESTORE_H

#include <stdbool.h>

#include "bigtable/backup/backup_place.h"

struct backup_restoring {
    struct quarry_backups *backups;
    struct quarry *quarry;
    const struct backup_manifest *manifest;
    unsigned char digest[SHA256_BYTES]; /* Of the manifest. */
    bool rights;
    int64_t to_us;    /* The moment; 0: that of the backup. */
    bool from_store;  /* The place is a store: files are tables/NUMBER.sst, and
                         their digests are not known. */
    struct fs *store; /* The target's files. Owned. */
};

/* Open the keys of the manifest for the files of the place. Errors: ERR_DENIED.
 */
MUST_CHECK int backup_restore_keys(struct backup_restoring *r, struct err *err);
/* Make the table @as, a new one, of @from. Errors: quarry_backup_restore(). */
MUST_CHECK int backup_restore_table(struct backup_restoring *r,
                                    const struct backup_table *from,
                                    const char *as,
                                    struct err *err);
/* ERR_EXISTS: there is a table @name. */
MUST_CHECK int
backup_restore_is_free(struct quarry *q, const char *name, struct err *err);

#endif /* BIGTABLE_BACKUP_BACKUP_RESTORE_H */
